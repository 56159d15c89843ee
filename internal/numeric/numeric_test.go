package numeric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The oracle is the standard library, which is within 1 ulp of the true value.
func TestLogarithmAndExponentialAgreeWithMath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		x := math.Exp(r.Float64()*1400 - 700)
		assert.InEpsilon(t, 1, 1+ulps(Ln(x), math.Log(x)), 4e-16)
		y := r.Float64()*1400 - 700
		assert.InEpsilon(t, math.Exp(y), Exp(y), 4.5e-16)
		z := r.Float64()*2000 - 1000
		assert.InEpsilon(t, math.Exp2(z), Exp2(z), 4.5e-16)
		if t.Failed() {
			return
		}
	}
}

func ulps(a, b float64) float64 {
	if b == 0 {
		return math.Abs(a)
	}
	return math.Abs(a-b) / math.Abs(b)
}

func TestExactValues(t *testing.T) {
	for k := -300; k <= 300; k++ {
		assert.Equal(t, float64(k), Log2(math.Ldexp(1, k)))
		assert.Equal(t, math.Ldexp(1, k), Exp2(float64(k)))
	}
	for k := -1074; k <= 1022; k++ {
		assert.Equal(t, math.Ldexp(1, k), Exp2(float64(k)))
		assert.Equal(t, math.Ldexp(Exp2(.375), k), Exp2(float64(k)+.375), "2^%d", k)
	}
	assert.Equal(t, 0.0, Ln(1))
	assert.Equal(t, 1.0, Exp(0))
	assert.Equal(t, math.Inf(-1), Ln(0))
	assert.True(t, math.IsNaN(Ln(-1)))
	assert.Equal(t, 0.0, Exp(math.Inf(-1)))
	assert.Equal(t, math.Inf(1), Exp2(2000))
	assert.Equal(t, 0.0, Exp2(-2000))
}

// The lane order is part of the contract: stored values depend on it.
func TestLanes(t *testing.T) {
	x := []float64{1e16, 1, -1e16, 1, 1, 1}
	assert.Equal(t, 2.0, Sum(x)) // (1e16 + 2) + (-1e16 + 1), each rounded to a multiple of 2
	one := []float64{1, 1, 1, 1, 1, 1}
	assert.Equal(t, Sum(x), Dot(x, one))
	assert.Equal(t, 32.0, Dot([]float64{1, 2, 3}, []float64{4, 5, 6}))
	assert.Equal(t, 32.0, Dot([]float32{1, 2, 3}, []float32{4, 5, 6}))
	assert.Equal(t, 5.0, Norm([]float64{3, 4}))
	y := []float64{1, 1}
	Axpy(2, []float64{3, 4}, y)
	assert.Equal(t, []float64{7, 9}, y)
}

// Textbook values of the 95 % Wilson interval (Wilson 1927; recomputed by hand: k=3, n=4 → .3006).
func TestWilsonLower(t *testing.T) {
	for _, row := range []struct{ k, n, want float64 }{
		{0, 0, 0}, {0, 10, 0}, {3, 4, .3006}, {5, 5, .5655}, {10, 10, .7225}, {50, 100, .4038},
	} {
		assert.InDelta(t, row.want, WilsonLower(row.k, row.n, Z95), 1e-4, "%v of %v", row.k, row.n)
	}
}
