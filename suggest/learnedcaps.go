package suggest

import (
	"math"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/suggest/history"
)

// A stored capability has two scores: one as a step of its own, from history and texts, and one by its tools.
// The score by its tools uses the factors of MixedScore on a log scale, without the structural boost, which
// makes rankings of held-out tasks worse. With s(t) the learned scores of its tools that are not done yet,
//
//	score = S + ln relevance + ln reliability
//
// After a context, S is ln Σ e^s(t), the score of "one of its tools". For an intent, S is the mean of s(t),
// because the capability serves the intent to the extent that the intent needs all of its tools. The better of the
// two scores counts.

// together holds the learned scores of all tools, filled in for the first capability that needs them.
type together struct {
	measured bool
	score    []float64 // by tool
	least    float64   // score of a tool that is not ranked
}

// visitStored visits c. If c is a capability that is a candidate by text or context and its score by its tools is
// better, it visits that one instead. It leaves out a capability whose tools are all done.
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

// stored returns the candidate of a capability with the score by its tools, if its relevance is above 0.
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

// storedNames are the terms of the score of a capability by its tools.
var storedNames = [3]string{"its_tools", "relevance", "reliability"}

// storedParts returns the terms of storedNames. It returns false if the relevance is 0 or no tool is left.
func (q *query) storedParts(n int32) (parts [3]float64, ok bool) {
	relevance, _, reliability := q.mixing(n)
	if relevance == 0 {
		return parts, false
	}
	tools, ok := q.scoreTogether(n)
	return [3]float64{tools, numeric.Ln(relevance), numeric.Ln(reliability)}, ok
}

// storedTerms returns the terms of the score for display. A factor of 1 has logarithm 0 and is left out.
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

// scoreTogether returns S, or false if the capability has no tools or all of them are done.
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

// scoreTools fills in the scores by tool, once per query.
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
