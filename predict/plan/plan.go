package plan

import (
	"cmp"
	"math"
	"slices"

	"waymark/predict/decode"
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
	Tools []Ranked // all candidates, the likeliest first
	Steps []Step   // the plan, in an order that respects After
	q     *request
}

// Plan answers a request. match is [Texts.Match] of it, or nil.
func (m *Model) Plan(text string, match *Match) *Answer {
	q := m.open(text, match)
	q.run()
	a := &Answer{q: q, Tools: make([]Ranked, len(q.order))}
	for i, c := range q.order {
		a.Tools[i] = Ranked{q.cand[c], q.p2[c]}
	}
	a.Steps = q.steps()
	return a
}

// steps chooses the tools of the plan, their order and their links.
func (q *request) steps() []Step {
	m := q.m
	places := q.choose()
	slices.SortFunc(places, func(a, b int32) int { return cmp.Or(cmp.Compare(q.p2[b], q.p2[a]), cmp.Compare(a, b)) })
	n := len(places)
	tools := make([]int32, n)
	for i, c := range places {
		tools[i] = q.cand[c]
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
				p[a*n+b] *= math.Sqrt(float64(q.p2[places[a]] * q.p2[places[b]]))
			}
		}
		links = decode.Links(p, n)
		order = decode.Order(links, n)
	}
	at := make([]int32, n)
	for i, k := range order {
		at[k] = int32(i)
	}
	steps := make([]Step, n)
	for i, k := range order {
		steps[i] = Step{Tool: tools[k], P: q.p2[places[k]]}
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
// probability. It is nil for a tool that was no candidate.
func (a *Answer) Explain(tool int32) []Term {
	q := a.q
	i, ok := slices.BinarySearch(q.cand, tool)
	if !ok {
		return nil
	}
	first, second := q.m.first, q.m.second
	terms := []Term{{"bias", 1, first.Bias + second.Bias}}
	for k, v := range q.f[i] {
		t := Term{Value: v, Adds: float64(second.Slope[k] * (v - second.Mean[k]))}
		if k < len(baseNames) {
			t.Name = baseNames[k]
			t.Adds += float64(first.Slope[k] * (v - first.Mean[k]))
		} else {
			t.Name = nextNames[k-len(baseNames)]
		}
		terms = append(terms, t)
	}
	return terms
}
