package live

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// patience is how long a test waits for what has to happen on a machine with much other work.
const patience = 5 * time.Minute

// settled waits until no build is under way and snapshots are written. A build that is due begins after
// the writer was asked, so it is asked twice.
func settled(t testing.TB, e *Engine) {
	t.Helper()
	require.Eventually(t, func() bool {
		idle := 0
		for range 2 {
			require.NoError(t, e.do(ctx, func(w *writer) {
				if w.building == nil {
					idle++
				}
			}))
		}
		return idle == 2
	}, patience, time.Millisecond)
	e.life.background.Wait()
}

func kept(t testing.TB, e *Engine) (seqs []uint64) {
	t.Helper()
	for s, err := range logOf(e.store, e.name).Snapshots(ctx) {
		require.NoError(t, err)
		if s.Data[0] == snapshotFormat {
			seqs = append(seqs, s.Seq)
		}
	}
	return seqs
}

// unlearned is of tests that do not depend on what is fitted, which takes most of the time of a build.
var unlearned = Options{Measure: suggest.MeasureOptions{WithoutLearned: true}}

func reopened(t testing.TB, store *storage.Store) (*Engine, func()) {
	t.Helper()
	return reopenedWith(t, store, unlearned)
}

func reopenedWith(t testing.TB, store *storage.Store, opts Options) (*Engine, func()) {
	t.Helper()
	w := NewWorkspaces(store, opts)
	e, err := w.Get(ctx, "default")
	require.NoError(t, err)
	return e, func() { require.NoError(t, w.Close(ctx)) }
}

// replayed opens the log without any snapshot.
func replayed(t testing.TB, log testLog) *replayedLog {
	t.Helper()
	h, _, err := replay(ctx, log.Read, nil, 0, lastBuild, func(ctx context.Context, c *history.Counts, b build, _ uint64) (*suggest.Measures, error) {
		return suggest.Measure(ctx, c, b.Options)
	}, nil)
	require.NoError(t, err)
	return h
}

func hashOf(t testing.TB, h *replayedLog) string {
	t.Helper()
	m, err := h.model()
	require.NoError(t, err)
	return m.Hash()
}

// A build that was cut short is finished behind the model of the snapshot; both are the replay of all.
func TestRestartFinishesABuild(t *testing.T) {
	store := memory(t)
	e, end := reopened(t, store)
	fill(t, e, 2, 30)
	_, err := e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	release := e.Hold()
	for i := range 30 {
		record(t, e, episode(fmt.Sprint("more", i), "a", "z", "y"))
	}
	release()
	end()
	log := logOf(store, "default")
	payload, err := encode(kindBuild, build{Options: unlearned.Measure, Parent: "the process ended here"})
	require.NoError(t, err)
	_, err = log.Append(ctx, []storage.Record{{Payload: payload}})
	require.NoError(t, err)

	e, end = reopened(t, store)
	settled(t, e)
	assert.Equal(t, hashOf(t, replayed(t, log)), e.Model().Hash())
	assert.Zero(t, e.Model().Stats().EpisodesPending)
	verify(t, e)
	assert.Equal(t, log.Head().Seq, kept(t, e)[0], "and has a snapshot of its own")
	again := record(t, e, episode("more1", "a", "z", "y"))
	assert.Equal(t, 1, again.Duplicates)
	end()
}

// Whatever stands in a snapshot: the model is the same, from an older one or from the log alone.
func TestUnreadableSnapshots(t *testing.T) {
	store := memory(t)
	e, end := reopened(t, store)
	for part := range uint64(2) {
		fill(t, e, 3+part, 20)
		_, err := e.Build(ctx)
		require.NoError(t, err)
		settled(t, e)
	}
	want := e.Model().Hash()
	snapshots := kept(t, e)
	require.Len(t, snapshots, 2)
	log := logOf(e.store, e.name)
	end()
	whole := map[uint64][]byte{}
	for s, err := range log.Snapshots(ctx) {
		require.NoError(t, err)
		whole[s.Seq] = s.Data
	}
	broken := func(b []byte) []byte { return b[:len(b)/2] }
	other := func(b []byte) []byte {
		w := &codec.Writer{}
		w.Uint(snapshotFormat + 1)
		return append(w.Bytes, b[1:]...)
	}
	for i, damage := range []func(b []byte) []byte{broken, other} { // of one, then of both
		for seq, data := range whole {
			require.NoError(t, keep(log, seq, data))
		}
		for _, seq := range snapshots[:i+1] {
			require.NoError(t, keep(log, seq, damage(whole[seq])))
		}
		e, end := reopened(t, store)
		settled(t, e)
		assert.Equal(t, want, e.Model().Hash())
		verify(t, e)
		end()
	}
}

// What is forgotten is in no snapshot, also if one was being written when it was asked for.
func TestForgetDropsSnapshots(t *testing.T) {
	store := memory(t)
	e, end := reopened(t, store)
	fill(t, e, 5, 20)
	record(t, e, episode("secret", "hidden:tool", "a"))
	_, err := e.Build(ctx)
	require.NoError(t, err)
	var old snapshot
	require.NoError(t, e.do(ctx, func(w *writer) {
		old = snapshot{active: w.active, relevant: w.relevant, image: w.state.Image()}
	}))
	measures := e.Model()
	_, err = e.Forget(ctx, Selection{Episode: "secret"})
	require.NoError(t, err)
	settled(t, e)
	h := replayed(t, logOf(e.store, e.name))
	e.keepBehind(old, h.measures) // comes late
	e.life.background.Wait()
	for _, seq := range kept(t, e) {
		assert.Greater(t, seq, old.built.seq)
	}
	assert.NotEqual(t, measures.Hash(), e.Model().Hash())
	end()
	e, end = reopened(t, store)
	assert.Equal(t, hashOf(t, h), e.Model().Hash())
	end()
}

func keep(log testLog, seq uint64, data []byte) error {
	return log.PutSnapshot(ctx, seq, func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add([]byte{snapshotFormat})
	s := history.NewState()
	m, err := suggest.Measure(ctx, s.Freeze(), suggest.MeasureOptions{})
	require.NoError(f, err)
	w := &codec.Writer{}
	shot := snapshot{image: s.Image()}
	require.NoError(f, shot.write(w, m))
	f.Add(w.Bytes)
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := readSnapshot(b, nil); err == nil {
			_, err := h.model()
			require.NoError(t, err)
			h.measures.Write(&codec.Writer{}) // reads what was fitted
		}
	})
}

// Builds learn a history of any length, so that no question waits, and a restart knows it.
func TestRestartKeepsWhatWasLearned(t *testing.T) {
	before := suggest.ShortSteps
	suggest.ShortSteps = 0
	t.Cleanup(func() { suggest.ShortSteps = before })
	store := memory(t)
	e, end := reopenedWith(t, store, Options{})
	fill(t, e, 5, 40)
	ask := func() suggest.NextAnswer {
		a, err := e.Model().Next(suggest.NextRequest{Context: []string{"s0:tool_0", "s1:tool_1"}, Intent: "handle kind 2", Profile: suggest.ProfileLearned})
		require.NoError(t, err)
		assert.Equal(t, suggest.ProfileLearned, a.Model.Profile)
		return a
	}
	_, err := e.Build(ctx)
	require.NoError(t, err)
	settled(t, e)
	require.NoError(t, e.do(ctx, func(w *writer) { assert.True(t, w.measures.Learned()) }))
	want := ask()
	end()
	ws := NewWorkspaces(store, Options{Serves: true})
	defer func() { require.NoError(t, ws.Close(ctx)) }()
	e, err = ws.Get(ctx, DefaultWorkspace)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !e.Warming() }, patience, time.Millisecond)
	require.NoError(t, e.do(ctx, func(w *writer) { assert.False(t, w.measures.Cold(), "from the snapshot, before anybody asked") }))
	got := ask()
	got.Model.BuiltAt = want.Model.BuiltAt
	assert.Equal(t, want, got)
}

// What is fitted depends on the log alone: fits before, a restart between them and a fit of what is forgotten since leave
// no trace, not even as the weights that a later fit begins with.
func TestFitsLeaveNoTraceInLaterOnes(t *testing.T) {
	fits := func(between func(t *testing.T, store *storage.Store)) []byte {
		store := memory(t)
		for seed := range uint64(2) {
			e, end := reopenedWith(t, store, Options{})
			fill(t, e, seed, 15)
			end()
			between(t, store)
		}
		e, end := reopenedWith(t, store, Options{})
		_, err := e.Forget(ctx, Selection{Episode: "ep1-3"})
		require.NoError(t, err)
		_, err = e.Build(ctx)
		require.NoError(t, err)
		end()
		l := logOf(store, "default")
		for s, err := range l.Snapshots(ctx) {
			require.NoError(t, err)
			h, err := readSnapshot(s.Data, nil)
			require.NoError(t, err)
			require.True(t, h.measures.Learned())
			w := &codec.Writer{}
			h.measures.Write(w)
			return w.Bytes
		}
		return nil
	}
	once := fits(func(*testing.T, *storage.Store) {})
	require.NotEmpty(t, once)
	require.Equal(t, once, fits(func(t *testing.T, store *storage.Store) {
		e, end := reopenedWith(t, store, Options{})
		defer end()
		_, err := e.Build(ctx)
		require.NoError(t, err)
	}))
}
