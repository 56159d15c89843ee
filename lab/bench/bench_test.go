package bench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Labels do not matter; by hand, {2, 2} against {3, 1}: I = ln 2 - ¾·ln 3 + ½·ln 2,
// H = ln 2 and 2·ln 2 - ¾·ln 3.
func TestNMI(t *testing.T) {
	information, h := 1.5*math.Ln2-.75*math.Log(3), math.Ln2+2*math.Ln2-.75*math.Log(3)
	for _, tt := range []struct {
		a, b []int32
		want float64
	}{
		{[]int32{0, 0, 1, 1}, []int32{5, 5, 2, 2}, 1},
		{[]int32{0, 0, 1, 1}, []int32{0, 1, 0, 1}, 0},
		{[]int32{0, 0, 1, 1}, []int32{0, 0, 0, 1}, 2 * information / h},
		{[]int32{0, 0, 1, 1, -1, 3}, []int32{5, 5, 2, 2, 2, -1}, 1},
		{[]int32{4, 4}, []int32{1, 1}, 1},
		{[]int32{4, 4}, []int32{1, 2}, 0},
	} {
		assert.InDelta(t, tt.want, NMI(tt.a, tt.b), 1e-12, "%v %v", tt.a, tt.b)
	}
}

func TestLatencies(t *testing.T) {
	var r Result
	var asked []int
	r.Latencies(3, 2, func(i int) { asked = append(asked, i) })
	assert.Equal(t, []int{0, 1, 0, 1, 0, 1, 0, 1}, asked, "a warm-up and three rounds")
	assert.Equal(t, 2, r.Queries)
	assert.LessOrEqual(t, r.P50, r.P99)
	assert.Greater(t, r.Mean, 0.)
	runs := 0
	r.Time(3, func() { runs++ })
	assert.Equal(t, 4, runs)
	assert.LessOrEqual(t, r.Least, r.Median)
	assert.Greater(t, r.Least, 0.)
}

func TestPercentile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 1, .1: 1, .11: 2, .5: 5, .99: 10, 1: 10} {
		assert.Equal(t, want, Percentile(ten, q), "q %v", q)
	}
}
