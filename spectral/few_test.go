package spectral_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/numeric"
	"waymark/spectral"
)

// fewCapabilities plants groups of size capabilities each. A capability uses 3 of the 5 tools of its group, so
// that any two of a group share a tool; stray is the share of uses that are of a tool of any group instead.
func fewCapabilities(t testing.TB, groups, size int, stray float64, seed uint64) (H numeric.Matrix, rows, cols []int32) {
	r := rand.New(rand.NewPCG(seed, 3))
	const tools = 5
	var entries []numeric.Entry
	rows, cols = unlabelled(groups*tools), make([]int32, groups*size)
	for c := range cols {
		cols[c] = int32(c / size)
		for _, tool := range r.Perm(tools)[:3] {
			row := c/size*tools + tool
			if r.Float64() < stray {
				row = r.IntN(len(rows))
			}
			rows[row] = int32(row / tools)
			entries = append(entries, numeric.Entry{Row: int32(row), Col: int32(c), Weight: 1})
		}
	}
	H, err := numeric.NewMatrix(len(rows), len(cols), entries)
	require.NoError(t, err)
	return H, rows, cols
}

func unlabelled(n int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = -1
	}
	return labels
}

// The gap behind the last singular value of a small matrix is often the largest; it made every capability a
// cluster of its own.
func TestFewCapabilitiesGiveTheirGroups(t *testing.T) {
	for _, row := range []struct{ groups, size int }{{4, 4}, {8, 4}, {12, 4}, {4, 3}, {8, 3}} {
		for seed := range uint64(20) {
			H, rows, cols := fewCapabilities(t, row.groups, row.size, 0, seed)
			r := cluster(t, H, spectral.Options{Seed: seed})
			require.Equal(t, row.groups, r.K, "%d groups of %d, seed %d", row.groups, row.size, seed)
			require.Equal(t, rows, r.Rows, "%d groups of %d, seed %d", row.groups, row.size, seed)
			require.Equal(t, cols, r.Cols)
		}
	}
}

// With some uses across the groups they are found about as well. By the largest gap alone the means were
// .90 for 4 and .94 for 8 groups.
func TestFewCapabilitiesWithStrayUses(t *testing.T) {
	for _, groups := range []int{4, 8} {
		const seeds = 20
		sum := 0.0
		for seed := range uint64(seeds) {
			H, rows, cols := fewCapabilities(t, groups, 4, .05, seed)
			r := cluster(t, H, spectral.Options{})
			sum += nmi(append(r.Rows, r.Cols...), append(rows, cols...))
		}
		t.Logf("%d groups: NMI %.3f", groups, sum/seeds)
		assert.Greater(t, sum/seeds, .93, "%d groups", groups)
	}
}
