package labels

import (
	"math/rand/v2"
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
