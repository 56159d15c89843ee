package labels

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A sparse matrix that has room for every weight answers as a dense one.
func TestSparseWeights(t *testing.T) {
	const features, labels = 40, 7
	random := rand.New(rand.NewPCG(3, 4))
	dense := &weights{labels: labels, dense: make([]float32, features*labels)}
	sparse := &weights{labels: labels, column: make([][]entry, labels)}
	for l := range labels {
		column := make([]float32, features)
		for f := range column {
			if random.IntN(3) > 0 {
				column[f] = float32(random.NormFloat64())
			}
		}
		dense.set(l, column)
		sparse.set(l, column)
	}
	dense.finish(features)
	sparse.finish(features)

	for f := range int32(features) {
		want, got := make([]float64, labels), make([]float64, labels)
		dense.add(want, f, .7)
		sparse.add(got, f, .7)
		assert.Equal(t, want, got)
	}
}

// What does not fit is what has the smallest magnitude, whatever its sign; classes are kept or left out as a whole.
func TestLargestWeightsAreKept(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, 500)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	for _, n := range []int{0, 1, 10, 100, 499, 500, 600} {
		least := leastOf(x, n)
		kept := 0
		sorted := slices.SortedFunc(slices.Values(x), func(a, b float32) int {
			return cmp.Compare(math.Abs(float64(b)), math.Abs(float64(a)))
		})
		for _, v := range sorted {
			if math.Float32bits(v)&^(1<<31)>>magnitudeShift >= least {
				kept++
			}
		}
		assert.LessOrEqual(t, kept, n)
		assert.GreaterOrEqual(t, kept, min(n, len(x))*8/10, "classes are 6 %% apart")
		for _, v := range sorted[:kept] {
			assert.GreaterOrEqual(t, math.Float32bits(v)&^(1<<31)>>magnitudeShift, least)
		}
	}
}
