package rank

import (
	"testing"

	"github.com/stretchr/testify/assert"

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

// The weights of the tool score add up to 1. A tool seen three times after the last step with weight .7 is likely next.
func TestToolScore(t *testing.T) {
	thrice := Signals{Cooccurrence: graph.CooccurrenceConfidence(.7, 3), Community: .6, AA: 1, PageRank: 1} // .7 + .05·log2(4)
	for want, s := range map[float64]Signals{
		1: {Cooccurrence: 1, Community: 1, AA: 2, PageRank: 1}, .5: {Cooccurrence: 1}, .25: {Community: 1}, .15: {AA: 3}, 0: {PageRank: 1}, .725: thrice,
	} {
		_, score := s.ToolScore()
		assert.InDelta(t, want, score, 5e-4, "%+v", s)
	}
}
