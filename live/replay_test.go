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

func TestCanceledRebuildGoesOn(t *testing.T) {
	e, s := stalling(t)
	log := logOf(e.store, e.name)
	release := e.Hold()
	world := newWorld(100)
	for i := range 40 {
		ep := world.episode(i, 3)
		record(t, e, ep)
	}
	release()
	settled(t, e)
	for range 3 {
		canceled(t, e, s)
	}
	j, err := e.Rebuild(false, false)
	require.NoError(t, err)
	require.Equal(t, JobDone, finished(t, e, j.ID).State)
	j, err = e.Rebuild(true, false)
	require.NoError(t, err)
	ended := finished(t, e, j.ID)
	require.NotNil(t, ended.Verify, ended.Error)
	assert.True(t, ended.Verify.Equal, "%v", ended.Verify.Differences)
	assert.Equal(t, log.Head().Seq, ended.Verify.Events)
}

// After a rebuild that was canceled builds start by themselves as before.
func TestBuildsAfterACanceledRebuild(t *testing.T) {
	e, s := stalling(t)
	fill(t, e, 9, 50)
	_, err := e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	canceled(t, e, s)
	asked := e.Head().Seq
	require.Less(t, e.current.Load().built, asked)
	for i := range 200 {
		record(t, e, episode(fmt.Sprint("later", i), "s0:tool_0", "s1:tool_1"))
	}
	settled(t, e)
	assert.Greater(t, e.current.Load().built, asked)
}

func finished(t *testing.T, e *Engine, id string) (last Job) {
	t.Helper()
	states, ok := e.WatchJob(ctx, id)
	require.True(t, ok)
	for last = range states {
	}
	return last
}
