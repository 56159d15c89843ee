package evaluate

import (
	"cmp"
	"slices"
	"strings"
)

// The simple baselines, in the order of a table. A tool without a score is not ranked.
//
//	popularity   how often the tool was called
//	markov1      n(last → t); then popularity for the tools not ranked yet
//	markov2      n(last two → t); then markov1, then popularity
//	markov2_knn  a chain of order two, smoothed, mixed with the votes of the nearest past intents; see [counts.mixed]
//	bm25         words of the tools' texts; a plan is the first three tools
//	knn          votes of the nearest past intents for their tools, by likeness
//	copy         the plan of the nearest past intent
//
// Equal scores: the more popular first, then the id.
func baselines(history []*task, text *toolIndex) []Predictor {
	c, past := newCounts(history), newIntentIndex(history)
	list := []Predictor{
		{Name: "popularity", Next: func(Question) ([]Candidate, error) { return c.layers(c.popular), nil }},
		{Name: "markov1", Next: func(q Question) ([]Candidate, error) {
			return c.layers(c.first[c.last(q, 1)], c.popular), nil
		}},
		{Name: "markov2", Next: func(q Question) ([]Candidate, error) {
			return c.layers(c.second[[2]int{c.last(q, 2), c.last(q, 1)}], c.first[c.last(q, 1)], c.popular), nil
		}},
		{Name: "markov2_knn", withIntent: true, Next: func(q Question) ([]Candidate, error) {
			return c.mixed(q, past.nearest(q.Intent)), nil
		}},
		{Name: "bm25", Search: text.find, Find: text.find, Plan: func(intent string) (Plan, error) {
			found, err := text.find(intent)
			return Plan{Tools: found[:min(3, len(found))]}, err
		}},
		{Name: "knn", Find: func(intent string) ([]string, error) { return vote(past.nearest(intent)), nil }},
		{Name: "copy", Plan: func(intent string) (Plan, error) {
			if near := past.nearest(intent); len(near) > 0 {
				return Plan{Tools: near[0].set, Links: near[0].links}, nil
			}
			return Plan{}, nil
		}},
	}
	for i := range list {
		list[i].simple = true
	}
	return list
}

// scored is the number of a tool or a document, with what speaks for it.
type scored struct {
	of    int
	score float64
}

// best puts the largest score first, of equal ones the smaller number.
func best(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.of, b.of)) }

// counts are what chains know of a history. Tools are numbers, the most popular first, ties by id.
type counts struct {
	ids     []string
	at      map[string]int
	popular []scored
	first   map[int][]scored // by tool: what came right after it, most often first
	second  map[[2]int][]scored
}

func newCounts(history []*task) *counts {
	c := &counts{at: map[string]int{}, first: map[int][]scored{}, second: map[[2]int][]scored{}}
	uses := map[string]float64{}
	for _, t := range history {
		for _, id := range t.seq {
			if uses[id]++; uses[id] == 1 {
				c.ids = append(c.ids, id)
			}
		}
	}
	slices.SortFunc(c.ids, func(a, b string) int { return cmp.Or(cmp.Compare(uses[b], uses[a]), strings.Compare(a, b)) })
	for i, id := range c.ids {
		c.at[id] = i
		c.popular = append(c.popular, scored{i, uses[id]})
	}
	one, two := map[[2]int]float64{}, map[[3]int]float64{}
	for _, t := range history {
		for i, id := range t.seq[min(1, len(t.seq)):] {
			one[[2]int{c.at[t.seq[i]], c.at[id]}]++
			if i > 0 {
				two[[3]int{c.at[t.seq[i-1]], c.at[t.seq[i]], c.at[id]}]++
			}
		}
	}
	for k, n := range one { // sorted below; order does not matter
		c.first[k[0]] = append(c.first[k[0]], scored{k[1], n})
	}
	for k, n := range two {
		c.second[[2]int{k[0], k[1]}] = append(c.second[[2]int{k[0], k[1]}], scored{k[2], n})
	}
	for _, row := range c.first {
		slices.SortFunc(row, best)
	}
	for _, row := range c.second {
		slices.SortFunc(row, best)
	}
	return c
}

// last is the number of the tool so many steps back, -1 if there is none or the history never had it.
func (c *counts) last(q Question, back int) int {
	if back > len(q.Context) {
		return -1
	}
	if n, ok := c.at[q.Context[len(q.Context)-back]]; ok {
		return n
	}
	return -1
}

// layers lists the tools of the rows, one row after the other, each once.
func (c *counts) layers(rows ...[]scored) []Candidate {
	seen := make([]bool, len(c.ids))
	list := make([]Candidate, 0, len(c.ids))
	for _, row := range rows {
		for _, s := range row {
			if !seen[s.of] {
				seen[s.of] = true
				list = append(list, Candidate{ID: c.ids[s.of]})
			}
		}
	}
	return list
}

// mixed is, with the neighbours of the intent,
//
//	P(t) = ¾·P(t | last two) + ¼·votes(t)/Σ votes
//	P(t | last two) = (n₂(t) + P(t | last))/(n₂ + 1),  P(t | last) = (n₁(t) + P(t))/(n₁ + 1)
//
// Without neighbours it is the chain alone.
func (c *counts) mixed(q Question, near []neighbour) []Candidate {
	const voteShare = 0.25
	weight := make([]float64, len(c.ids))
	left := 1.0
	if votes := 0.0; len(near) > 0 {
		left -= voteShare
		for _, n := range near {
			votes += float64(n.likeness * float64(len(n.set)))
		}
		for _, n := range near {
			for _, id := range n.set {
				weight[c.at[id]] += voteShare * n.likeness / votes
			}
		}
	}
	// A row of n counts takes n/(n+1) of what is left, the rest goes to the shorter context.
	for _, row := range [][]scored{c.second[[2]int{c.last(q, 2), c.last(q, 1)}], c.first[c.last(q, 1)], c.popular} {
		total := 1.0
		for _, s := range row {
			total += s.score
		}
		for _, s := range row {
			weight[s.of] += left * s.score / total
		}
		left /= total
	}
	var row []scored
	for tool, w := range weight {
		if w > 0 {
			row = append(row, scored{tool, w})
		}
	}
	slices.SortFunc(row, best)
	return c.layers(row)
}
