package live

import (
	"errors"
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

func nothingFirst(*Due) error { return nil }

func keeping(t *testing.T, store *storage.Store) (*Workspaces, *Engine) {
	t.Helper()
	w := NewWorkspaces(store, Options{Now: func() time.Time { return retentionNow }})
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
	before := exported(t, with) // not the head of the log, which a build in the background moves

	_, _, err := w.Retain(ctx, "default", 100*time.Hour, func(*Due) error { return errors.New("no") })
	require.Error(t, err)
	assert.Equal(t, before, exported(t, with), "nothing is forgotten where the first part fails")
	d, done, err := w.Retain(ctx, "default", 100*time.Hour, nothingFirst)
	require.NoError(t, err)
	assert.Equal(t, 22, d.Episodes)
	assert.Equal(t, retentionNow.Add(-101*time.Hour), d.to)
	assert.Equal(t, 24, done.Erased, "the performed one has a begin and two steps")
	err = without.rebuilt(ctx, requested, true)
	require.NoError(t, err)
	assert.Equal(t, answersOf(t, without.Model()), answersOf(t, with.Model()))
	assert.ElementsMatch(t, exported(t, without), exported(t, with))
	verify(t, with)

	d, done, err = w.Retain(ctx, "default", 100*time.Hour, nothingFirst)
	require.NoError(t, err)
	assert.Zero(t, d.Episodes, "applied once, nothing is left to do")
	assert.Zero(t, done)
}

// Each request to forget names whole episodes, however many events they have.
func TestRetentionForgetsWholeEpisodes(t *testing.T) {
	var episodes []*loggedEpisode
	seq := uint64(0)
	for i, n := range []int{forgetBatch - 1, 2, 3 * forgetBatch, 5, forgetBatch - 5} {
		ep := &loggedEpisode{last: retentionNow.Add(-time.Duration(100+i) * time.Hour)}
		for range n {
			seq++
			ep.events = append(ep.events, loggedEvent{seq: seq})
		}
		episodes = append(episodes, ep)
	}
	d := due(episodes, time.Hour, retentionNow)
	var sizes []int
	for _, b := range d.batches {
		sizes = append(sizes, len(b))
	}
	assert.Equal(t, []int{forgetBatch - 1, 2, 3 * forgetBatch, forgetBatch}, sizes)
}
