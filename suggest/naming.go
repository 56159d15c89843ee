package suggest

import (
	"cmp"
	"slices"
	"strings"

	"waymark/catalog"
	planning "waymark/learn/plan"
	"waymark/semantic"
)

const (
	maxInitials = 4 // letters of an abbreviation
	nameWords   = 8 // of an intent that may be a name; a longer one describes
)

// nameMatch is a node that the intent names.
type nameMatch struct {
	node     int32
	coverage float64 // share of the name's words that the intent has
	score    float64
}

// named lists the nodes that a query names exactly: that of its id before those of its name.
func (q *query) named() (nodes []int32) {
	add := func(n int32) {
		if !slices.Contains(nodes, n) {
			q.consider(n)
			nodes = append(nodes, n)
		}
	}
	if n, ok, err := q.node(q.wording.wished); err == nil && ok && q.Live(n) {
		add(n)
	}
	for _, n := range q.Roles.Named(q.Catalog, q.wording.wished) {
		add(n)
	}
	return nodes
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
