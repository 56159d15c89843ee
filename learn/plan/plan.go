package plan

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/decode"
)

// Ranked is a tool and the probability that the request uses it.
type Ranked struct {
	Tool int32
	P    float64
}

// Step is a step of a plan; After are the numbers of earlier steps that it depends on.
type Step struct {
	Tool  int32
	P     float64
	After []int32
}

// Answer is what a request is likely to need.
type Answer struct {
	Tools []Ranked // the likeliest first; at least 100 where there are as many
	Steps []Step   // the plan, in an order that respects After
	q     *request
	score []float64 // of the candidates; nil before anybody asks
}

// Plan answers a request. match is [Texts.Match] of it, or nil.
func (m *Model) Plan(text string, match *Match) *Answer {
	q := m.open(text, match)
	q.run()
	return &Answer{q: q, Tools: q.ranked(deep), Steps: q.steps()}
}

// deep is how far the tools of an answer are ranked.
const deep = 100

// ranked lists the candidates and, where they are fewer than limit, further tools by what the request
// has in common with their texts: nothing speaks for these, so none is likelier than any candidate.
func (q *request) ranked(limit int) []Ranked {
	list := make([]Ranked, len(q.table.order), max(limit, len(q.table.order)))
	for i, c := range q.table.order {
		list[i] = Ranked{q.table.cand[c], q.table.p2[c]}
	}
	if limit <= len(list) || len(list) == len(q.m.texts.tools) {
		return list
	}
	least := 1.0
	if len(list) > 0 {
		least = list[len(list)-1].P
	}
	all := len(q.m.texts.tools)
	others := top(all, limit, func(i int) int32 { return int32(i) }, func(i int) float64 {
		if _, ok := q.place(int32(i)); ok {
			return 0
		}
		return 1 + float64(q.match.text[i]) + float64(q.match.words[i])
	})
	others = others[:min(len(others), limit-len(list))]
	numbers := make([]int32, len(others))
	for i, t := range others {
		numbers[i] = t.Label
	}
	kin := q.m.texts.kinship(q.kin, numbers)
	f := make([]float64, len(baseNames))
	for i, t := range others {
		q.base(f, t.Label, float64(len(q.table.cand)+i), kin[i])
		least = min(least, q.first.P(f))
		list = append(list, Ranked{t.Label, least})
	}
	return list
}

// steps chooses the tools of the plan, their order and their links.
func (q *request) steps() []Step {
	m := q.m
	places := q.choose()
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(q.table.p2[b], q.table.p2[a]), cmp.Compare(a, b))
	})
	n := len(places)
	tools := make([]int32, n)
	for i, c := range places {
		tools[i] = q.table.cand[c]
	}
	p := make([]float64, n*n)
	for k, f := range q.pairs(tools) {
		if f != nil {
			p[k] = m.linker.P(f)
		}
	}
	var order []int
	var links []decode.Link
	if m.chains {
		order = decode.Path(p, n)
		for i := 1; i < n; i++ {
			links = append(links, decode.Link{A: order[i-1], B: order[i]})
		}
	} else {
		// p is the chance of a link between tools that are both used; the mean of the chances of
		// these, not their product, for they come together.
		for a := range n {
			for b := range n {
				p[a*n+b] *= math.Sqrt(float64(q.table.p2[places[a]] * q.table.p2[places[b]]))
			}
		}
		planned := 0.0
		for _, c := range places {
			planned += q.table.p2[c]
		}
		links = decode.Links(p, n, planned/max(numeric.Sum(q.table.p2), planned))
		order = decode.Order(links, n)
	}
	at := make([]int32, n)
	for i, k := range order {
		at[k] = int32(i)
	}
	steps := make([]Step, n)
	for i, k := range order {
		steps[i] = Step{Tool: tools[k], P: q.table.p2[places[k]]}
	}
	for _, l := range links {
		steps[at[l.B]].After = append(steps[at[l.B]].After, at[l.A])
	}
	for i := range steps {
		slices.Sort(steps[i].After)
	}
	return steps
}

// Term is a part of the log-odds of a tool.
type Term struct {
	Name  string
	Value float64 // of the feature
	Adds  float64 // to the log-odds
}

// Explain takes the log-odds of a tool apart: the sum of what the terms add is ln p/(1-p) of its
// probability. It is nil for a tool that nothing
// spoke for.
func (a *Answer) Explain(tool int32) []Term {
	q := a.q
	i, ok := q.place(tool)
	if !ok {
		return nil
	}
	terms := make([]Term, 0, 1+len(q.table.f[i]))
	terms = append(terms, Term{"bias", 1, q.bias()})
	for k, v := range q.table.f[i] {
		name := ""
		if k < len(baseNames) {
			name = baseNames[k]
		} else {
			name = nextNames[k-len(baseNames)]
		}
		terms = append(terms, Term{name, float64(v), q.adds(k, float64(v))})
	}
	return terms
}

// Score is the sum of what the terms of [Answer.Explain] add, from the first to the last. It is false
// for a tool that nothing spoke for. Calls must not overlap.
func (a *Answer) Score(tool int32) (score float64, ok bool) {
	q := a.q
	i, ok := q.place(tool)
	if !ok {
		return 0, false
	}
	if a.score == nil {
		a.score = make([]float64, len(q.table.cand))
		for i := range a.score {
			a.score[i] = q.bias()
			for k, v := range q.table.f[i] {
				a.score[i] += q.adds(k, float64(v))
			}
		}
	}
	return a.score[i], true
}

func (q *request) bias() float64 { return q.first.Bias + q.second.Bias }

// adds is what the k-th feature adds to the log-odds of a tool that has v of it.
func (q *request) adds(k int, v float64) float64 {
	x := float64(q.second.Slope[k] * (v - q.second.Mean[k]))
	if k < len(q.first.Slope) {
		x += float64(q.first.Slope[k] * (v - q.first.Mean[k]))
	}
	return x
}
