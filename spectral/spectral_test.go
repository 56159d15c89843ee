package spectral_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"waymark/internal/numeric"
	"waymark/spectral"
)

func cluster(t testing.TB, H numeric.Matrix, o spectral.Options) spectral.Result {
	t.Helper()
	r, err := spectral.Cluster(H, o)
	require.NoError(t, err)
	return r
}

// A singular value σ of D₁^-½·H·D₂^-½ stands for the eigenvalues 1-σ and 1+σ of the unweighted bipartite graph's
// I - D^-½AD^-½, which are from a dense eigensolver. So the largest gap occurs twice: the first counts.
func TestSmallIncidences(t *testing.T) {
	const a, b, c, d, x = 0, 1, 2, 3, 4
	for _, row := range []struct {
		name         string
		tools        int
		capabilities [][]int32
		sigma        []float64
		rows, cols   []int32
	}{
		{"{a,b} {c,d}", 4, [][]int32{{a, b}, {c, d}}, []float64{1, 1}, []int32{0, 0, 1, 1}, []int32{0, 1}},
		// x is the cut vertex, as near to the one as to the other: it goes with the first.
		{"{a,b,x} {x,c,d}", 5, [][]int32{{a, b, x}, {x, c, d}}, []float64{1, .8165}, []int32{0, 0, 1, 1, 0}, []int32{0, 1}},
		{"three disjoint pairs", 6, [][]int32{{0, 1}, {2, 3}, {4, 5}}, []float64{1, 1, 1}, []int32{0, 0, 1, 1, 2, 2}, []int32{0, 1, 2}},
		// A connected star is one cluster; a k of at least 2 would split it arbitrarily.
		{"{a,b,c}", 3, [][]int32{{a, b, c}}, []float64{1}, []int32{0, 0, 0}, []int32{0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for seed := range uint64(20) {
				r := cluster(t, matrix(t, row.tools, row.capabilities...), spectral.Options{Tau: spectral.Plain, Seed: seed})
				assert.InDeltaSlice(t, row.sigma, r.SingularValues, 5e-5)
				assert.Equal(t, row.rows, r.Rows, "seed %d", seed)
				assert.Equal(t, row.cols, r.Cols, "seed %d", seed)
				k := int(slices.Max(row.rows)) + 1
				assert.Equal(t, k, r.K)
				assert.Equal(t, k, r.Vectors)
				assert.Less(t, r.Residual, 1e-6)
			}
		})
	}
}

// Isolated nodes once sat at the origin together and were a cluster, and random starts gave other
// clusters at every call.
func TestIsolatedNodesAreNoClusterAndRunsAreEqual(t *testing.T) {
	H := of(t, 8, 4, []numeric.Entry{
		{Row: 1, Col: 0, Weight: 1}, {Row: 2, Col: 0, Weight: 1}, {Row: 5, Col: 3, Weight: 1}, {Row: 6, Col: 3, Weight: 1}, {Row: 7, Col: 1, Weight: 0},
	})
	for range 10 {
		r := cluster(t, H, spectral.Options{})
		assert.Equal(t, []int32{-1, 0, 0, -1, -1, 1, 1, -1}, r.Rows)
		assert.Equal(t, []int32{0, -1, -1, 1}, r.Cols)
	}
	empty := cluster(t, matrix(t, 3, nil, nil), spectral.Options{})
	assert.Equal(t, spectral.Result{Rows: []int32{-1, -1, -1}, Cols: []int32{-1, -1}}, empty)
	assert.Zero(t, cluster(t, numeric.Matrix{}, spectral.Options{}).K)
}

// Two triangles, as incidences of nodes and edges: the eigenvalue 0 occurs twice, and any rotation
// of its two vectors is as good as another.
func TestIdenticalComponentsForManySeeds(t *testing.T) {
	H := matrix(t, 6, []int32{0, 1}, []int32{1, 2}, []int32{2, 0}, []int32{3, 4}, []int32{4, 5}, []int32{5, 3})
	for _, tau := range []float64{spectral.Plain, 0} {
		for seed := range uint64(100) {
			r := cluster(t, H, spectral.Options{Tau: tau, Seed: seed, K: 2})
			require.Equal(t, []int32{0, 0, 0, 1, 1, 1}, r.Rows, "tau %v, seed %d", tau, seed)
			require.Equal(t, []int32{0, 0, 0, 1, 1, 1}, r.Cols)
			require.Equal(t, r.Rows, cluster(t, H, spectral.Options{Tau: tau, Seed: seed}).Rows, "k by the eigengap")
		}
	}
}

// A component that no leading vector reaches has rows of zeros. All such components together are
// no cluster.
func TestComponentsBeyondTheVectorsAreClustersOfTheirOwn(t *testing.T) {
	H := matrix(t, 10, []int32{0, 1, 2}, []int32{0, 1, 2}, []int32{0, 1, 2, 3}, []int32{4, 5, 6}, []int32{4, 5, 6}, []int32{4, 5, 6, 7}, []int32{8}, []int32{9})
	r := cluster(t, H, spectral.Options{K: 2})
	assert.Equal(t, []int32{0, 0, 0, 0, 1, 1, 1, 1, 2, 3}, r.Rows)
	assert.Equal(t, []int32{0, 0, 0, 1, 1, 1, 2, 3}, r.Cols)
	assert.Equal(t, 2, r.Vectors)
	assert.Equal(t, 4, r.K)
}

func TestWeightsCount(t *testing.T) {
	// A ring of four tools and four capabilities; heavy entries tie {0, 1} and {2, 3}.
	ring := func(heavy float64) numeric.Matrix {
		return of(t, 4, 4, []numeric.Entry{
			{Row: 0, Col: 0, Weight: heavy}, {Row: 1, Col: 0, Weight: heavy}, {Row: 1, Col: 1, Weight: 1}, {Row: 2, Col: 1, Weight: 1},
			{Row: 2, Col: 2, Weight: heavy}, {Row: 3, Col: 2, Weight: heavy}, {Row: 3, Col: 3, Weight: 1}, {Row: 0, Col: 3, Weight: 1},
		})
	}
	for _, heavy := range []float64{20, 1e6} {
		r := cluster(t, ring(heavy), spectral.Options{K: 2})
		assert.Equal(t, []int32{0, 0, 1, 1}, r.Rows)
		assert.Equal(t, int32(0), r.Cols[0])
		assert.Equal(t, int32(1), r.Cols[2])
	}
	r := cluster(t, ring(1.0/20), spectral.Options{K: 2})
	assert.Equal(t, []int32{0, 1, 1, 0}, r.Rows, "the other way round when the others are heavy")
}

// K that is larger than the number of distinct points is no reason to fail.
func TestMoreClustersThanPoints(t *testing.T) {
	r := cluster(t, matrix(t, 3, []int32{0, 1, 2}), spectral.Options{K: 9})
	assert.Equal(t, 1, r.K, "one vector, one distinct point")
	r = cluster(t, matrix(t, 1, []int32{0}), spectral.Options{})
	assert.Equal(t, []int32{0}, r.Rows)
	assert.Equal(t, []int32{0}, r.Cols)
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []spectral.Options{{Tau: -2}, {Tau: math.NaN()}, {K: -1}} {
		_, err := spectral.Cluster(matrix(t, 1, []int32{0}), o)
		assert.Error(t, err, "%+v", o)
	}
}

// Without raised degrees the leading vectors point at the tails.
func TestPlantedClustersAmongHubsAndTails(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	for seed := range uint64(3) {
		H, rows, cols := planted(t, 1000, 500, 8, seed)
		r := cluster(t, H, spectral.Options{K: 8})
		assert.GreaterOrEqual(t, nmi(r.Rows, rows), .7, "seed %d", seed)
		assert.GreaterOrEqual(t, nmi(r.Cols, cols), .7, "seed %d", seed)
		assert.LessOrEqual(t, r.Residual, 1e-2)
		plain := cluster(t, H, spectral.Options{K: 8, Tau: spectral.Plain})
		assert.Less(t, nmi(plain.Rows, rows), nmi(r.Rows, rows)-.15, "seed %d", seed)
		assert.Less(t, plain.Quality, r.Quality, "bipartite modularity sees it too")
	}
}

// gonum's dense singular values are the oracle of the sparse ones.
func TestSingularValuesAgreeWithGonum(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		rows, cols := 1+r.IntN(12), 1+r.IntN(12)
		var entries []numeric.Entry
		for range 1 + r.IntN(40) {
			entries = append(entries, numeric.Entry{Row: int32(r.IntN(rows)), Col: int32(r.IntN(cols)), Weight: r.Float64()})
		}
		H := of(t, rows, cols, entries)
		dense := mat.NewDense(rows, cols, nil)
		rowSum, colSum := make([]float64, rows), make([]float64, cols)
		for _, e := range entries {
			dense.Set(int(e.Row), int(e.Col), dense.At(int(e.Row), int(e.Col))+e.Weight)
			rowSum[e.Row] += e.Weight
			colSum[e.Col] += e.Weight
		}
		dense.Apply(func(i, j int, x float64) float64 {
			if x == 0 {
				return 0
			}
			return x / math.Sqrt(rowSum[i]*colSum[j])
		}, dense)
		var svd mat.SVD
		require.True(t, svd.Factorize(dense, mat.SVDNone))
		var want []float64
		for _, s := range svd.Values(nil) {
			if s > 1e-6 {
				want = append(want, s)
			}
		}
		got := cluster(t, H, spectral.Options{Tau: spectral.Plain}).SingularValues
		require.InDeltaSlice(t, want, got, 1e-8)
	}
}

// Every result is in range, whatever the matrix.
func TestEveryResultIsInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(1, 15).Draw(t, "cols")
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) numeric.Entry {
			return numeric.Entry{
				Row: rapid.Int32Range(0, int32(rows)-1).Draw(t, "row"), Col: rapid.Int32Range(0, int32(cols)-1).Draw(t, "col"),
				Weight: rapid.SampledFrom([]float64{0, 5e-324, 1e-9, .5, 1, 1, 1, 7, 1e308}).Draw(t, "weight"),
			}
		}), 0, 60).Draw(t, "entries")
		o := spectral.Options{
			Tau: rapid.SampledFrom([]float64{spectral.Plain, 0, .1, 2}).Draw(t, "tau"),
			K:   rapid.IntRange(0, 5).Draw(t, "k"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		H := of(t, rows, cols, entries)
		r, err := spectral.Cluster(H, o)
		require.NoError(t, err)
		shuffled := of(t, rows, cols, rapid.Permutation(entries).Draw(t, "permuted"))
		again, err := spectral.Cluster(shuffled, o)
		require.NoError(t, err)
		require.Equal(t, r, again, "the order of entries changes nothing")

		next := int32(0)
		for _, c := range append(slices.Clone(r.Rows), r.Cols...) {
			require.True(t, -1 <= c && c <= next, "labels are numbered by first occurrence")
			if c == next {
				next++
			}
		}
		require.Equal(t, r.K, int(next))
		for i, s := range r.SingularValues {
			require.True(t, s > 0 && s < 1+1e-9, "σ is %v", s)
			require.True(t, i == 0 || s <= r.SingularValues[i-1]+1e-9)
		}
		require.True(t, r.Quality >= -1 && r.Quality <= 1 && r.Residual >= 0, "%+v", r)
		weight := make([]float64, rows)
		for _, e := range entries {
			weight[e.Row] = max(weight[e.Row], e.Weight)
		}
		for i, w := range weight {
			if w == 0 {
				require.Equal(t, int32(-1), r.Rows[i])
			}
		}
	})
}

// Other numbers for tools and capabilities, and isolated ones among them, give the same groups.
func TestRenamingAndIsolatedNodesChangeNoGroup(t *testing.T) {
	H := matrix(t, 12, []int32{0, 1, 2}, []int32{0, 1, 2, 3}, []int32{1, 2, 3}, []int32{4, 5, 6, 7}, []int32{4, 5, 7}, []int32{5, 6}, []int32{8, 9, 10, 11}, []int32{8, 10}, []int32{9, 11, 10}, []int32{3, 4}, []int32{7, 8})
	want := cluster(t, H, spectral.Options{})
	require.Equal(t, 3, want.K)
	r := rand.New(rand.NewPCG(3, 3))
	for range 30 {
		rowName, colName := r.Perm(20)[:12], r.Perm(15)[:11] // the other 8 and 4 are isolated
		var entries []numeric.Entry
		for i := range 12 {
			for e := H.Start[i]; e < H.Start[i+1]; e++ {
				entries = append(entries, numeric.Entry{Row: int32(rowName[i]), Col: int32(colName[H.Col[e]]), Weight: H.Weight[e]})
			}
		}
		renamed := of(t, 20, 15, entries)
		got := cluster(t, renamed, spectral.Options{})
		require.Equal(t, want.K, got.K)
		rows, cols := make([]int32, 12), make([]int32, 11)
		for i, name := range rowName {
			rows[i] = got.Rows[name]
		}
		for j, name := range colName {
			cols[j] = got.Cols[name]
		}
		require.InDelta(t, 1, nmi(append(rows, cols...), append(slices.Clone(want.Rows), want.Cols...)), 1e-9)
		require.InDelta(t, want.Quality, got.Quality, 1e-9)
		require.InDeltaSlice(t, want.SingularValues, got.SingularValues, 1e-6)
	}
}
