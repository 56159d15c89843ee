package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
)

var retentionNow = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// aged is an episode of so many hours before retentionNow.
func aged(id string, hours int, tools ...string) episodic.Episode {
	ep := episode(id, tools...)
	ep.Time = retentionNow.Add(-time.Duration(hours) * time.Hour)
	return ep
}

func keeping(t *testing.T, store *storage.Store) (*Workspaces, *Engine) {
	t.Helper()
	w := NewWorkspaces(store, Options{Measure: unlearned.Measure, Now: func() time.Time { return retentionNow }})
	t.Cleanup(func() { require.NoError(t, w.Close(ctx)) })
	e, err := w.Get(ctx, "default")
	require.NoError(t, err)
	return w, e
}

// performedAt adds an episode of two steps, the second of which ends hours before retentionNow.
func performedAt(t *testing.T, e *Engine, id string, hours int) {
	t.Helper()
	for n, tool := range []string{"p", "q"} {
		p := performed(id, n+1, tool)
		p.Time = retentionNow.Add(-time.Duration(hours)*time.Hour - time.Minute)
		p.Start = p.Time.Add(time.Duration(n) * time.Minute)
		perform(t, e, p)
	}
}

// Afterwards the model, its hash and all its answers are those of a log that never had the episodes.
func TestRetentionLeavesAModelWithoutTheEpisodes(t *testing.T) {
	store := memory(t)
	w, with := keeping(t, store)
	_, without := keeping(t, memory(t))
	for i := range 21 {
		record(t, with, aged(fmt.Sprint("old", i), 101+i, "a", "evil", "b"))
		for _, e := range []*Engine{with, without} {
			record(t, e, aged(fmt.Sprint("new", i), 2+i, "a", "b", "c"))
		}
	}
	performedAt(t, with, "old performed", 200)
	performedAt(t, with, "new performed", 50)
	performedAt(t, without, "new performed", 50)
	before := retentionNow.Add(-100 * time.Hour)
	n, err := w.Older(ctx, "default", before)
	require.NoError(t, err)
	assert.Equal(t, 22, n)
	done, err := with.Forget(ctx, Selection{Before: before})
	require.NoError(t, err)
	assert.Equal(t, 24, done.Erased, "the performed one has a begin and two steps")
	require.NoError(t, without.rebuildAndWait(ctx, true))
	assert.Equal(t, answersOf(t, without.Model()), answersOf(t, with.Model()))
	assert.ElementsMatch(t, exported(t, without), exported(t, with))
	verify(t, with)

	n, err = w.Older(ctx, "default", before)
	require.NoError(t, err)
	assert.Zero(t, n, "applied once, nothing is left to do")
}
