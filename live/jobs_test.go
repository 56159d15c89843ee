package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time left is estimated once a fair part of a job is done, and no more where progress has stood still for longer
// than the estimate.
func TestTimeLeftIsOnlyEstimatedWhereThereIsAPace(t *testing.T) {
	now := time.Unix(1000, 0)
	e := &Engine{opts: Options{Now: func() time.Time { return now }}}
	j := e.begin(Job{Kind: "build"}, nil)
	after := func(spent time.Duration, done float64) int64 {
		t.Helper()
		now = now.Add(spent)
		if done > 0 {
			e.progress(j, "pagerank", done)
		}
		seen, ok := e.Job(j.ID)
		require.True(t, ok)
		require.Equal(t, seen, e.Jobs()[0])
		return seen.ETAMillis
	}
	require.Zero(t, after(time.Second, .2), "too early")
	require.EqualValues(t, 2000, after(time.Second, .5))
	require.EqualValues(t, 2000, after(time.Second, 0))
	require.Zero(t, after(2*time.Second, 0), "it stands still for longer")
	require.InDelta(t, 1250, after(0, .8), 1, "it moves again")
}
