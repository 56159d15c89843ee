package spectral

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"waymark/internal/numeric"
)

// gonum's dense solver is the oracle of the eigenvalues; the vectors are tested by what they are.
func TestTridiagonalAgreesWithGonum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for n := 1; n <= 40; n += 3 {
		d, e, dense := make([]float64, n), make([]float64, n-1), mat.NewSymDense(n, nil)
		for i := range n {
			d[i] = r.Float64() - 0.5
			dense.SetSym(i, i, d[i])
			if i > 0 && r.IntN(3) > 0 {
				e[i-1] = r.Float64() - 0.5
				dense.SetSym(i, i-1, e[i-1])
			}
		}
		values, vectors := tridiagonal(d, e, 0)
		var eigen mat.EigenSym
		require.True(t, eigen.Factorize(dense, false))
		want := eigen.Values(nil)
		for j, lambda := range values {
			require.InDelta(t, want[n-1-j], lambda, 1e-13*float64(n))
			for k, other := range vectors[:j+1] {
				dot := 0.0
				if k == j {
					dot = 1
				}
				require.InDelta(t, dot, numeric.Dot(vectors[j], other), 1e-12)
			}
			for i := range n {
				row := mat.Row(nil, i, dense)
				require.InDelta(t, lambda*vectors[j][i], numeric.Dot(row, vectors[j]), 1e-12)
			}
		}
	}
}

// sparseRandom is a matrix with a few numbers in each row, none without one, and gonum's singular
// values of it.
func sparseRandom(t *testing.T, rows, cols int, seed uint64) (part, []float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	start, col, val := []int32{0}, []int32{}, []float64{}
	dense := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			if r.IntN(12) == 0 || j == i%cols {
				x := 0.1 * r.Float64()
				col, val = append(col, int32(j)), append(val, x)
				dense.Set(i, j, x)
			}
		}
		start = append(start, int32(len(col)))
	}
	var svd mat.SVD
	require.True(t, svd.Factorize(dense, mat.SVDNone))
	m := numeric.Matrix{Rows: rows, Cols: cols, Start: start, Col: col, Weight: val}
	return part{vertices: make([]int32, rows+cols), byRow: m, byCol: m.Transposed()}, svd.Values(nil)
}

func TestLanczosAgreesWithGonum(t *testing.T) {
	for seed := range uint64(4) {
		rows, cols := 150, 90
		if seed%2 == 1 {
			rows, cols = cols, rows
		}
		a, want := sparseRandom(t, rows, cols, seed)
		l := newLanczos(a, rand.New(rand.NewPCG(seed, 1)))
		l.run(6, 2000, 1e-9, nil)
		for j, found := range l.values(6) {
			require.InDelta(t, want[j], found.sigma, 1e-9, "seed %d, value %d", seed, j)
			require.LessOrEqual(t, found.residual, 1e-9)
		}
		y := make([]float64, rows)
		for j, both := range l.vectors(6) {
			u, v := both[:rows], both[rows:]
			require.InDelta(t, 1, numeric.Norm(u), 1e-9)
			require.InDelta(t, 1, numeric.Norm(v), 1e-9)
			times(&a.byRow, v, y)
			numeric.Axpy(-want[j], u, y)
			require.Less(t, numeric.Norm(y), 1e-8, "A·v = σ·u")
		}
	}
}
