package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Query is what to look for in the next round.
type Query struct {
	Intent     Intent `json:"intent"`
	Text       string `json:"text"`
	Hypothesis string `json:"hypothesis"`        // it is about
	Against    string `json:"against,omitempty"` // the hypothesis it is told apart from
	Exclude    string `json:"exclude,omitempty"` // a source that is not wanted
}

// An Intent is the class of a query.
type Intent string

// hypothesis_support_1 and _2 are for the two heaviest hypotheses; before a forced round there are more,
// numbered by place, for those that no round has asked for yet.
const (
	Support1         Intent = "hypothesis_support_1"
	Support2         Intent = "hypothesis_support_2"
	DiscriminateTop2 Intent = "discriminative_top2"
	FalsifyLead      Intent = "falsification_lead"
	diversifySources Intent = "source_diversity"
)

// maxQueryWords keeps queries at a length that search engines read to the end.
const maxQueryWords = 48

// queries are those of the round after done rounds. Round 2 begins with falsification, a forced round
// with discrimination; "none of these" is nothing to search for. What was asked before would bring the
// same again, so a forced round also asks for the hypotheses that were never among the first two.
func (s *Session) queries(done int, gate Gate) []Query {
	queries := []Query{}
	if gate == Stop || gate == Exhausted {
		return queries
	}
	ranked := s.ranked(true)
	for i, c := range ranked {
		if i < 2 || gate == Forced && !c.asked {
			c.asked = true
			queries = append(queries, support(i, c))
		}
	}
	if len(ranked) > 1 {
		a, b := ranked[0], ranked[1]
		queries = append(queries, Query{Intent: DiscriminateTop2, Text: s.discriminate(a.Hypothesis, b.Hypothesis), Hypothesis: a.ID, Against: b.ID})
	}
	lead := ranked[0]
	queries = append(queries, Query{Intent: FalsifyLead, Text: falsifyQuery(lead.Hypothesis), Hypothesis: lead.ID})
	for _, c := range ranked {
		if source := s.dominantSource(c); source != "" {
			queries = append(queries, Query{Intent: diversifySources, Text: cutWords(c.Text, maxQueryWords) + " " + excluding(source), Hypothesis: c.ID, Exclude: source})
		}
	}
	front := Intent("")
	switch {
	case done == 1:
		front = FalsifyLead
	case gate == Forced:
		front = DiscriminateTop2
	}
	slices.SortStableFunc(queries, func(a, b Query) int { // the rest keeps its order
		return cmp.Compare(place(a.Intent, front), place(b.Intent, front))
	})
	return queries
}

// Rest returns queries for the hypotheses that the queries of the next round leave out, for hosts that
// can afford a broad first round: before any evidence the first two are only first by id.
func (s *Session) Rest() []Query {
	asked := map[string]bool{}
	for _, q := range s.Queries() {
		asked[q.Hypothesis], asked[q.Against] = true, true
	}
	queries := []Query{}
	for i, c := range s.ranked(true) {
		if !asked[c.ID] {
			queries = append(queries, support(i, c))
		}
	}
	return queries
}

func support(i int, c *claim) Query {
	return Query{Intent: Intent(fmt.Sprintf("hypothesis_support_%d", i+1)), Text: supportQuery(c.Hypothesis), Hypothesis: c.ID}
}

func place(intent, front Intent) int {
	if intent == front {
		return 0
	}
	return 1
}

// supportQuery is what the hypothesis says, and what would confirm it.
func supportQuery(h Hypothesis) string {
	return cutWords(strings.Join([]string{h.Text, h.KeyFact, h.Rationale}, " "), maxQueryWords)
}

// falsifyQuery is the claim denied, and its reason doubted.
func falsifyQuery(h Hypothesis) string {
	q := negation(cutWords(h.Text, maxQueryWords/2))
	if strings.TrimSpace(h.Rationale) != "" {
		q += " OR evidence against " + cutWords(h.Rationale, maxQueryWords/4)
	}
	return q
}

// discriminate puts what only one hypothesis says beside what only the other says, then what they share,
// or else the subject of the question: "phosphorylation vs ubiquitination p53 protein".
func (s *Session) discriminate(a, b Hypothesis) string {
	onlyA, onlyB, shared := s.apart(a.Text, b.Text)
	if len(onlyA) == 0 {
		onlyA, _, _ = s.apart(a.KeyFact+" "+a.Rationale, b.Text)
	}
	if len(onlyB) == 0 {
		onlyB, _, _ = s.apart(b.KeyFact+" "+b.Rationale, a.Text)
	}
	if len(shared) == 0 {
		shared, _, _ = s.apart(s.request.Question, a.Text+" "+b.Text)
	}
	const each, common = 10, 12
	q := strings.Join(first(onlyA, each), " ") + " vs " + strings.Join(first(onlyB, each), " ")
	return strings.TrimSpace(q + " " + strings.Join(first(shared, common), " "))
}

// apart splits the words of two texts, as they stand there and each once, into those of a alone, of b
// alone, and of both. Stop words are left out.
func (s *Session) apart(a, b string) (onlyA, onlyB, shared []string) {
	setA, setB := s.lexicon.set(a), s.lexicon.set(b)
	split := func(text string, other []int32) (alone, both []string) {
		var seen []int32
		for w := range strings.FieldsSeq(text) {
			stems := slices.Clone(s.lexicon.word(w))
			slices.Sort(stems)
			stems = slices.Compact(stems)
			if len(stems) == 0 || common(stems, seen) == len(stems) {
				continue
			}
			seen = append(seen, stems...)
			slices.Sort(seen)
			if w = strings.Trim(w, ".,;:!?()[]\"'"); common(stems, other) == len(stems) {
				both = append(both, w)
			} else {
				alone = append(alone, w)
			}
		}
		return alone, both
	}
	onlyA, shared = split(a, setB)
	onlyB, _ = split(b, setA)
	return onlyA, onlyB, shared
}

func first(words []string, n int) []string { return words[:min(n, len(words))] }

// dominantSource is the source that gives more than Options.DiversityShare of the snippets that support
// a hypothesis, or "". Snippets without a source count, but never dominate.
func (s *Session) dominantSource(c *claim) string {
	if len(c.supporting) < s.options.DiversitySnippets || len(c.supporting) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, p := range c.supporting {
		if source := Domain(s.passages[p].Source); source != "" {
			counts[source]++
			if float64(counts[source]) > float64(s.options.DiversityShare*float64(len(c.supporting))) {
				return source
			}
		}
	}
	return ""
}

// Domain is what counts as one source: the host of an address without www, any other name in small
// letters.
func Domain(source string) string {
	d := strings.ToLower(strings.TrimSpace(source))
	if _, rest, ok := strings.Cut(d, "://"); ok {
		d = rest
		if i := strings.IndexAny(d, "/?#"); i >= 0 {
			d = d[:i]
		}
		if _, host, ok := strings.Cut(d, "@"); ok {
			d = host
		}
		d, _, _ = strings.Cut(d, ":")
	}
	return strings.TrimPrefix(d, "www.")
}

// excluding asks a search engine to leave a source out.
func excluding(source string) string {
	if strings.Contains(source, ".") && !strings.ContainsAny(source, " \t\"") {
		return "-site:" + source
	}
	return fmt.Sprintf("-%q", source)
}

func cutWords(text string, n int) string { return strings.Join(first(strings.Fields(text), n), " ") }
