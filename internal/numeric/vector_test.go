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
		a := [4]float64{number(r), number(r), number(r), number(r)}
		x0, x1, x2, x3, x32 := numbers(r, n), numbers(r, n), numbers(r, n), numbers(r, n), make([]float32, n)
		for i := range x32 {
			x32[i] = float32(x0[i])
		}
		both := func(y []float64, f func(y []float64)) {
			z := slices.Clone(y)
			f(y)
			plainly(func() { f(z) })
			require.Equal(t, z, y, n)
		}
		both(numbers(r, n), func(y []float64) { Axpy(a[0], x0, y) })
		both(numbers(r, n), func(y []float64) { Axpy4(&a, x0, x1, x2, x3, y) })
		both(numbers(r, n), func(y []float64) { Axpy32(a[1], x32, y) })
		index := make([]int32, n)
		for i := range index {
			index[i] = r.Int32N(9)
		}
		p := [Lanes]float64(numbers(r, Lanes))
		both(numbers(r, 9*Lanes), func(u []float64) { Spread(index, x0, &p, u) })
		both(numbers(r, 9*Lanes), func(u []float64) { p = Gather(index, x0, u); copy(u, p[:]) })
		if n%4 == 0 {
			x := slices.Concat(x0, x1, x2, x3)
			both(numbers(r, n*n), func(h []float64) {
				Syr4(&a, x, h, n)
				for k := range n {
					clear(h[k*n : k*n+k]) // undefined
				}
			})
		}
	}
}

// The sum of four outer products, in the order of the rows.
func TestSyr4(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 8
	x, h, a := numbers(r, 4*n), make([]float64, n*n), [4]float64{1, .5, -2, 3}
	Syr4(&a, x, h, n)
	for k := range n {
		for j := k; j < n; j++ {
			want := 0.0
			for i := range 4 {
				want += float64(float64(a[i]*x[i*n+k]) * x[i*n+j])
			}
			assert.Equal(t, want, h[k*n+j])
		}
	}
	assert.Panics(t, func() { Syr4(&a, x, h, 3) })
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

// Exps is Exp of each, at the edges too.
func TestExps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	edges := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 708, -708, 708.5, -708.5, 709.7, 709.79, -745.1, -745.2,
		1e-300, -1e-300, 5e-324, 1e300, -1e300, math.Ln2 / 2, -math.Ln2 / 2}
	for round := range 2000 {
		x := make([]float64, r.IntN(20))
		for i := range x {
			x[i] = 20 * number(r)
			if round%3 == 0 && r.IntN(4) == 0 {
				x[i] = edges[r.IntN(len(edges))]
			}
		}
		top := float64(round%2) * number(r)
		want := make([]float64, len(x))
		for i := range x {
			want[i] = Exp(x[i] - top)
		}
		Exps(x, top)
		for i := range x {
			require.Equal(t, math.Float64bits(want[i]), math.Float64bits(x[i]), "%v %v", want[i], x[i])
		}
	}
}

func BenchmarkExps(b *testing.B) {
	x := make([]float64, 64)
	for b.Loop() {
		for i := range x {
			x[i] = -float64(i) / 8
		}
		Exps(x, 1)
	}
}

func BenchmarkSyr4(b *testing.B) {
	const n = 60
	a, x, h := [4]float64{1, 2, 3, 4}, make([]float64, 4*n), make([]float64, n*n)
	for b.Loop() {
		Syr4(&a, x, h, n)
	}
}
