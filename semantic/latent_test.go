package semantic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// random is a sparse matrix with about a fifth of its entries set, and the same one dense.
func random(rows, cols int, seed uint64) (*sparse, *mat.Dense) {
	r := rand.New(rand.NewPCG(seed, 1))
	a, d := &sparse{rows: rows, cols: cols, start: []int{0}}, mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			if r.IntN(5) == 0 {
				x := r.NormFloat64()
				a.col, a.val = append(a.col, int32(j)), append(a.val, x)
				d.Set(i, j, x)
			}
		}
		a.start = append(a.start, len(a.col))
	}
	return a, d
}

// Oracle: gonum's SVD. The rank covers the whole spectrum, so nothing is approximate.
func TestSingularValuesAgreeWithGonum(t *testing.T) {
	for _, shape := range [][2]int{{30, 20}, {20, 30}, {1, 9}, {9, 1}, {12, 12}} {
		a, d := random(shape[0], shape[1], 7)
		var exact mat.SVD
		require.True(t, exact.Factorize(d, mat.SVDThin))
		want := exact.Values(nil)
		sigma, v := svd(a, 64, 3, nil)
		require.LessOrEqual(t, len(sigma), len(want))
		for i, s := range want {
			if i < len(sigma) {
				assert.InDelta(t, s, sigma[i], 1e-6)
			} else {
				assert.InDelta(t, 0, s, 1e-4*want[0])
			}
		}
		// A·v_i has length σ_i, and the v_i are orthonormal.
		r := len(sigma)
		V := mat.NewDense(shape[1], r, v)
		var VV mat.Dense
		VV.Mul(V.T(), V)
		for i := range r {
			var y mat.VecDense
			y.MulVec(d, V.ColView(i))
			assert.InDelta(t, sigma[i], y.Norm(2), 1e-6)
			for j := range r {
				assert.InDelta(t, map[bool]float64{true: 1}[i == j], VV.At(i, j), 1e-6)
			}
		}
	}
}

// Oracle: gonum again. Rank 10 of 60 is approximate, and a random matrix, whose spectrum hardly
// falls, is the worst case; found values never exceed the true ones.
func TestTruncatedSingularValues(t *testing.T) {
	a, d := random(80, 60, 5)
	var exact mat.SVD
	require.True(t, exact.Factorize(d, mat.SVDNone))
	sigma, _ := svd(a, 10, 3, nil)
	require.Len(t, sigma, 10)
	for i, s := range exact.Values(nil)[:10] {
		assert.InEpsilon(t, s, sigma[i], .05)
		assert.LessOrEqual(t, sigma[i], s+1e-9)
	}
}

// Oracle: gonum's symmetric eigenvalues.
func TestEigenAgreesWithGonum(t *testing.T) {
	_, d := random(25, 25, 9)
	var s mat.SymDense
	s.SymOuterK(1, d)
	var exact mat.EigenSym
	require.True(t, exact.Factorize(&s, false))
	want := exact.Values(nil) // rising
	a := make([]float64, 25*25)
	for i := range 25 {
		for j := range 25 {
			a[i*25+j] = s.At(i, j)
		}
	}
	values, _ := eigen(a, 25)
	for i, x := range values {
		assert.InDelta(t, want[24-i], x, 1e-9)
	}
}

func TestSVDOfNothing(t *testing.T) {
	for _, a := range []*sparse{
		{start: []int{0}}, {rows: 3, start: []int{0, 0, 0, 0}}, {rows: 2, cols: 2, start: []int{0, 0, 0}},
	} {
		sigma, v := svd(a, 8, 0, nil)
		assert.Empty(t, sigma)
		assert.Empty(t, v)
	}
}

// cosine is that of two texts in the space, before noise is taken off.
func cosine(ix *Index, query string, doc int) float64 { return of(ix, query, int32(doc)).Latent }

// The textbook case: "car" and "automobile" never stand together, but beside the same words.
func TestLatentFindsWhatSharesNoWord(t *testing.T) {
	docs := []Document{
		{Text: "car engine wheel"}, {Text: "automobile engine wheel"}, {Text: "car engine brake"}, {Text: "automobile wheel brake"},
		{Text: "flower garden rose"}, {Text: "tulip garden flower"}, {Text: "rose flower tulip"}, {Text: "automobile"},
	}
	ix := Build(docs, Options{Rank: 2})
	assert.Greater(t, cosine(ix, "car", 7), .8)
	assert.Less(t, cosine(ix, "car", 4), .2)
	hit := of(ix, "car", 7)
	assert.Zero(t, hit.Lexical)
	wL := ix.latentWeight
	assert.InDelta(t, wL*hit.Latent, hit.Score, 1e-12)
	assert.Less(t, wL, .4, "two dimensions do not hold everything")
	assert.InDelta(t, .4, Build(docs, Options{}).latentWeight, 1e-6, "all dimensions do")
}
