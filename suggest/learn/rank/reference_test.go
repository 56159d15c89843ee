package rank

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"waymark/graph"
)

// The rank score by its text alone, in a cold start and in a dense graph.
func TestRankScore(t *testing.T) {
	for _, c := range []struct{ alpha, text, graph, pageRank, want float64 }{
		{1, .85, 0, .20, .72}, // rank row of the original's tests
		{1, 1, 0, 0, .80},
		{1, .6, .9, 0, .8 * .6},   // cold start: text alone
		{.5, .6, .9, 0, .8 * .75}, // dense: half and half
		{1, 0, 0, 1, 0},           // importance alone is none
	} {
		_, score := Signals{Graph: c.graph, PageRank: c.pageRank}.RankScore(c.alpha, c.text)
		assert.InDelta(t, c.want, score, 1e-12, "%+v", c)
	}
}

// A tool seen three times after the last step with weight .7 is likely next.
func TestToolScoreOfAnExample(t *testing.T) {
	_, score := Signals{Cooccurrence: graph.CooccurrenceConfidence(.7, 3), Community: .6, AA: 1, PageRank: 1}.ToolScore() // .7 + .05·log2(4)
	assert.InDelta(t, .725, score, 5e-4)
}

// The terms of the rank score are its formula, multiplied out.
func TestTermsAreTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 4, 4).Draw(t, "alpha, text, graph, pagerank")
		alpha := .5 + x[0]/2
		_, got := Signals{Graph: x[2], PageRank: x[3]}.RankScore(alpha, x[1])
		if want := .8*(alpha*x[1]+(1-alpha)*x[2]) + .2*x[3]; got-want > 1e-15 || want-got > 1e-15 {
			t.Fatalf("terms add up to %v, the formula gives %v", got, want)
		}
	})
}

// The weights of the tool score add up to 1.
func TestToolScore(t *testing.T) {
	for want, s := range map[float64]Signals{
		1: {Cooccurrence: 1, Community: 1, AA: 2, PageRank: 1}, .5: {Cooccurrence: 1}, .25: {Community: 1}, .15: {AA: 3}, 0: {PageRank: 1},
	} {
		_, score := s.ToolScore()
		assert.InDelta(t, want, score, 1e-12, "%+v", s)
	}
}
