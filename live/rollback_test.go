package live

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// A rollback returns to the judgement before, stays over restarts, is not judged away unasked before the log has grown
// by half, and ends with the next rebuild that is accepted. A second one goes one judgement further back.
func TestRollback(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector and has no concurrency of its own")
	}
	store := storage.NewMemory()
	ws := NewWorkspaces(store, Options{Judge: true})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	_, err = e.Rollback(ctx)
	require.ErrorIs(t, err, ErrNoRollback, "nothing was judged")
	release := e.Hold()
	twoWays(t, e, 0, 200, false)
	first := finish(t, e, false)
	require.Equal(t, JobDone, first.State, first.Error)
	twoWays(t, e, 200, 40, false)
	second := finish(t, e, false)
	require.Equal(t, JobDone, second.State, second.Error)
	require.NotEqual(t, first.Auto, second.Auto)
	require.NotEqual(t, first.Gate, second.Gate)
	record(t, e, episode("since", "a", "b", "x"))

	j, err := e.Rollback(ctx)
	require.NoError(t, err)
	assert.Equal(t, "rollback", j.Kind)
	j = finished(t, e, j.ID)
	require.Equal(t, JobDone, j.State, j.Error)
	assert.Equal(t, first.Auto, j.Auto)
	rolledBack := func(e *Engine) {
		t.Helper()
		auto := e.Model().Stats().Auto
		auto.At = first.Auto.At
		assert.Equal(t, *first.Auto, auto)
		assert.Equal(t, first.Gate, e.Judgement().Gate)
		assert.Equal(t, second.At+1, e.Judgement().Rollback)
		assert.Contains(t, e.Judgement().String(), "rolled back at event")
		assert.EqualValues(t, 241, e.Model().Stats().Episodes, "what was recorded since counts")
		verify(t, e)
	}
	rolledBack(e)
	version := e.Model().Info().Version
	release()
	require.NoError(t, ws.Close(ctx))

	ws = NewWorkspaces(store, Options{Judge: true})
	e, err = ws.Get(ctx, "default")
	require.NoError(t, err)
	settled(t, e)
	assert.Equal(t, version, e.Model().Info().Version)
	rolledBack(e)
	release = e.Hold()
	require.NoError(t, e.do(ctx, func(w *writer) {
		assert.False(t, w.needsEvaluation())
		w.how.Auto.Edition-- // as if another version of the program had judged
		assert.True(t, w.how.Auto.Outdated())
		assert.False(t, w.evaluationDue())
		w.matter.seq += w.how.Rollback / judgedGrowth
		assert.True(t, w.evaluationDue(), "the log has grown by half")
		assert.True(t, w.needsEvaluation())
		w.matter.seq -= w.how.Rollback / judgedGrowth
		w.how.Auto.Edition++
	}))

	third := finish(t, e, false)
	require.Equal(t, JobDone, third.State, third.Error)
	assert.Zero(t, e.Judgement().Rollback, "an accepted rebuild ends it")
	for _, want := range []*suggest.Choice{first.Auto, nil} {
		j, err = e.Rollback(ctx)
		require.NoError(t, err)
		j = finished(t, e, j.ID)
		require.Equal(t, JobDone, j.State, j.Error)
		assert.Equal(t, want, j.Auto)
	}
	assert.Contains(t, e.Judgement().String(), "not judged")
	_, err = e.Rollback(ctx)
	require.ErrorIs(t, err, ErrNoRollback, "there is no judgement before")
	verify(t, e)
	release()
	require.NoError(t, ws.Close(ctx))
}

// A rollback beside a job that it would wait for, or that would undo it, is refused at once by the name of the job.
func TestRollbackBesideAnotherJob(t *testing.T) {
	for _, kind := range []string{"rebuild", "rollback", "verify"} {
		ws := NewWorkspaces(storage.NewMemory(), Options{})
		e, err := ws.Get(ctx, "default")
		require.NoError(t, err)
		other := e.begin(Job{Kind: kind}, func() {})
		_, err = e.Rollback(ctx)
		require.ErrorIs(t, err, ErrNoRollback)
		require.ErrorContains(t, err, "while "+other.ID+" is running")
		e.finish(other, nil)
		_, err = e.Rollback(ctx)
		require.ErrorContains(t, err, "was not judged")
		require.NoError(t, ws.Close(ctx))
	}
}

// writtenByAnother makes the snapshots of a log those of a program that knows another format.
func writtenByAnother(t *testing.T, store storage.Store) storage.Log {
	t.Helper()
	log, err := store.Log("default")
	require.NoError(t, err)
	var all []storage.Snapshot
	for s, err := range log.Snapshots(ctx) {
		require.NoError(t, err)
		require.EqualValues(t, snapshotFormat, s.Data[0])
		s.Data = append([]byte{snapshotFormat - 1}, s.Data[1:]...)
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	require.NoError(t, log.DropSnapshots(ctx))
	for _, s := range all {
		require.NoError(t, log.PutSnapshot(ctx, s.Seq, func(w io.Writer) error {
			_, err := w.Write(s.Data)
			return err
		}))
	}
	return log
}

// A server answers by the stored choice of profiles while what it learned is fitted again, since another version of the
// program wrote the snapshot: by prior weights, and by seed where there are none, and says so. It writes no snapshot
// of that. A command of one answer waits for the fit.
func TestAnswersBeforeTheFitIsDone(t *testing.T) {
	if testing.Short() {
		t.Skip("it fits three times")
	}
	before := suggest.ShortSteps
	suggest.ShortSteps = 0
	t.Cleanup(func() { suggest.ShortSteps = before })
	store := storage.NewMemory()
	e, end := reopened(t, store)
	twoWays(t, e, 0, 160, false)
	fill(t, e, 1, 60) // with intents
	j := finish(t, e, false)
	require.Equal(t, JobDone, j.State, j.Error)
	require.Equal(t, suggest.ProfileLearned, j.Auto.Next.Profile)
	settled(t, e)
	answer, hash := afterAB(t, e), e.Model().Hash()
	end()
	writtenByAnother(t, store)

	released := make(chan struct{})
	fits := 0
	ws := NewWorkspaces(store, Options{Serves: true, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if o.Learn && !o.Provisional {
			fits++
			select {
			case <-released:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return suggest.Measure(ctx, c, o)
	}})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	now := afterAB(t, e)
	assert.Equal(t, suggest.ProfileLearned, now.Model.Profile, "as the stored choice says")
	assert.Equal(t, answer.Model.Auto, now.Model.Auto)
	assert.Contains(t, now.Warnings, suggest.WarnProvisional)
	assert.NotEmpty(t, now.Suggestions)
	plan, err := e.Model().Plan(suggest.DAGRequest{Intent: "do 1", Profile: suggest.ProfileLearned})
	require.NoError(t, err)
	assert.Equal(t, suggest.ProfileSeed, plan.Model.Profile)
	assert.Contains(t, plan.Warnings, suggest.WarnProvisional)
	seed, err := e.Model().Next(suggest.NextRequest{Context: []string{"a", "b"}, Profile: suggest.ProfileSeed})
	require.NoError(t, err)
	assert.NotContains(t, seed.Warnings, suggest.WarnProvisional)
	behind, err := e.Behind(ctx)
	require.NoError(t, err)
	assert.Contains(t, behind.String(), "those of the prior answer")
	assert.Empty(t, kept(t, e))

	close(released)
	settled(t, e)
	assert.Equal(t, 1, fits)
	assert.Equal(t, answer, afterAB(t, e))
	assert.Equal(t, hash, e.Model().Hash())
	assert.Len(t, kept(t, e), 1)
	behind, err = e.Behind(ctx)
	require.NoError(t, err)
	assert.Nil(t, behind)
	verify(t, e)
	require.NoError(t, ws.Close(ctx))

	writtenByAnother(t, store)
	e, end = reopened(t, store)
	assert.Equal(t, answer, afterAB(t, e), "a command waits")
	end()
}

// A choice that another version of the program judged stays until a server has judged again, unasked.
func TestAChoiceOfAnotherVersionIsJudgedAgain(t *testing.T) {
	store := storage.NewMemory()
	e, end := reopened(t, store)
	twoWays(t, e, 0, 160, false)
	j := finish(t, e, false)
	require.Equal(t, JobDone, j.State, j.Error)
	old := *j.Auto
	old.Edition--
	payload, err := encode(kindBuild, build{Auto: &old, Gate: j.Gate})
	require.NoError(t, err)
	end()
	log, err := store.Log("default")
	require.NoError(t, err)
	_, err = log.Append(ctx, []storage.Record{{Payload: payload}})
	require.NoError(t, err)

	e, end = reopened(t, store)
	settled(t, e)
	assert.True(t, afterAB(t, e).Model.Auto.Outdated)
	assert.Equal(t, old.Next.Profile, afterAB(t, e).Model.Profile)
	assert.Contains(t, e.Model().Stats().Auto.String(), "by another version of the program")
	end()

	ws := NewWorkspaces(store, Options{Judge: true})
	e, err = ws.Get(ctx, "default")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !e.Model().Stats().Auto.Outdated() }, time.Minute, 5*time.Millisecond)
	assert.False(t, afterAB(t, e).Model.Auto.Outdated)
	settled(t, e)
	verify(t, e)
	require.NoError(t, ws.Close(ctx))
}

// A log with an event of a newer program is refused by name, and is not called damaged.
func TestAnEventOfANewerProgram(t *testing.T) {
	store := storage.NewMemory()
	e, end := reopened(t, store)
	record(t, e, episode("1", "a", "b"))
	settled(t, e)
	snapshots := kept(t, e)
	end()
	log, err := store.Log("default")
	require.NoError(t, err)
	_, err = log.Append(ctx, []storage.Record{{Payload: []byte(`Y{}`)}})
	require.NoError(t, err)
	_, err = NewWorkspaces(store, Options{}).Get(ctx, "default")
	require.ErrorIs(t, err, ErrNewer)
	require.ErrorContains(t, err, "event 3: kind 'Y': a newer version of the program wrote this event")
	require.NotErrorIs(t, err, storage.ErrDamaged)
	var still []uint64
	for s, err := range log.Snapshots(ctx) {
		require.NoError(t, err)
		still = append(still, s.Seq)
	}
	assert.Equal(t, snapshots, still, "nothing is changed")
}
