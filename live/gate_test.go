package live

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// told is when all of it happened: the order of tasks counts, their age does not.
var told = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// twoWays records tasks in which what follows b depends on what came before it: what only the learned
// profile sees. Reversed, the other thing follows.
func twoWays(t testing.TB, e *Engine, from, tasks int, reversed bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, uint64(from)))
	var all []episodic.Episode
	for i := range tasks {
		first := r.IntN(2)
		last := first
		if reversed {
			last = 1 - first
		}
		ep := episode(fmt.Sprint("way", from+i), []string{"a", "d"}[first], "b", []string{"c", "e"}[last])
		ep.Intent, ep.Time = "", told
		all = append(all, ep)
	}
	record(t, e, all...)
}

func afterAB(t testing.TB, e *Engine) suggest.NextAnswer {
	t.Helper()
	a, err := e.Model().Next(suggest.NextRequest{Context: []string{"a", "b"}})
	require.NoError(t, err)
	a.Model.BuiltAt = time.Time{} // a snapshot that is written anew has another
	return a
}

// forced waits for a rebuild that is published whatever it loses.
func forced(t *testing.T, e *Engine) Job {
	t.Helper()
	j, err := e.Rebuild(false, true)
	require.NoError(t, err)
	return finished(t, e, j.ID)
}

// A rebuild that loses is refused: the event says so, with numbers, and a replay and a restart keep the
// model that was in force. Force publishes it.
func TestRebuildThatLosesIsRefused(t *testing.T) {
	store := memory(t)
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	assert.Nil(t, e.Judgement())
	twoWays(t, e, 0, 200, false)
	settled(t, e) // there is a build to compare with
	j := finish(t, e, false)
	require.Equal(t, JobDone, j.State, j.Error)
	require.NotNil(t, j.Gate)
	assert.False(t, j.Gate.Loses())
	assert.Equal(t, &Judgement{Published: true, Event: j.At, At: e.Model().Info().BuiltAt, Gate: j.Gate}, e.Judgement())

	assert.Equal(t, suggest.ProfileLearned, afterAB(t, e).Model.Profile)
	version, hash := e.Model().Info().Version, e.Model().Hash()
	require.NoError(t, ws.Close(ctx))

	without := Options{Measure: suggest.MeasureOptions{WithoutLearned: true}}
	ws = NewWorkspaces(store, without)
	e, err = ws.Get(ctx, "default")
	require.NoError(t, err)
	assert.Equal(t, j.Gate, e.Judgement().Gate, "a restart knows what was judged")
	j = finish(t, e, false)
	require.Equal(t, JobRefused, j.State, j.Error)
	assert.Contains(t, j.Error, "worse")
	assert.True(t, j.Gate.Next.Loses())
	assert.InDelta(t, 1, j.Gate.Next.Published, 1e-9)
	assert.Less(t, j.Gate.Next.New, .95)
	assert.Equal(t, &Judgement{Event: j.At, Gate: j.Gate}, e.Judgement())
	assert.Contains(t, e.Judgement().String(), "REFUSED")
	assert.Equal(t, e.Head().Seq, j.At, "the refusal is in the log")
	assert.Equal(t, version, e.Model().Info().Version)
	assert.Equal(t, hash, e.Model().Hash())
	assert.Equal(t, suggest.ProfileLearned, afterAB(t, e).Model.Profile)
	verify(t, e)
	refusal := e.Judgement()
	require.NoError(t, logOf(e.store, e.name).DropSnapshots(ctx))
	require.NoError(t, ws.Close(ctx))

	ws = NewWorkspaces(store, without)
	e, err = ws.Get(ctx, "default")
	require.NoError(t, err)
	assert.Equal(t, version, e.Model().Info().Version, "a replay repeats the refusal")
	assert.Equal(t, hash, e.Model().Hash())
	assert.Equal(t, refusal, e.Judgement())
	settled(t, e)
	assert.Equal(t, version, e.Model().Info().Version, "nor is it built by itself")

	j = forced(t, e)
	require.Equal(t, JobDone, j.State, j.Error)
	assert.True(t, j.Forced)
	assert.True(t, j.Gate.Loses(), "the numbers are taken all the same")
	assert.NotEqual(t, version, e.Model().Info().Version)
	assert.Equal(t, suggest.ProfileSeed, afterAB(t, e).Model.Profile)
	assert.Contains(t, e.Judgement().String(), "by force")
	verify(t, e)
	forcedAt := e.Judgement()
	require.NoError(t, ws.Close(ctx))
	e = workspace(t, store, without)
	assert.Equal(t, forcedAt, e.Judgement())
	assert.Equal(t, JobDone, finish(t, e, false).State, "it loses nothing against itself")
}

// While a refusal stands, no build starts by itself; to forget comes first all the same.
func TestNothingIsBuiltWhileARefusalStands(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	twoWays(t, e, 0, 100, false)
	first := finish(t, e, false)
	require.Equal(t, JobDone, first.State, first.Error)
	release := e.Hold() // as an import does
	twoWays(t, e, 100, 150, true)
	twoWays(t, e, 250, 20, false)
	require.Equal(t, JobRefused, finish(t, e, false).State)
	release()
	_, err := e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	require.False(t, e.Judgement().Published, "%v", e.Judgement())
	assert.Equal(t, first.At, e.current.Load().built)
	assert.Equal(t, 270, e.Model().Stats().Episodes, "what is counted is counted")

	one := episode("one", "f", "g") // a new tool: a build would be due
	one.Time = told
	record(t, e, one)
	settled(t, e)
	assert.Equal(t, first.At, e.current.Load().built)
	verify(t, e)

	r, err := e.Forget(ctx, Selection{Episode: "way0"})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Erased)
	assert.Greater(t, e.current.Load().built, first.At)
	judged := e.Judgement() // of a build before the refusal, if one was evaluated: a forced rebuild is not
	assert.True(t, judged == nil || judged.Published, "%v", judged)
	verify(t, e)
}

// A forced rebuild that finds another one under way is not taken for done when that one is refused.
func TestRebuiltByForceWaitsForItsOwn(t *testing.T) {
	store := memory(t)
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	twoWays(t, e, 0, 200, false)
	require.Equal(t, JobDone, finish(t, e, false).State)
	require.NoError(t, ws.Close(ctx))
	e = workspace(t, store, Options{Measure: suggest.MeasureOptions{WithoutLearned: true}})
	_, err = e.Rebuild(false, false)
	require.NoError(t, err)
	require.NoError(t, e.rebuildAndWait(ctx, true))
	j := e.Jobs()[0]
	assert.Equal(t, JobDone, j.State)
	assert.True(t, j.Forced)
}

// A rebuild that most of all consists of what one new key recorded is refused and names it. Who forgets that source gets
// a model without it: it is not the refused one, and was not published against its numbers. Force publishes it, and what it
// recorded before counts as known afterwards.
func TestRebuildOfOneNewSourceIsRefused(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	tasks := func(source string, n int) {
		t.Helper()
		var all []episodic.Episode
		for i := range n {
			ep := episode(fmt.Sprint(source, e.Head().Seq, " ", i), "a", "b", "c")
			ep.Time = told
			all = append(all, ep)
		}
		_, err := e.Record(ctx, source, all)
		require.NoError(t, err)
	}
	for _, source := range []string{"key:1", "key:2", "key:3"} {
		tasks(source, 60)
		assert.Equal(t, JobDone, finish(t, e, false).State, "the first three are not held back")
	}
	tasks("key:new", 40)
	require.Equal(t, JobRefused, finish(t, e, false).State)
	_, err := e.Forget(ctx, Selection{Source: "key:new"})
	require.NoError(t, err)
	judged := e.Judgement()
	assert.True(t, judged.Published)
	assert.NotContains(t, judged.String(), "key:new")
	assert.NotContains(t, judged.String(), "by force")
	verify(t, e)

	tasks("key:new", 40)
	j := finish(t, e, false)
	require.Equal(t, JobRefused, j.State, j.Error)
	assert.Contains(t, j.Error, "40 of 40 new episodes come from the new source key:new")
	assert.Contains(t, e.Judgement().String(), "REFUSED")
	assert.Contains(t, e.Judgement().String(), "key:new")
	tasks("operator", 30)
	assert.Equal(t, JobRefused, finish(t, e, false).State, "30 others do not outweigh it")
	require.Equal(t, JobDone, forced(t, e).State)
	assert.True(t, e.Judgement().Forced)
	verify(t, e)
	tasks("key:new", 100)
	assert.Equal(t, JobDone, finish(t, e, false).State, "it is known now")
	tasks("operator", 400)
	j = finish(t, e, false)
	assert.Equal(t, JobDone, j.State, "an import by the operator: %s", j.Error)
}
