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

// A step counts within a second; what is counted after the last is what the whole episode counts.
func TestPerformedStepsCount(t *testing.T) {
	store := memory(t)
	e := workspace(t, store, Options{})
	perform(t, e, performed("e", 1, "git:status"))
	seq := perform(t, e, performed("e", 2, "git:diff"))
	assert.Contains(t, after(t, e, seq, "git:status"), "git:diff")
	perform(t, e, performed("e", 3, "git:commit"))
	p := performed("e", 0, "")
	p.Step, p.Outcome = episodic.Step{}, episodic.Success
	seq = perform(t, e, p)
	require.NoError(t, e.Wait(ctx, seq))

	var all []Item
	for it, err := range e.Items(ctx) {
		require.NoError(t, err)
		all = append(all, it)
	}
	require.Len(t, all, 1)
	ep := *all[0].Episode
	assert.Equal(t, "do e", ep.Intent)
	assert.Equal(t, episodic.Success, ep.Outcome)
	require.Len(t, ep.Steps, 3)
	assert.Equal(t, "gateway", ep.Source)

	other := workspace(t, memory(t), Options{})
	_, err := other.Record(ctx, "gateway", []episodic.Episode{ep})
	require.NoError(t, err)
	assert.Equal(t, exported(t, other), exported(t, e))

	again := record(t, e, ep) // what was exported is known
	assert.Equal(t, 1, again.Duplicates, again.Rejected)
	ep.Steps = ep.Steps[:2]
	assert.Len(t, record(t, e, ep).Rejected, 1)
	verify(t, e)
}

// exported is the graph by ids.
func exported(t testing.TB, e *Engine) []suggest.ExportEdge {
	t.Helper()
	require.NoError(t, e.Wait(ctx, e.Counted()))
	x, err := e.Model().Export("", 0)
	require.NoError(t, err)
	return x.Edges
}

func TestPerformedTwiceCountsOnce(t *testing.T) {
	store := memory(t)
	e := workspace(t, store, Options{})
	perform(t, e, performed("e", 1, "a"))
	seq := perform(t, e, performed("e", 2, "b"))
	counted := e.Counted()
	assert.Equal(t, seq, perform(t, e, performed("e", 2, "b")))
	assert.Equal(t, counted, e.Counted())
	_, err := e.Perform(ctx, "gateway", performed("e", 2, "c"))
	require.ErrorIs(t, err, ErrOtherStep)
	var wrong *suggest.RequestError
	for name, change := range map[string]func(*Performed){
		"depends on nothing there": func(p *Performed) { p.Step.DependsOn = []string{"c9"} },
		"no id":                    func(p *Performed) { p.Step.ID = "" },
		"no outcome":               func(p *Performed) { p.Step.Outcome = "perhaps" },
		"no episode":               func(p *Performed) { p.Episode = "" },
		"from the future":          func(p *Performed) { p.Time = time.Now().Add(48 * time.Hour) },
	} {
		p := performed("e", 3, "c")
		change(&p)
		_, err := e.Perform(ctx, "gateway", p)
		require.ErrorAs(t, err, &wrong, name)
	}
	assert.Equal(t, counted, e.Counted())
}

// Many sessions at once: each ends as the chain it was, restarts and snapshots in between change nothing.
func TestPerformedSideBySide(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Engine, func()) {
		store, err := storage.Open(dir, storage.Options{})
		require.NoError(t, err)
		w := NewWorkspaces(store, Options{})
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

	whole := workspace(t, memory(t), Options{})
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

func TestForgetPerformed(t *testing.T) {
	for name, sel := range map[string]Selection{
		"source": {Source: "gateway"}, "episode": {Episode: "e"}, "before": {Before: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			e := workspace(t, memory(t), Options{})
			record(t, e, episode("kept", "x", "y"))
			perform(t, e, performed("e", 1, "a"))
			perform(t, e, performed("e", 2, "b"))
			r, err := e.Forget(ctx, sel)
			require.NoError(t, err)
			assert.Equal(t, 3, r.Erased, "the beginning and two steps")
			assert.Len(t, exported(t, e), 1)
			verify(t, e)
			perform(t, e, performed("e", 2, "b"))
			assert.Len(t, exported(t, e), 1, "what was forgotten is not taken again")
			verify(t, e)
		})
	}
}

func TestIntentsOfPerformedStepsCanBeKeptOut(t *testing.T) {
	e := workspace(t, memory(t), Options{DropIntents: true})
	perform(t, e, performed("e", 1, "a"))
	for it, err := range e.Items(ctx) {
		require.NoError(t, err)
		assert.Empty(t, it.Episode.Intent)
	}
}

func TestDigestKey(t *testing.T) {
	store := memory(t)
	e := workspace(t, store, Options{})
	key, err := e.DigestKey(ctx)
	require.NoError(t, err)
	again, err := e.DigestKey(ctx)
	require.NoError(t, err)
	assert.Equal(t, key, again)
	assert.NotZero(t, key)
}

// The gate and the choice of profile see episodes that grew as they see whole ones.
func TestEpisodesThatGrewAreJudged(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	record(t, e, episode("whole", "a", "b"))
	perform(t, e, performed("e", 1, "a"))
	perform(t, e, performed("e", 2, "b"))
	trial, err := e.trial(ctx, 0, 0, e.Head().Seq)
	require.NoError(t, err)
	require.Len(t, trial.Episodes, 2)
	assert.Len(t, trial.Episodes[1].Steps, 2)
}

func BenchmarkPerform(b *testing.B) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("sessions=%d", workers), func(b *testing.B) {
			store, err := storage.Open(b.TempDir(), storage.Options{})
			require.NoError(b, err)
			w := NewWorkspaces(store, Options{})
			e, err := w.Get(ctx, "default")
			require.NoError(b, err)
			defer e.Hold()()
			var group sync.WaitGroup
			b.ResetTimer()
			for s := range workers {
				group.Go(func() {
					for i := s; i < b.N; i += workers {
						n := i / workers
						p := performed(fmt.Sprintf("e%d-%d", s, n/20), n%20+1, fmt.Sprint("t:", i%97))
						if _, err := e.Perform(ctx, "gateway", p); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			require.NoError(b, w.Close(ctx))
			require.NoError(b, store.Close())
		})
	}
}
