package suggest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Phases run side by side; what is told of them never goes back, and a measure that is told to stop, at whatever point,
// ends with the reason. Learning in the build changes no answer.
func TestMeasureProgressAndCancel(t *testing.T) {
	w := planted(t, 40)
	counts, lazy := w.Freeze(), w.measured()
	assert.False(t, lazy.Learned())
	last, calls := -1.0, map[string]int{}
	m, err := Measure(t.Context(), counts, MeasureOptions{Learn: true, Progress: func(phase string, done float64) {
		assert.GreaterOrEqual(t, done, last, phase)
		last = done
		calls[phase]++
	}})
	require.NoError(t, err)
	assert.InDelta(t, 1, last, 1e-9)
	assert.True(t, m.Learned())
	ask := NextRequest{Context: []string{"x:a", "x:b"}, Profile: ProfileLearned}
	assert.Equal(t, next(t, modelOf(t, w.State, lazy), ask), next(t, modelOf(t, w.State, m), ask))

	for _, phase := range []string{"pagerank", "communities", "spectral", "text", "recall", "learn", "publish"} {
		require.Positive(t, calls[phase], phase)
		for _, at := range []int{1, min(3, calls[phase])} {
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			_, err := Measure(ctx, counts, MeasureOptions{Learn: true, Progress: func(now string, _ float64) {
				if now == phase {
					if seen++; seen == at {
						cancel()
					}
				}
			}})
			cancel()
			assert.ErrorIs(t, err, context.Canceled, phase)
		}
	}
}
