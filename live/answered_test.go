package live

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// writtenByAnother makes the snapshots of a log those of a program that knows another format.
func writtenByAnother(t *testing.T, store *storage.Store) testLog {
	t.Helper()
	log := logOf(store, "default")
	var all []testSnapshot
	for s, err := range log.Snapshots(ctx) {
		require.NoError(t, err)
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

// A server answers while what it learned is fitted again, since another version of the program wrote the snapshot: by
// profile seed, and says so. It writes no snapshot of that. A command of one answer waits for the fit.
func TestAnswersBeforeTheFitIsDone(t *testing.T) {
	before := suggest.ShortSteps
	suggest.ShortSteps = 0
	t.Cleanup(func() { suggest.ShortSteps = before })
	store := memory(t)
	e, end := reopenedWith(t, store, Options{})
	twoWays(t, e, 0, 60, false)
	fill(t, e, 1, 20) // with intents
	j := forced(t, e)
	require.Equal(t, JobDone, j.State, j.Error)
	settled(t, e)
	answer, hash := afterAB(t, e), e.Model().Hash()
	end()
	writtenByAnother(t, store)

	released := make(chan struct{})
	fits := 0
	ws := NewWorkspaces(store, Options{Serves: true, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if c.Past.N > 0 && !o.Provisional {
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
	assert.Equal(t, suggest.ProfileSeed, now.Model.Profile)
	assert.Contains(t, now.Warnings, suggest.WarnProvisional)
	assert.NotEmpty(t, now.Suggestions)
	plan, err := e.Model().Plan(suggest.DAGRequest{Intent: "do 1", Profile: suggest.ProfileLearned})
	require.NoError(t, err)
	assert.Equal(t, suggest.ProfileSeed, plan.Model.Profile)
	assert.Contains(t, plan.Warnings, suggest.WarnProvisional)
	seed, err := e.Model().Next(suggest.NextRequest{Context: []string{"a", "b"}, Profile: suggest.ProfileSeed})
	require.NoError(t, err)
	assert.NotContains(t, seed.Warnings, suggest.WarnProvisional)
	behind := e.Behind()
	assert.Contains(t, behind.String(), "seed answers")
	assert.Empty(t, kept(t, e))

	close(released)
	settled(t, e)
	assert.Equal(t, 1, fits)
	assert.Equal(t, answer, afterAB(t, e))
	assert.Equal(t, hash, e.Model().Hash())
	assert.Len(t, kept(t, e), 1)
	assert.Nil(t, e.Behind())
	verify(t, e)
	require.NoError(t, ws.Close(ctx))

	writtenByAnother(t, store)
	e, end = reopenedWith(t, store, Options{})
	assert.Equal(t, answer, afterAB(t, e), "a command waits")
	end()
}

// A log with an event of a newer program is refused by name, and is not called damaged.
func TestAnEventOfANewerProgram(t *testing.T) {
	store := memory(t)
	e, end := reopened(t, store)
	record(t, e, episode("1", "a", "b"))
	settled(t, e)
	snapshots := kept(t, e)
	end()
	log := logOf(store, "default")
	_, err := log.Append(ctx, []storage.Record{{Payload: []byte(`Y{}`)}})
	require.NoError(t, err)
	_, err = NewWorkspaces(store, unlearned).Get(ctx, "default")
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
