package suggest

import (
	"math"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/suggest/history"
)

// A stored capability competes in two ways: as a step of its own, which a history may hold and texts may
// speak for, and by its tools. With s(t) the learned scores of those that are not done yet, the factors
// of MixedScore on a scale of logarithms but for the structural boost, which loses on held-out tasks,
//
//	score = S + ln relevance + ln reliability
//
// S is ln Σ e^s(t) after a context, the score of "one of its tools", and the mean of s(t) for an intent,
// which it serves as far as the intent needs them all. The better of the two ways counts.

// together are the learned scores of all tools, by tool; filled in when the first capability asks.
type together struct {
	measured bool
	score    []float64
	least    float64 // of a tool that nothing spoke for
}

// visitStored visits c, or, if it is a capability that text or context brought in, what its tools make of it
// where that is better. A capability with nothing left to do is left out.
func (q *query) visitStored(c candidate, visit func(c candidate)) {
	if q.Kind(c.node) == catalog.KindCapability {
		if q.exhausted(c.node) {
			return
		}
		if q.nodes.stamp[c.node] == q.nodes.epoch {
			if s, ok := q.stored(c.node); ok && s.score > c.score {
				c = s
			}
		}
	}
	visit(c)
}

// stored is a capability by its tools, if it is relevant at all.
func (q *query) stored(n int32) (c candidate, ok bool) {
	parts, ok := q.storedParts(n)
	if !ok {
		return candidate{}, false
	}
	c = candidate{node: n, formula: FormulaLogistic, stored: true}
	for _, x := range parts {
		c.score += x
	}
	c.p = q.ranking.Chance(c.score)
	return c, true
}

// The parts of the score of a capability by its tools.
var storedNames = [3]string{"its_tools", "relevance", "reliability"}

// storedParts are those parts; false where it is not relevant.
func (q *query) storedParts(n int32) (parts [3]float64, ok bool) {
	relevance, _, reliability := q.mixing(n)
	if relevance == 0 {
		return parts, false
	}
	tools, ok := q.scoreTogether(n)
	return [3]float64{tools, numeric.Ln(relevance), numeric.Ln(reliability)}, ok
}

// storedTerms shows the parts of the score. A factor of 1 has logarithm 0 and is left out.
func (q *query) storedTerms(n int32) []Term {
	parts, _ := q.storedParts(n)
	terms := make([]Term, 0, len(parts))
	for i, x := range parts {
		if i == 0 || x != 0 {
			terms = append(terms, Term{storedNames[i], x, 1, x})
		}
	}
	return terms
}

// scoreTogether is S; false if it has no tools, or all are done.
func (q *query) scoreTogether(n int32) (s float64, ok bool) {
	q.scoreTools()
	var scores [catalog.MaxTools]float64
	left := scores[:0]
	top := math.Inf(-1)
	for _, t := range q.CapabilityTools(n) {
		if q.nodes.stamp[t] == q.nodes.epoch && q.nodes.inFlight[t] {
			continue
		}
		x := q.fit.together.least
		if i := history.Of(q.learned.tool, t, -1); i >= 0 {
			x = q.fit.together.score[i]
		}
		left = append(left, x)
		top = max(top, x)
	}
	if len(left) == 0 {
		return 0, false
	}
	if q.whole() {
		return numeric.Sum(left) / float64(len(left)), true
	}
	sum := 0.0
	for _, x := range left {
		sum += numeric.Exp(x - top)
	}
	return top + numeric.Ln(sum), true
}

// scoreTools fills in the scores by tool.
func (q *query) scoreTools() {
	t := &q.fit.together
	if t.measured {
		return
	}
	t.measured = true
	t.score = append(t.score[:0], make([]float64, len(q.learned.node))...)
	t.least = 0
	if n := len(q.ranking.Ranked); n > 0 {
		t.least = q.ranking.Ranked[n-1].Score
	}
	for i := range t.score {
		t.score[i] = t.least
	}
	for _, r := range q.ranking.Ranked {
		t.score[r.Tool] = r.Score
	}
}
