package council

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/score/rubric"
)

// By hand: accuracy 8 and 6 has variance 1, the other four dimensions 0, mean 1/5; holistic 9 and 5 has 4.
func TestVarianceMetric(t *testing.T) {
	in := Input{Responses: responses("a"), Reviews: []Review{
		{Reviewer: "r1", Evaluations: map[string]*Evaluation{"a": eval("8 8 8 8 8")}, Scores: map[string]rubric.Decimal{"a": *dec("9")}},
		{Reviewer: "r2", Evaluations: map[string]*Evaluation{"a": eval("6 8 8 8 8")}, Scores: map[string]rubric.Decimal{"a": *dec("5")}},
	}}
	m := score(t, in).Metrics.DimensionVariance
	assert.Equal(t, VarianceMetric{new(.2), new(4.), new(true), 1}, m)

	in.Reviews[1].Scores = nil
	assert.Equal(t, VarianceMetric{}, score(t, in).Metrics.DimensionVariance, "one reviewer has no variance")
	in.Reviews[1].Evaluations["a"].Overall = dec("9")
	assert.Equal(t, VarianceMetric{new(.2), new(0.), new(false), 1}, score(t, in).Metrics.DimensionVariance, "a total is a holistic score")
}

// council of n answers whose words and scores follow f.
func lengthy(n int, f func(i int) float64) Input {
	in := Input{}
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
	assert.Equal(t, -1., *m.R)
	m = score(t, lengthy(3, func(i int) float64 { return []float64{1, 2, 4}[i] })).Metrics.Conciseness
	assert.InDelta(t, 3/math.Sqrt(2*14./3), *m.R, 1e-12, "of 1, 2, 3 and 1, 2, 4, by hand")
	m = score(t, lengthy(2, func(i int) float64 { return float64(9 - i) })).Metrics.Conciseness
	assert.Nil(t, m.R)
	assert.True(t, strings.HasPrefix(m.Note, "fewer than three"))
	assert.Equal(t, "lengths or scores do not vary", score(t, lengthy(6, func(int) float64 { return 7 })).Metrics.Conciseness.Note)
}

// Side by side: by rubric the ceiling puts the lie last, holistically it comes first.
func TestHolisticBeside(t *testing.T) {
	in := Input{Responses: responses("lie", "plain", "unread"), Reviews: []Review{{Reviewer: "r",
		Evaluations: map[string]*Evaluation{"lie": eval("3 9 9 9 9"), "plain": eval("8 7 7 7 7")},
		Scores:      map[string]rubric.Decimal{"lie": *dec("9"), "plain": *dec("7")}}}}
	res := score(t, in)
	assert.Equal(t, ByRubric, res.Reviews[0].Status)
	assert.Equal(t, &Beside{Ranking: []HolisticRank{{"lie", 1, 9}, {"plain", 2, 7}}, SameFirst: false, Reviews: 1}, res.Holistic)
	in.Reviews[0].Scores = nil
	assert.Nil(t, score(t, in).Holistic)
}
