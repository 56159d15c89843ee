package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAlike(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts []string
		want  [][]string
	}{
		{"other words", []string{"rain fell on the valley", "wind came from the north"}, [][]string{}},
		{"same words", []string{"Rain fell on the valley.", "the valley: rain fell!"}, [][]string{{"h1", "h2"}}},
		{"inflected", []string{"A leaking valve floods the lower chambers", "Leaking valves flooded the lower chamber"}, [][]string{{"h1", "h2"}}},
		{"two pairs", []string{"rain fell", "wind blew", "fell rain", "blew wind"}, [][]string{{"h1", "h3"}, {"h2", "h4"}}},
		// Seed 001, last risk. Five of six words are shared: .833, so they stay apart here.
		{"the seed's pair", []string{"X inhibits pathway A via phosphorylation", "X inhibits pathway A via acetylation"}, [][]string{}},
		{"one word of eight", []string{"early spring rain floods lower valley farm roads", "early spring rain floods lower valley farm fields"}, [][]string{{"h1", "h2"}}},
		{"through a third", []string{
			"early spring rain floods lower valley farm roads", "early spring rain floods lower valley farm fields",
			"early spring rain floods upper valley farm fields"}, [][]string{{"h1", "h2", "h3"}}},
		// Small words and numbers that make another claim.
		{"denied", []string{"The cache holds stale entries", "The cache does not hold stale entries"}, [][]string{}},
		{"another number", []string{
			"The lower tank of the north plant holds water at 25 degrees", "The lower tank of the north plant holds water at 30 degrees"}, [][]string{}},
		{"the opposite verb", []string{
			"Warm spring rain increases yields of wheat in northern valleys", "Warm spring rain decreases yields of wheat in northern valleys"}, [][]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Alike(hypotheses(tt.texts...), .85)) })
	}
}

func TestMergedStandForOne(t *testing.T) {
	hs := hypotheses("granite copper", "cedar maple", "slate", "maple cedar", "marl")
	r := Request{Hypotheses: hs, Rounds: []Round{{Snippets: snippets("cedar and maple")}}}
	res := triangulate(t, r)
	assert.Equal(t, [][]string{{"h2", "h4"}}, res.Merged)
	assert.Equal(t, map[string]float64{"h1": .25, "h2": .25, "h3": .25, "h5": .25}, res.Priors, "said twice is not twice as likely")
	assert.NotContains(t, res.Rounds[0].Weights, "h4")
	for _, q := range res.Rounds[0].NextQueries {
		assert.NotEqual(t, "h4", q.Against, "the second to discriminate is another one")
	}
	for i, p := range []float64{.2, .1, .2, .3, .2} {
		hs[i].Prior = &p
	}
	res = triangulate(t, Request{Hypotheses: hs})
	assert.InDelta(t, .4, res.Priors["h2"], 1e-15, "given priors of one claim add up")

	res = triangulate(t, Request{Hypotheses: hypotheses("cedar maple", "maple cedar"), Rounds: []Round{{Snippets: snippets("cedar")}}})
	assert.Equal(t, 1.0, res.Dominance)
	assert.Zero(t, res.Rounds[0].EntropyShare)
	assert.Contains(t, res.Warnings, oneHypothesis)
}

func TestDistance(t *testing.T) {
	assert.InDelta(t, 1, Distance(hypotheses("rain", "wind")), 1e-15)
	assert.InDelta(t, .5, Distance(hypotheses("warm rain", "cold rain")), 1e-15)
	assert.Zero(t, Distance(hypotheses("rain")))
}
