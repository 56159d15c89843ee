package live

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// performed is the nth step of an episode of a session.
func performed(episode string, n int, tool string) Performed {
	began := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	return Performed{
		Place: episodic.Place{
			Episode: episode, Session: "session of " + episode, Intent: "do " + episode, Time: began,
			Number: n, Group: fmt.Sprint(n), Start: began.Add(time.Duration(n) * time.Second),
		},
		Step: episodic.Step{ID: fmt.Sprint("c", n), Tool: tool, Outcome: episodic.Success, DurationMS: 100},
	}
}

func perform(t testing.TB, e *Engine, p Performed) uint64 {
	t.Helper()
	seq, err := e.Perform(ctx, "gateway", p)
	require.NoError(t, err)
	return seq
}

// exported is the graph by ids.
func exported(t testing.TB, e *Engine) []suggest.ExportEdge {
	t.Helper()
	require.NoError(t, e.Wait(ctx, e.Counted()))
	x, err := e.Model().Export("", 0)
	require.NoError(t, err)
	return x.Edges
}

// Many sessions at once: each ends as the chain it was, restarts and snapshots in between change nothing.
func TestPerformedSideBySide(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Engine, func()) {
		store, err := storage.Open(dir, storage.Options{})
		require.NoError(t, err)
		w := NewWorkspaces(store, unlearned)
		e, err := w.Get(ctx, "default")
		require.NoError(t, err)
		return e, func() {
			require.NoError(t, w.Close(ctx))
			require.NoError(t, store.Close())
		}
	}
	const sessions, steps = 20, 12
	e, end := open()
	for part := range 3 {
		var group sync.WaitGroup
		for s := range sessions {
			group.Go(func() {
				for n := part*steps/3 + 1; n <= (part+1)*steps/3; n++ {
					if _, err := e.Perform(ctx, "gateway", performed(fmt.Sprint("e", s), n, fmt.Sprint("t:", (s+n)%9))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if part == 1 {
			_, err := e.Build(ctx)
			require.NoError(t, err)
		}
		end()
		e, end = open()
	}
	defer func() { end() }()
	place, ids, last, ok := e.Growing(ctx, "gateway", "session of e3")
	require.True(t, ok)
	assert.Equal(t, episodic.Place{Episode: "e3", Session: "session of e3", Intent: "do e3", Time: place.Time, Number: steps, Group: fmt.Sprint(steps)}, place)
	assert.Len(t, ids, steps)
	assert.Equal(t, place.Time.Add(steps*time.Second+100*time.Millisecond), last)

	whole := workspace(t, memory(t), unlearned)
	for it, err := range e.Items(ctx) {
		require.NoError(t, err)
		require.Len(t, it.Episode.Steps, steps)
		for i, s := range it.Episode.Steps {
			require.Equal(t, fmt.Sprint("c", i+1), s.ID)
		}
		record(t, whole, *it.Episode)
	}
	assert.ElementsMatch(t, exported(t, whole), exported(t, e))
	verify(t, e)
}
