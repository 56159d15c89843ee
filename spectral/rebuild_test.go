package spectral_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/numeric"
	"waymark/spectral"
)

func TestAStoppedRunSaysSo(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	H, rows, _ := planted(t, 3000, 1500, 8, 1)
	whole := cluster(t, H, spectral.Options{K: 8})
	assert.LessOrEqual(t, whole.Residual, .01)
	for name, o := range map[string]spectral.Options{
		"stop": {K: 8, Stop: after(16)},
		"none": {K: 8, Stop: after(0)},
	} {
		r := cluster(t, H, o)
		assert.Greater(t, r.Residual, .01, name)
		for i, c := range r.Rows {
			require.Equal(t, H.Start[i] == H.Start[i+1], c < 0, "every row with an entry has its label")
		}
		assert.LessOrEqual(t, nmi(r.Rows, rows), nmi(whole.Rows, rows)+.05, name)
	}
}

func after(n int) func() bool {
	return func() bool { n--; return n < 0 }
}

// A connected noisy graph has its largest gap after the first value. Ties that every cluster has
// with all others make it so: then the modularity of the next gaps decides, and the evidence says
// how.
func TestTheGapOfAConnectedGraphIsNotTheLastWord(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	for _, k := range []int{3, 5, 8} {
		H, rows := noisy(t, 400, 400, k)
		r := cluster(t, H, spectral.Options{})
		require.Equal(t, slices.Max(r.Gaps), r.Gaps[0])
		assert.Equal(t, k, r.Vectors)
		assert.Greater(t, nmi(r.Rows, rows), .8)
	}
	// One complete block has nothing to divide: a gap after the first value, and no modularity.
	r := cluster(t, matrix(t, 4, []int32{0, 1, 2, 3}, []int32{0, 1, 2}, []int32{1, 2, 3}, []int32{0, 1, 3}), spectral.Options{})
	assert.Equal(t, 1, r.K)
}

// Random ties have a modularity by chance, .3 to .5 in so sparse a graph, but no values above those
// of other random ties.
func TestRandomTiesAreOneCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 4))
		var entries []numeric.Entry
		for c := range 200 {
			for range 6 {
				entries = append(entries, numeric.Entry{Row: int32(r.IntN(400)), Col: int32(c), Weight: 1})
			}
		}
		H := of(t, 400, 200, entries)
		assert.Equal(t, 1, cluster(t, H, spectral.Options{}).Vectors)
	}
}

// noisy draws capabilities of six tools, four and a half of them from one of k clusters.
func noisy(t testing.TB, tools, caps, k int) (numeric.Matrix, []int32) {
	r := rand.New(rand.NewPCG(uint64(k), 4))
	rows := make([]int32, tools)
	for i := range rows {
		rows[i] = int32(i * k / tools)
	}
	var entries []numeric.Entry
	for c := range caps {
		for range 6 {
			tool := r.IntN(tools)
			for inside := r.IntN(4) > 0; inside && int(rows[tool]) != c%k; {
				tool = r.IntN(tools)
			}
			entries = append(entries, numeric.Entry{Row: int32(tool), Col: int32(c), Weight: 1})
		}
	}
	H := of(t, tools, caps, entries)
	for i := range rows {
		if H.Start[i] == H.Start[i+1] {
			rows[i] = -1
		}
	}
	return H, rows
}

// Large enough that both processors share products, orthogonalisation and k-means, and that
// sorted rows take part.
func TestLargeResultsAreTheSameBytesOnAnyNumberOfThreads(t *testing.T) {
	H, rows, _ := planted(t, 8000, 4000, 8, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	o := spectral.Options{K: 8}
	want := cluster(t, H, o)
	assert.Greater(t, nmi(want.Rows, rows), .7)
	for _, threads := range []int{2, 4} {
		runtime.GOMAXPROCS(threads)
		require.Equal(t, want, cluster(t, H, o))
	}
}
