package live

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// A replay that goes on from where one was canceled gives the same model as one in a go, wherever that
// was; not if something it had counted was forgotten meanwhile.
func TestReplayGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	store := memory(t)
	log := logOf(store, "default")
	newWorld(100).write(t, log, 2500, 3)
	built := log.Head().Seq
	measure := func(ctx context.Context, c *history.Counts, b build, _ uint64) (*suggest.Measures, error) {
		return suggest.Measure(ctx, c, b.Options)
	}
	hash := func(h *foldedLog) string {
		m, err := suggest.NewModel(h.state.Freeze(), h.measures, suggest.Stamp{Version: h.version()})
		require.NoError(t, err)
		return m.Info().Version + m.Hash()
	}
	folding := func(at float64) *foldedLog {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		h, _, err := replay(ctx, log.Read, nil, 0, built, measure, func(done float64) {
			if done > at {
				cancel()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		return h
	}
	measuring := func() *foldedLog {
		h, _, err := replay(ctx, log.Read, nil, 0, built, func(context.Context, *history.Counts, build, uint64) (*suggest.Measures, error) {
			return nil, context.Canceled
		}, nil)
		require.ErrorIs(t, err, context.Canceled)
		return h
	}
	halves := []*foldedLog{folding(0), folding(.5), measuring()}
	forgets := folding(.7)
	for _, h := range append(halves, forgets) {
		assert.NotZero(t, h.head.Seq)
		assert.LessOrEqual(t, h.head.Seq, built)
	}

	more := newWorld(300).episode(9999, 4) // a rebuild that is asked for later has a build event of its own
	require.NoError(t, more.Normalise())
	var records []storage.Record
	for kind, v := range map[byte]any{kindEpisode: &more} {
		payload, err := encode(kind, v)
		require.NoError(t, err)
		records = append(records, storage.Record{Payload: payload})
	}
	payload, err := encode(kindBuild, build{Parent: "other"})
	require.NoError(t, err)
	_, err = log.Append(ctx, append(records, storage.Record{Payload: payload}))
	require.NoError(t, err)
	fresh, _, err := replay(ctx, log.Read, nil, 0, lastBuild, measure, nil)
	require.NoError(t, err)
	for i, from := range halves {
		h, _, err := replay(ctx, log.Read, from, 0, lastBuild, measure, nil)
		require.NoError(t, err)
		assert.Same(t, from, h, "%d goes on", i)
		assert.Equal(t, hash(fresh), hash(h), "%d", i)
	}

	gone := forgets.head.Seq - 10
	payload, err = encode(kindForgotten, forgotten{Seqs: []uint64{gone}})
	require.NoError(t, err)
	b, err := encode(kindBuild, build{Parent: "third"})
	require.NoError(t, err)
	_, err = log.Append(ctx, []storage.Record{{Payload: payload}, {Payload: b}})
	require.NoError(t, err)
	require.NoError(t, log.Erase(ctx, []uint64{gone}))
	fresh, _, err = replay(ctx, log.Read, nil, 0, lastBuild, measure, nil)
	require.NoError(t, err)
	h, _, err := replay(ctx, log.Read, forgets, 0, math.MaxUint64, measure, nil)
	require.NoError(t, err)
	assert.NotSame(t, forgets, h)
	assert.Equal(t, hash(fresh), hash(h))
}

// stall keeps measures from ending, while it is on, until they are canceled.
type stall struct {
	on    atomic.Bool
	began chan struct{}
}

func stalling(t *testing.T) (*Engine, *stall) {
	s := &stall{began: make(chan struct{})}
	return workspace(t, memory(t), Options{measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
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
