package live

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
	"waymark/suggest/history"
)

// stall keeps measures from ending, while it is on, until they are canceled.
type stall struct {
	on    atomic.Bool
	began chan struct{}
}

func stalling(t *testing.T) (*Engine, *stall) {
	s := &stall{began: make(chan struct{})}
	return workspace(t, memory(t), Options{Measure: unlearned.Measure, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if s.on.Load() {
			s.began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return suggest.Measure(ctx, c, o)
	}}), s
}

// canceled begins a rebuild and cancels it when it has replayed the log and measures.
func canceled(t *testing.T, e *Engine, s *stall) {
	t.Helper()
	s.on.Store(true)
	defer s.on.Store(false)
	j, err := e.Rebuild(false, false)
	require.NoError(t, err)
	<-s.began
	require.True(t, e.CancelJob(j.ID))
	require.Equal(t, JobCanceled, finished(t, e, j.ID).State)
}

// A rebuild that was canceled, however often, is none: the next one is done, and builds start by themselves as before.
func TestCanceledRebuilds(t *testing.T) {
	e, s := stalling(t)
	fill(t, e, 9, 30)
	_, err := e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	for range 3 {
		canceled(t, e, s)
	}
	asked := e.Head().Seq
	require.Less(t, e.current.Load().built, asked)
	for i := range 200 {
		record(t, e, episode(fmt.Sprint("later", i), "s0:tool_0", "s1:tool_1"))
	}
	settled(t, e)
	assert.Greater(t, e.current.Load().built, asked)
	require.Equal(t, JobDone, finish(t, e, false).State)
	assert.Equal(t, e.Head().Seq, verify(t, e).Events)
}

func finished(t testing.TB, e *Engine, id string) (last Job) {
	t.Helper()
	for last = range e.WatchJob(ctx, id) {
	}
	require.Equal(t, id, last.ID)
	return last
}
