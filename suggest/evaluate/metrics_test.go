package evaluate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
			assert.InDelta(t, tt.recall, Recall(tt.ranked, tt.gold, tt.k), 1e-12, "recall")
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
