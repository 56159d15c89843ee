package spectral_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/internal/numeric"
	"waymark/spectral"
)

// fewCapabilities plants groups of size capabilities each. A capability uses 3 of the 5 tools of its group, so
// that any two of a group share a tool; stray is the share of uses that are of a tool of any group instead.
func fewCapabilities(t testing.TB, groups, size int, stray float64, seed uint64) (H numeric.Matrix, rows, cols []int32) {
	r := rand.New(rand.NewPCG(seed, 3))
	const tools = 5
	var entries []numeric.Entry
	rows, cols = slices.Repeat([]int32{-1}, groups*tools), make([]int32, groups*size)
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
	return of(t, len(rows), len(cols), entries), rows, cols
}

// The gap behind the last singular value of a small matrix is often the largest; it made every capability a
// cluster of its own. With some uses across the groups they are found about as well; by the largest gap alone the
// means were .90 for 4 and .94 for 8 groups.
func TestFewCapabilitiesGiveTheirGroups(t *testing.T) {
	for _, row := range []struct {
		groups, size int
		stray, nmi   float64
	}{{4, 4, 0, 1}, {8, 4, 0, 1}, {12, 4, 0, 1}, {4, 3, 0, 1}, {8, 3, 0, 1}, {4, 4, .05, .93}, {8, 4, .05, .93}} {
		const seeds = 20
		sum := 0.0
		for seed := range uint64(seeds) {
			H, rows, cols := fewCapabilities(t, row.groups, row.size, row.stray, seed)
			r := cluster(t, H, spectral.Options{})
			sum += nmi(append(r.Rows, r.Cols...), append(rows, cols...))
		}
		assert.GreaterOrEqual(t, sum/seeds, row.nmi-1e-9, "%+v", row)
	}
}
