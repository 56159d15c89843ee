package score

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// flat is an evaluation with the same number everywhere.
func flat(x float64) *Evaluation {
	return eval(strings.Repeat(fmt.Sprintf("%g ", x), 5))
}

// A harsh reviewer who scores a and b, and a generous one who scores c alone beside b: by means c leads
// because of who reviewed it, by z-scores it does not.
func TestNormaliseByZ(t *testing.T) {
	in := CouncilInput{Responses: responses("a", "b", "c"), Reviews: []Review{
		{Reviewer: "harsh", Evaluations: map[string]*Evaluation{"a": flat(6), "b": flat(2)}},
		{Reviewer: "kind", Evaluations: map[string]*Evaluation{"b": flat(10), "c": flat(8)}},
	}}
	in.Reviews[0].Evaluations["a"].Accuracy = dec("8") // 6.7, no ceiling
	order, by := ranking(score(t, in))
	assert.Equal(t, []string{"c", "a", "b"}, order)
	assert.Nil(t, by["a"].Z)

	in.Options.Normalise = "z"
	order, by = ranking(score(t, in))
	assert.Equal(t, []string{"a", "b", "c"}, order)
	assert.Equal(t, []float64{1, 0, -1}, []float64{*by["a"].Z, *by["b"].Z, *by["c"].Z})
	assert.Equal(t, 8., *by["c"].Score, "the score stays the mean of the capped")
}

// Reviewer two scores as reviewer one does, seven tenths of it and two points more: in exact numbers the
// z-scores are the same, in floating point the last digits differ. No digit of noise decides a rank.
func TestNoiseInZDecidesNothing(t *testing.T) {
	clear := func(s string) *Evaluation { return eval("10 - - - " + s) }
	res := score(t, CouncilInput{Responses: responses("a", "b", "c", "d", "e", "f"),
		Options: CouncilOptions{Normalise: "z", Weights: map[string]Decimal{"accuracy": 0, "clarity": *dec("1")}},
		Reviews: []Review{
			{Reviewer: "one", Evaluations: map[string]*Evaluation{"a": clear("2"), "c": clear("2"), "d": clear("3")}},
			{Reviewer: "two", Evaluations: map[string]*Evaluation{"b": clear("3.4"), "e": clear("3.4"), "f": clear("4.1")}},
		}})
	order, by := ranking(res)
	assert.NotEqual(t, *by["d"].Z, *by["f"].Z)
	assert.Equal(t, []string{"d", "f", "a", "b", "c", "e"}, order)
	for _, r := range res.Ranking {
		assert.True(t, r.Tied, r.ID)
	}
}
