package suggest

import (
	"context"
	"fmt"
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

// star is one community of more members than a question looks at, which ends with the important ones.
func star(t testing.TB) *world {
	w := newWorld(t)
	for i := range 2 * related {
		w.episode("", fmt.Sprintf("s:leaf%d", i), "s:hub")
	}
	return w
}
