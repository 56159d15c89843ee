package choice

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainly runs f without the vector instructions.
func plainly(f func()) {
	defer func(was bool) { fast = was }(fast)
	fast = false
	f()
}

// The oracle is the plain form, bit by bit.
func TestKernelsHaveTheSameBits(t *testing.T) {
	if !fast {
		t.Skip("this processor has no AVX2: there is one form only")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var w table
	for i := range w {
		w[i] = random.NormFloat64()
	}
	for n := range 40 {
		rows := make([]row, n)
		for k := range rows {
			rows[k].index = random.Uint32N(tableSize)
			for l := range rows[k].value {
				rows[k].value[l] = float32(random.NormFloat64())
			}
		}
		d := [4]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		s, plain := d, d
		by, sum := w, w
		score(rows, &w, &s)
		gradient(rows, &d, &by)
		plainly(func() {
			score(rows, &w, &plain)
			gradient(rows, &d, &sum)
		})
		require.Equal(t, plain, s)
		require.Equal(t, sum, by)
	}
}

// A score is the sum over the features in rising order, whatever stands beside it: that decides the last bit.
func TestScoresAddUpInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const features, levels, classes = 70, 2, 3
	c := New(features, levels, classes)
	w := make([]float64, features*c.Parts())
	for i := range w {
		w[i] = random.NormFloat64()
	}
	for choice := range 50 {
		level := make([]uint8, features)
		for k := range level {
			level[k] = uint8(random.IntN(levels))
		}
		var want []float64
		for range 1 + random.IntN(15) {
			class, s := random.IntN(classes), 0.0
			var index []int32
			var value []float32
			for k := range features {
				if random.IntN(3) == 0 {
					x := float32(random.NormFloat64())
					index, value = append(index, int32(k)), append(value, x)
					own := w[k*6:]
					s += float64((own[0] + own[1+int(level[k])] + own[3+class]) * float64(x))
				}
			}
			c.Candidate(class, index, value)
			want = append(want, s)
		}
		c.Taken(0, 1, level)
		assert.Equal(t, want, c.Scores(choice, w))
	}
	assert.Panics(t, func() { New(1025, 0, 0) })
}
