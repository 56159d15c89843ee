package score

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// By hand: accuracy 8 and 6 has variance 1, the other four dimensions 0, mean 1/5; holistic 9 and 5 has 4.
func TestVarianceMetric(t *testing.T) {
	in := CouncilInput{Responses: responses("a"), Reviews: []Review{
		{Reviewer: "r1", Evaluations: map[string]*Evaluation{"a": eval("8 8 8 8 8")}, Scores: map[string]Decimal{"a": *dec("9")}},
		{Reviewer: "r2", Evaluations: map[string]*Evaluation{"a": eval("6 8 8 8 8")}, Scores: map[string]Decimal{"a": *dec("5")}},
	}}
	m := score(t, in).Metrics.DimensionVariance
	assert.Equal(t, VarianceMetric{new(.2), new(4.), new(true), 1}, m)

	in.Reviews[1].Scores = nil
	assert.Equal(t, VarianceMetric{}, score(t, in).Metrics.DimensionVariance, "one reviewer has no variance")
	in.Reviews[1].Evaluations["a"].Overall = dec("9")
	assert.Equal(t, VarianceMetric{new(.2), new(0.), new(false), 1}, score(t, in).Metrics.DimensionVariance, "a total is a holistic score")
}

// council of n answers whose words and scores follow f.
func lengthy(n int, f func(i int) float64) CouncilInput {
	in := CouncilInput{}
	rv := Review{Reviewer: "r", Evaluations: map[string]*Evaluation{}}
	for i := range n {
		id := string(rune('a' + i))
		in.Responses = append(in.Responses, Response{ID: id, Text: strings.Repeat("word ", 10*(i+1))})
		rv.Evaluations[id] = flat(f(i))
	}
	in.Reviews = []Review{rv}
	return in
}

func TestConcisenessMetric(t *testing.T) {
	m := score(t, lengthy(5, func(i int) float64 { return float64(9 - i) })).Metrics.Conciseness
	assert.InDelta(t, -1, *m.R, 1e-12)
	m = score(t, lengthy(3, func(i int) float64 { return []float64{1, 2, 4}[i] })).Metrics.Conciseness
	assert.InDelta(t, 3/math.Sqrt(2*14./3), *m.R, 1e-12, "of 1, 2, 3 and 1, 2, 4, by hand")
	m = score(t, lengthy(2, func(i int) float64 { return float64(9 - i) })).Metrics.Conciseness
	assert.Nil(t, m.R)
	assert.True(t, strings.HasPrefix(m.Note, "fewer than three"))
	assert.Equal(t, "lengths or scores do not vary", score(t, lengthy(6, func(int) float64 { return 7 })).Metrics.Conciseness.Note)
}

// Side by side: by rubric the ceiling puts the lie last, holistically it comes first.
func TestHolisticBeside(t *testing.T) {
	in := CouncilInput{Responses: responses("lie", "plain", "unread"), Reviews: []Review{{Reviewer: "r",
		Evaluations: map[string]*Evaluation{"lie": eval("3 9 9 9 9"), "plain": eval("8 7 7 7 7")},
		Scores:      map[string]Decimal{"lie": *dec("9"), "plain": *dec("7")}}}}
	res := score(t, in)
	assert.Equal(t, ByRubric, res.Reviews[0].Status)
	assert.Equal(t, &HolisticRanking{Ranking: []HolisticRank{{"lie", 1, 9}, {"plain", 2, 7}}, SameFirst: false, Reviews: 1}, res.Holistic)
	in.Reviews[0].Scores = nil
	assert.Nil(t, score(t, in).Holistic)
}

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
