package numeric

import (
	"math"
	"math/rand/v2"
	"slices"
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

// number is of very different sizes.
func number(r *rand.Rand) float64 { return math.Ldexp(2*r.Float64()-1, r.IntN(40)-20) }

func numbers(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = number(r)
	}
	return x
}

// The oracle is the plain form, bit by bit.
func TestVectorsHaveTheSameBits(t *testing.T) {
	if !fast {
		t.Skip("this processor has no AVX2: there is one form only")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 71 {
		a, x0 := number(r), numbers(r, n)
		both := func(y []float64, f func(y []float64)) {
			z := slices.Clone(y)
			f(y)
			plainly(func() { f(z) })
			require.Equal(t, z, y, n)
		}
		both(numbers(r, n), func(y []float64) { Axpy(a, x0, y) })
		index := make([]int32, n)
		for i := range index {
			index[i] = r.Int32N(9)
		}
		p := [Lanes]float64(numbers(r, Lanes))
		both(numbers(r, 9*Lanes), func(u []float64) { Spread(index, x0, &p, u) })
		both(numbers(r, 9*Lanes), func(u []float64) { p = Gather(index, x0, u); copy(u, p[:]) })
	}
}

func TestSpreadAndGatherStayInside(t *testing.T) {
	p, u := [Lanes]float64{}, make([]float64, 2*Lanes)
	for _, index := range []int32{-1, 2, math.MaxInt32} {
		for _, plain := range []bool{false, true} {
			f := func() {
				assert.Panics(t, func() { Spread([]int32{0, index}, []float64{1, 1}, &p, u) })
				assert.Panics(t, func() { Gather([]int32{1, index}, []float64{1, 1}, u) })
			}
			if plain {
				plainly(f)
			} else {
				f()
			}
		}
	}
}
