package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// episodes of one value each.
func sampleOf(values ...float64) Sample {
	s := newSample(len(values))
	for i, v := range values {
		s.Sum[i], s.Count[i] = v, 1
	}
	return s
}

func TestBootstrap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := make([]float64, 400)
	for i := range values {
		if r.Float64() < 0.3 {
			values[i] = 1
		}
	}
	s := sampleOf(values...)
	constant := sampleOf(make([]float64, 400)...)
	ci, _ := bootstrap(1, s)
	// The interval of a share p of n is about p ± 1.96·√(p(1-p)/n).
	half := 1.96 * math.Sqrt(s.Mean()*(1-s.Mean())/400)
	assert.InDelta(t, s.Mean()-half, ci[0], 0.01)
	assert.InDelta(t, s.Mean()+half, ci[1], 0.01)
	none, leads := bootstrap(1, constant, s)
	assert.Equal(t, Interval{}, none, "what never varies has no width")
	assert.Equal(t, []Difference{{-s.Mean(), Interval{-ci[1], -ci[0]}}}, leads, "the same seed draws the same")
	other, _ := bootstrap(2, s)
	assert.NotEqual(t, ci, other)
}

// Two methods that move together differ surely, although their own intervals overlap widely.
func TestPairedBootstrapSeesSmallDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := newSample(200), newSample(200)
	for i := range a.Sum {
		easy := r.Float64()
		a.Sum[i], b.Sum[i] = easy+0.05+0.02*r.Float64(), easy
		a.Count[i], b.Count[i] = 1, 1
	}
	own, leads := bootstrap(1, a, b, a)
	d := leads[0]
	assert.InDelta(t, 0.06, d.Mean, 0.002)
	assert.Greater(t, d.Interval[0], 0.05)
	assert.Less(t, d.Interval[1], 0.07)
	others, _ := bootstrap(1, b)
	assert.Less(t, own[0], others[1], "alone they could be equal")
	assert.Equal(t, Difference{}, leads[1])
}

func TestDrawsWithoutAnyValueAreLeftOut(t *testing.T) {
	s := newSample(3)
	s.Sum[1], s.Count[1] = 1, 2 // one task of three has values: many draws miss it
	ci, _ := bootstrap(1, s)
	assert.Equal(t, Interval{0.5, 0.5}, ci)
	ci, _ = bootstrap(1, newSample(3))
	assert.Equal(t, Interval{}, ci)
}

// Worked by hand; log2(3) = 1.58496, log2(4) = 2.
func TestRankingMetrics(t *testing.T) {
	ranked := []string{"a", "b", "c", "d"}
	for _, tt := range []struct {
		name                string
		ranked, gold        []string
		k                   int
		recall, ndcg, avgPr float64
	}{
		{"first", ranked, []string{"a"}, 10, 1, 1, 1},
		{"second", ranked, []string{"b"}, 10, 1, 1 / math.Log2(3), 0.5},
		{"first and third", ranked, []string{"c", "a"}, 10, 1, 1.5 / (1 + 1/math.Log2(3)), (1 + 2.0/3) / 2},
		{"one of two missing", ranked, []string{"a", "x"}, 10, 0.5, 1 / (1 + 1/math.Log2(3)), 0.5},
		{"cut before it", ranked, []string{"d"}, 3, 0, 0, 0},
		{"more gold than the cut", ranked, []string{"a", "b", "c", "d"}, 2, 0.5, 1, 1},
		{"nothing ranked", nil, []string{"a"}, 10, 0, 0, 0},
		{"no gold", ranked, nil, 10, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.InDelta(t, tt.recall, recall(tt.ranked, tt.gold, tt.k), 1e-12, "recall")
			assert.InDelta(t, tt.ndcg, NDCG(tt.ranked, tt.gold, tt.k), 1e-12, "ndcg")
			assert.InDelta(t, tt.avgPr, averagePrecision(tt.ranked, tt.gold, tt.k), 1e-12, "average precision")
		})
	}
	assert.Equal(t, []float64{0, 1, 0.25}, []float64{reciprocal(0), reciprocal(1), reciprocal(4)})
	assert.Equal(t, []float64{0, 0, 1, 1}, []float64{hit(0, 5), hit(4, 3), hit(3, 3), hit(1, 1)})
}

func TestF1(t *testing.T) {
	type list = []string
	for _, tt := range []struct {
		predicted, gold list
		want            float64
	}{
		{list{"a", "b"}, list{"b", "a"}, 1},
		{list{"a"}, list{"a", "b"}, 2.0 / 3},
		{list{"a", "a"}, list{"a"}, 2.0 / 3},       // repeating costs precision
		{list{"a"}, list{"a", "a"}, 2.0 / 3},       // and recall
		{list{"a", "a"}, list{"a", "a"}, 0.5},      // what is shared counts once, as in the official evaluate.py
		{list{"a", "b", "c"}, list{"b", "d"}, 0.4}, // P 1/3, R 1/2
		{nil, list{"a"}, 0},
		{list{"a"}, nil, 0},
		{nil, nil, 0},
	} {
		assert.InDelta(t, tt.want, F1(tt.predicted, tt.gold), 1e-12, "%v %v", tt.predicted, tt.gold)
	}
}
