package suggest

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"waymark/catalog"
	planning "waymark/learn/plan"
	"waymark/semantic"
)

// A search looks for names before it looks for matches:
//
//	1. what the query names exactly, by id or by name
//	2. what has all words of the query in its name, the least other words first
//	3. everything else, by score

const (
	maxInitials  = 4 // letters of an abbreviation
	nameWords    = 8 // of a query that may be a name; a longer one describes
	spelledWords = 4 // of a query whose abbreviations are spelled out
)

// nameMatch is a node that the query names.
type nameMatch struct {
	node     int32
	exact    bool    // by its id or its whole name
	coverage float64 // share of the name's words that the query has
	score    float64
}

// named lists what the query names: first what it names exactly, the node of the id before others, then what has
// all words of the query in its name. A word may also be the initials of words that stand together in the
// name: PR of create_pull_request.
func (q *query) named() []nameMatch {
	var exact []nameMatch
	add := func(n int32) {
		if !slices.ContainsFunc(exact, func(m nameMatch) bool { return m.node == n }) {
			q.consider(n)
			exact = append(exact, nameMatch{node: n, exact: true})
		}
	}
	if n, ok, err := q.node(q.wording.wished); err == nil && ok && q.Live(n) {
		add(n)
	}
	for _, n := range q.Roles.Named(q.Catalog, q.wording.wished) {
		if name, _ := q.describe(n); strings.EqualFold(name, q.wording.wished) {
			add(n)
		}
	}
	return append(exact, q.nameMatches(exact)...)
}

// nameMatches lists the nodes, other than the exact ones, whose names have all words of the query.
func (q *query) nameMatches(exact []nameMatch) []nameMatch {
	var words []string
	for _, term := range semantic.Terms(q.wording.intent) {
		words = append(words, term)
	}
	if len(words) == 0 || len(words) > nameWords {
		return nil
	}
	var matches []nameMatch
	found := make([]bool, len(words))
	for _, n := range q.nodes.candidateNodes[:len(q.nodes.candidateNodes):len(q.nodes.candidateNodes)] {
		if q.nodes.semantic[n] == 0 || !q.Live(n) || slices.ContainsFunc(exact, func(m nameMatch) bool { return m.node == n }) {
			continue
		}
		// What the index knows has as many terms of the query, unless one stands for several.
		if d := q.doc(n); d >= 0 && !q.recent.changed(n) && q.wording.phrase == q.wording.intent && !q.wording.matching.HasTerms(d, len(words)) {
			continue
		}
		name, _ := q.describe(n)
		if coverage := covers(words, name, q.IDs[n], found); coverage > 0 {
			matches = append(matches, nameMatch{node: n, coverage: coverage, score: q.hybrid(n, &sum{})})
		}
	}
	slices.SortFunc(matches, func(a, b nameMatch) int {
		return cmp.Or(cmp.Compare(b.coverage, a.coverage), cmp.Compare(b.score, a.score), strings.Compare(q.IDs[a.node], q.IDs[b.node]))
	})
	return matches
}

// namesOther returns the tool or capability whose name the intent is and that the learned plan does not have, the one with
// fewest other words in its name; -1 if there is none. The intent is a name if all its words are in the name, and it has
// all words of the name or at least two.
func (q *query) namesOther() int32 {
	var words []string
	for _, term := range semantic.Terms(q.wording.intent) {
		words = append(words, term)
	}
	best := nameMatch{node: -1}
	if len(words) == 0 || len(words) > nameWords {
		return best.node
	}
	found := make([]bool, len(words))
	for _, n := range q.nodes.candidateNodes {
		if q.nodes.semantic[n] == 0 || !q.Live(n) {
			continue
		}
		name, _ := q.describe(n)
		m := nameMatch{node: n, coverage: covers(words, name, q.IDs[n], found), score: q.nodes.semantic[n]}
		if m.coverage == 0 || m.coverage < 1 && len(words) < 2 {
			continue
		}
		if q.isPlanned(n) {
			return -1
		}
		if best.node < 0 || cmp.Or(cmp.Compare(m.coverage, best.coverage), cmp.Compare(m.score, best.score), strings.Compare(q.IDs[best.node], q.IDs[n])) > 0 {
			best = m
		}
	}
	return best.node
}

// isPlanned reports whether the learned plan has a node, or all the tools of a capability.
func (q *query) isPlanned(n int32) bool {
	has := func(tool int32) bool {
		return slices.ContainsFunc(q.planned.Steps, func(s planning.Step) bool { return q.learned.node[s.Tool] == tool })
	}
	if q.Kind(n) == catalog.KindTool {
		return has(n)
	}
	return !slices.ContainsFunc(q.CapabilityTools(n), func(t int32) bool { return !has(t) })
}

// nameScore is the hybrid score of a named node, lifted to the cap, which no match exceeds.
func (q *query) nameScore(m nameMatch, s *sum) {
	q.hybrid(m.node, s)
	name := "name_match"
	if m.exact {
		name = "exact_match"
	}
	if s.total < Cap {
		s.add(name, Cap-s.total, 1)
	}
}

// covers returns the share of the words of a name that are among words; 0 unless the name and the id have all of
// them, and the name at least one. found is working memory.
func covers(words []string, name, id string, found []bool) float64 {
	clear(found)
	semantic.Mark(name, words, found)
	covered := 0
	for _, ok := range found {
		if ok {
			covered++
		}
	}
	var parts []string
	for i, w := range words {
		if !found[i] && len(w) <= maxInitials {
			if parts == nil {
				parts = semantic.Parts(name)
			}
			if run := initialled(w, parts); run != nil {
				found[i] = true
				covered += len(run)
			}
		}
	}
	if covered == 0 {
		return 0
	}
	semantic.Mark(id, words, found)
	if slices.Contains(found, false) {
		return 0
	}
	return min(1, float64(covered)/float64(max(1, semantic.CountParts(name))))
}

// initialled returns the words of a name that stand together and whose initials are a word of two to four
// letters, or its plural; nil if there are none.
func initialled(word string, parts []string) []string {
	if n := len(word); n >= 2 && n <= maxInitials {
		for at := 0; at+n <= len(parts); at++ {
			same := true
			for i := range n {
				same = same && strings.HasPrefix(parts[at+i], word[i:i+1])
			}
			if same {
				return parts[at : at+n]
			}
		}
	}
	if singular, ok := strings.CutSuffix(word, "s"); ok {
		return initialled(singular, parts)
	}
	return nil
}

// spellOut returns a query of few words followed by the words that its abbreviations stand for in names. An
// abbreviation is a word of two to four letters that no name has, or its plural, written in capitals or alone. In
// longer requests such words are rarely names of tools: spelling them out cost .005 recall@5 on the sample.
func (q *query) spellOut() string {
	fields := strings.FieldsFunc(q.wording.intent, func(r rune) bool { return !unicode.IsLetter(r) })
	text := q.wording.intent
	if len(fields) > spelledWords {
		return text
	}
	for _, f := range fields {
		for _, f := range []string{f, strings.TrimSuffix(f, "s")} {
			if len(f) < 2 || len(f) > maxInitials || len(fields) > 1 && f != strings.ToUpper(f) {
				continue
			}
			if run := q.initials()[strings.ToLower(f)]; run != "" {
				text += " " + run
				break
			}
		}
	}
	return text
}

// initials maps initials of words that stand together in the names known at the last build to these words: of several
// the most frequent, then the first by alphabet. Initials that are a word of some name themselves are left out. They
// depend on nothing that changed after the build, so it does not matter which model asks first.
func (m *Model) initials() map[string]string {
	s := &m.measures.initials
	s.once.Do(func() {
		counts, words := map[string]map[string]int{}, map[string]bool{}
		for n := range int32(m.measures.nodes) {
			if m.measures.canon[n] != n {
				continue
			}
			name, _ := m.measures.measured.Describe(m.IDs[n])
			parts := semantic.Parts(name)
			for from := range parts {
				words[parts[from]] = true
				key := ""
				for to := from; to < len(parts) && to < from+maxInitials; to++ {
					key += parts[to][:1]
					if to > from {
						if counts[key] == nil {
							counts[key] = map[string]int{}
						}
						counts[key][strings.Join(parts[from:to+1], " ")]++
					}
				}
			}
		}
		s.words = make(map[string]string, len(counts))
		for key, runs := range counts {
			best := ""
			for run, n := range runs {
				if m := runs[best]; n > m || n == m && run < best {
					best = run
				}
			}
			if !words[key] {
				s.words[key] = best
			}
		}
	})
	return s.words
}

// initials are worked out when a search first asks for them.
type initials struct {
	once  sync.Once
	words map[string]string // by initials
}
