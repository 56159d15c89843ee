package council

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/rubric"
)

// flat is an evaluation with the same number everywhere.
func flat(x float64) *Evaluation {
	return eval(strings.Repeat(fmt.Sprintf("%g ", x), 5))
}

func deref(x []*float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.NaN()
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// Source: origins, "Their blog example means 6, 7.25, 8", computed again. The original measures from the
// median in sample deviations; a z-score is measured from the mean, here in population deviations (its
// textbook numbers -1.07, .17, .91 are in sample deviations, which are larger by √(3/2)).
func TestZScores(t *testing.T) {
	x := []*big.Rat{big.NewRat(6, 1), big.NewRat(29, 4), big.NewRat(8, 1)}
	assert.InDeltaSlice(t, []float64{-1.3132, .2020, 1.1112}, zScores(x), 5e-5)
	for i, sample := range []float64{-1.07, .17, .91} {
		assert.InDelta(t, sample*math.Sqrt(1.5), zScores(x)[i], .007)
	}
	assert.InDeltaSlice(t, []float64{-1.2372, 0, .7423}, deref(distances([]float64{6, 7.25, 8})), 5e-5)

	assert.Equal(t, []float64{0, 0}, zScores([]*big.Rat{big.NewRat(7, 1), big.NewRat(7, 1)}))
	assert.Equal(t, []float64{0, 0}, zScores([]*big.Rat{big.NewRat(70000, 10000), big.NewRat(70019, 10000)}), "a deviation of .00095 is none")
	assert.InDeltaSlice(t, []float64{-1, 1}, zScores([]*big.Rat{big.NewRat(70000, 10000), big.NewRat(70022, 10000)}), 1e-12)
}

// A harsh reviewer who scores a and b, and a generous one who scores c alone beside b: by means c leads
// because of who reviewed it, by z-scores it does not.
func TestNormaliseByZ(t *testing.T) {
	in := Input{Responses: responses("a", "b", "c"), Reviews: []Review{
		{Reviewer: "harsh", Evaluations: map[string]*Evaluation{"a": flat(6), "b": flat(2)}},
		{Reviewer: "kind", Evaluations: map[string]*Evaluation{"b": flat(10), "c": flat(8)}},
	}}
	in.Reviews[0].Evaluations["a"].Accuracy = dec("8") // 6.7, no ceiling
	order, by := ranking(score(t, in))
	assert.Equal(t, []string{"c", "a", "b"}, order)
	assert.Nil(t, by["a"].Z)

	in.Options.Normalise = Z
	order, by = ranking(score(t, in))
	assert.Equal(t, []string{"a", "b", "c"}, order)
	assert.Equal(t, []float64{1, 0, -1}, []float64{*by["a"].Z, *by["b"].Z, *by["c"].Z})
	assert.Equal(t, 8., *by["c"].Score, "the score stays the mean of the capped")
}

// Reviewer two scores as reviewer one does, seven tenths of it and two points more: in exact numbers the
// z-scores are the same, in floating point the last digits differ. No digit of noise decides a rank.
func TestNoiseInZDecidesNothing(t *testing.T) {
	clear := func(s string) *Evaluation { return eval("10 - - - " + s) }
	res := score(t, Input{Responses: responses("a", "b", "c", "d", "e", "f"),
		Options: Options{Normalise: Z, Weights: map[string]rubric.Decimal{"accuracy": 0, "clarity": *dec("1")}},
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

// Worked out by hand: of the 6 orders of (1, 2, 4) against (1, 2, 3) only the same and the opposite are as
// far from 0 as Σxy = 3 less the means' part.
func TestCorrelationByPermutation(t *testing.T) {
	r := newRandom(1)
	rho, p, ok := correlation([]float64{1, 2, 3}, []float64{1, 2, 4}, r)
	assert.True(t, ok)
	assert.InDelta(t, 3/math.Sqrt(2*14./3), rho, 1e-12)
	assert.InDelta(t, 2./6, p, 1e-12, "three answers cannot be significant; the original said p = 0 where |r| = 1")
	_, p, _ = correlation([]float64{1, 2, 3, 4}, []float64{2, 4, 6, 8}, r)
	assert.InDelta(t, 2./24, p, 1e-12)
	rho, p, _ = correlation([]float64{1, 2, 3, 4, 5}, []float64{5, 4, 3, 2, 1}, r)
	assert.Equal(t, -1., rho)
	assert.InDelta(t, 2./120, p, 1e-12)

	// Drawn arrangements agree with all of them.
	x, y := []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{3, 1, 2, 6, 4, 5, 9, 7}
	_, exact, _ := correlation(x, y, r)
	count := 0
	for range samples {
		moved := append([]float64(nil), y...)
		r.shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
		seen, other := 0., 0.
		for i := range x {
			seen += (x[i] - 4.5) * y[i]
			other += (x[i] - 4.5) * moved[i]
		}
		if math.Abs(other) >= math.Abs(seen)-1e-9 {
			count++
		}
	}
	assert.InDelta(t, exact, float64(count)/samples, .01)
	nine, p9, _ := correlation(append(x, 9), append(y, 8), r)
	assert.Greater(t, nine, .8)
	assert.Less(t, p9, .02)
	_, p9, _ = correlation(append(x, 9), append(x, 9), r)
	assert.GreaterOrEqual(t, p9, 1e-4, "what was seen is one of the arrangements, so none is impossible")
	assert.Less(t, p9, 1e-3)

	for _, constant := range [][2][]float64{{{1, 1, 1}, {1, 2, 3}}, {{1, 2, 3}, {5, 5, 5}}, {{1, 2}, {1, 2}}} {
		_, _, ok := correlation(constant[0], constant[1], r)
		assert.False(t, ok)
	}
}

func TestSigns(t *testing.T) {
	r := newRandom(1)
	assert.InDelta(t, 2./64, signs([]float64{1, 2, 3, 4, 5, 6}, r), 1e-12)
	assert.InDelta(t, 1, signs([]float64{1, -1}, r), 1e-12)
	assert.InDelta(t, .5, signs([]float64{3, 1}, r), 1e-12)
	many := make([]float64, 40)
	for i := range many {
		many[i] = 1
	}
	assert.Equal(t, 1e-4, signs(many, r))
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

func TestLengthBias(t *testing.T) {
	for n := 1; n < 5; n++ {
		a := score(t, lengthy(n, func(i int) float64 { return float64(3 + i) })).BiasAudit
		assert.Equal(t, Association{N: n, Note: "fewer than five answers with text and score: no order of them would be rare"}, a.Length)
		assert.Equal(t, riskUnknown, a.Risk)
	}
	a := score(t, lengthy(5, func(i int) float64 { return float64(3 + i) })).BiasAudit
	assert.True(t, a.Length.Flagged)
	assert.Equal(t, 1., *a.Length.R)
	assert.InDelta(t, 2./120, *a.Length.P, 1e-12)
	assert.Equal(t, []string{"length"}, a.Flags)
	assert.Equal(t, riskMedium, a.Risk)

	a = score(t, lengthy(6, func(i int) float64 { return []float64{5, 8, 4, 9, 6, 7}[i] })).BiasAudit
	assert.False(t, a.Length.Flagged)
	assert.Equal(t, riskLow, a.Risk)
	assert.Equal(t, "lengths or scores do not vary", score(t, lengthy(6, func(int) float64 { return 7 })).BiasAudit.Length.Note)
}

// Three reviewers see five answers in orders of their own, and score what they see first higher.
func primacy(reviewers int, effect float64) Input {
	ids := []string{"a", "b", "c", "d", "e"}
	in := Input{Responses: responses(ids...)}
	for r := range reviewers {
		rv := Review{Reviewer: fmt.Sprintf("r%d", r), Evaluations: map[string]*Evaluation{}}
		for pos := range ids {
			id := ids[(pos+2*r)%5]
			rv.Order = append(rv.Order, id)
			rv.Evaluations[id] = flat(7 - effect*float64(pos))
		}
		in.Reviews = append(in.Reviews, rv)
	}
	return in
}

func TestPositionBias(t *testing.T) {
	a := score(t, primacy(4, .5)).BiasAudit
	assert.True(t, a.Position.Flagged)
	assert.Less(t, *a.Position.R, -.9, "what is shown first is favoured: negative. The original stored the rank for the place shown and said +.993")
	assert.Equal(t, []string{"position"}, a.Flags)
	require.Len(t, a.Position.ByPosition, 5)
	assert.Greater(t, a.Position.ByPosition[0].Difference, a.Position.ByPosition[4].Difference)

	a = score(t, primacy(4, -.5)).BiasAudit
	assert.Greater(t, *a.Position.R, .9)

	// The same order for all: a good first answer and a liked first place look alike.
	in := primacy(3, .5)
	for i := range in.Reviews {
		in.Reviews[i].Order = in.Reviews[0].Order
	}
	a = score(t, in).BiasAudit
	assert.Nil(t, a.Position.R)
	assert.Contains(t, a.Position.Note, "cannot be distinguished")
	in.Reviews[0].Order, in.Reviews[1].Order, in.Reviews[2].Order = nil, nil, nil
	assert.Contains(t, score(t, in).BiasAudit.Position.Note, "no review says")

	// The declared ranking is no place: it changes nothing here.
	in = primacy(4, .5)
	for i := range in.Reviews {
		in.Reviews[i].Ranking = []string{"e", "d", "c", "b", "a"}
	}
	assert.Equal(t, score(t, primacy(4, .5)).BiasAudit, score(t, in).BiasAudit)
}

// One of three reviewers is two points below the others, on n answers.
func harsh(n int) Input {
	in := Input{}
	reviews := []Review{{Reviewer: "harsh"}, {Reviewer: "one"}, {Reviewer: "two"}}
	for i := range n {
		id := string(rune('a' + i))
		in.Responses = append(in.Responses, Response{ID: id})
		for r := range reviews {
			x := 7 + .25*float64(i%4) + .25*float64((i+r)%3)
			if r == 0 {
				x -= 2
			}
			if reviews[r].Evaluations == nil {
				reviews[r].Evaluations = map[string]*Evaluation{}
			}
			e := flat(x)
			e.Accuracy = dec("8")
			reviews[r].Evaluations[id] = e
		}
	}
	in.Reviews = reviews
	return in
}

func TestReviewerBias(t *testing.T) {
	few := score(t, harsh(5)).BiasAudit
	for _, r := range few.Reviewers {
		assert.Nil(t, r.P)
		assert.Empty(t, r.Flag)
		assert.Contains(t, r.Note, "fewer than six")
	}
	enough := score(t, harsh(10)).BiasAudit
	assert.Equal(t, "harsh", enough.Reviewers[0].Flag)
	assert.Less(t, *enough.Reviewers[0].Effect, -1.)
	assert.InDelta(t, 3*2./1024, *enough.Reviewers[0].P, 1e-12, "all ten below, for each of three reviewers")
	assert.Contains(t, enough.Flags, "reviewer:harsh")

	// Of two reviewers nobody can say which one is off.
	two := harsh(12)
	two.Reviews = two.Reviews[:2]
	for _, r := range score(t, two).BiasAudit.Reviewers {
		assert.Empty(t, r.Flag)
		assert.Nil(t, r.P)
		assert.Nil(t, r.Distance)
	}
}

// Origins: means 5, 8, 8.1 made the original flag the 5, whatever number of answers stood behind it; two
// reviewers, or three evenly spaced, could never be flagged. The distance is still told, and flags nobody.
func TestDistanceAloneFlagsNobody(t *testing.T) {
	in := Input{Responses: responses("a"), Reviews: []Review{}}
	for i, x := range []float64{5, 8, 8.1} {
		in.Reviews = append(in.Reviews, Review{Reviewer: fmt.Sprint(i), Evaluations: map[string]*Evaluation{"a": flat(x)}})
	}
	a := score(t, in).BiasAudit
	assert.InDelta(t, -1.7030, *a.Reviewers[0].Distance, 5e-5) // (5 − 8) / 1.7616
	assert.Empty(t, a.Reviewers[0].Flag)
	assert.Equal(t, []float64{-1, 0, 1}, deref(distances([]float64{5, 6, 7})))
}

func TestRisk(t *testing.T) {
	in := primacy(4, .5)
	for i := range in.Responses {
		in.Responses[i].Text = strings.Repeat("word ", i+1)
	}
	a := score(t, in).BiasAudit
	assert.Equal(t, riskMedium, a.Risk)
	in = harsh(12) // every reviewer differs from the others, so three flags
	for i := range in.Reviews[1].Evaluations {
		*in.Reviews[1].Evaluations[i].Clarity += rubric.Hundredths(50)
	}
	a = score(t, in).BiasAudit
	assert.Equal(t, []string{"reviewer:harsh", "reviewer:one", "reviewer:two"}, a.Flags)
	assert.Equal(t, riskHigh, a.Risk)
}
