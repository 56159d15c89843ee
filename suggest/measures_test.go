package suggest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Phases run side by side; what is told of them never goes back, and a measure that is told to stop
// ends with the reason.
func TestMeasureProgressAndCancel(t *testing.T) {
	counts := big(t, 120, 200).Freeze()
	last, phases := -1.0, map[string]bool{}
	m, err := Measure(context.Background(), counts, MeasureOptions{Progress: func(phase string, done float64) {
		assert.GreaterOrEqual(t, done, last, phase)
		last, phases[phase] = done, true
	}})
	require.NoError(t, err)
	assert.InDelta(t, 1, last, 1e-12)
	for _, phase := range []string{"pagerank", "communities", "spectral", "text", "recall", "publish"} {
		assert.True(t, phases[phase], phase)
	}
	assert.NotNil(t, m.texts.texts())
	for phase := range phases {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Measure(ctx, counts, MeasureOptions{Progress: func(now string, _ float64) {
			if now == phase {
				cancel()
			}
		}})
		cancel()
		assert.ErrorIs(t, err, context.Canceled, phase)
	}
}

// A group is named by its first member, so its name depends neither on how many groups there are nor
// on builds before.
func TestGroupsAreNamedByTheirFirstMember(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	for name, w := range map[string]*world{"small groups": big(t, 300, 2000), "one larger than a question looks at": star(t)} {
		t.Run(name, func(t *testing.T) { testNames(t, w.model()) })
	}
}

// star is one community of more members than a question looks at, which ends with the important ones.
func star(t testing.TB) *world {
	w := newWorld(t)
	for i := range 2 * related {
		w.episode("", fmt.Sprintf("s:leaf%d", i), "s:hub")
	}
	return w
}

func testNames(t *testing.T, m *Model) {
	e, err := m.Export("", 0)
	require.NoError(t, err)
	for _, name := range []func(ExportNode) int32{
		func(n ExportNode) int32 { return n.Community }, func(n ExportNode) int32 { return n.Cluster },
	} {
		first := map[int32]int32{}
		for _, n := range e.Nodes {
			node := int32(slices.Index(m.IDs, n.ID))
			if c := name(n); c >= 0 {
				if f, ok := first[c]; !ok || node < f {
					first[c] = node
				}
			}
		}
		for c, f := range first {
			assert.Equal(t, c, f)
		}
	}
}
