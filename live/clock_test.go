package live

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

// The clock jumps by ten years, back by an hour, and to the beginning of time, while episodes come in and models are
// built: scores stay finite and in range, the order of events is that of the log, and a replay gives the same model.
func TestClockSteps(t *testing.T) {
	var offset atomic.Int64
	e := workspace(t, memory(t), Options{Measure: unlearned.Measure, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
	for i, step := range []time.Duration{0, 10 * 365 * 24 * time.Hour, -time.Hour, -40 * 365 * 24 * time.Hour, 0} {
		offset.Store(int64(step))
		for j := range 5 {
			record(t, e, episode(fmt.Sprint(i, "-", j), "a", "b", "c"))
		}
		_, err := e.Build(ctx)
		require.NoError(t, err)
		settled(t, e)
		answer, err := e.Model().Next(suggest.NextRequest{Context: []string{"a"}})
		require.NoError(t, err)
		require.NotEmpty(t, answer.Suggestions)
		for _, s := range answer.Suggestions {
			require.False(t, math.IsNaN(s.Score) || math.IsInf(s.Score, 0) || s.Score < 0 || s.Score > 1, "step %v: score %v", step, s.Score)
		}
		verify(t, e)
	}
}
