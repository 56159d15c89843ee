package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

func share(t *testing.T, store storage.Store, log Log) *Shared {
	t.Helper()
	s, err := Share(t.Context(), store, log)
	require.NoError(t, err)
	t.Cleanup(s.Leave)
	return s
}

func rowsOf(t *testing.T, s storage.Store, prefix string) map[string]string {
	all := map[string]string{}
	for e, err := range s.System().List(t.Context(), prefix) {
		require.NoError(t, err)
		all[e.Key] = string(e.Value)
	}
	return all
}

// Rows are the same everywhere; one that is deleted is gone everywhere within a second of its answer. Rows of one
// process stay its own.
func TestControlRowsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := NewLocal(storage.NewMemory())
		before, second := storage.NewMemory(), storage.NewMemory()
		_, err := before.System().Put(t.Context(), "key/old", []byte("o"))
		require.NoError(t, err)
		a, b := share(t, before, log), share(t, second, log)
		_, err = a.System().CAS(t.Context(), "key/new", 0, []byte("n"))
		require.NoError(t, err)
		_, err = a.System().Put(t.Context(), "shared-log", []byte("mine"))
		require.NoError(t, err)
		table, err := b.Table("w")
		require.NoError(t, err)
		_, err = table.Put(t.Context(), "workspace", []byte("w"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		for _, s := range []storage.Store{a, b} {
			require.Equal(t, map[string]string{"key/old": "o", "key/new": "n"}, rowsOf(t, s, "key/"))
			names, err := s.Workspaces(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"w"}, names)
		}
		require.Empty(t, rowsOf(t, b, "shared-log"))
		require.NoError(t, b.System().Delete(t.Context(), "key/old"))
		time.Sleep(time.Second)
		_, _, err = a.System().Get(t.Context(), "key/old")
		require.ErrorIs(t, err, storage.ErrNotFound)
		a.Leave()
		a = share(t, before, log)
		require.NotContains(t, rowsOf(t, a, "key/"), "key/old", "what was deleted does not come back with a store that had it")
	})
}

// Of those who take one row at once, on several processes, one gets it.
func TestControlRowsAreTakenOnce(t *testing.T) {
	log := NewLocal(storage.NewMemory())
	var shared []*Shared
	for range 3 {
		shared = append(shared, share(t, storage.NewMemory(), log))
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	taken := map[string]int{}
	for i := range 30 {
		group.Go(func() {
			for n := range 5 {
				key := fmt.Sprint("key/", n)
				_, err := shared[i%3].System().CAS(t.Context(), key, 0, fmt.Append(nil, i))
				mu.Lock()
				if err == nil {
					taken[key]++
				} else if !errors.Is(err, storage.ErrConflict) {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Equal(t, map[string]int{"key/0": 1, "key/1": 1, "key/2": 1, "key/3": 1, "key/4": 1}, taken)
	for _, s := range shared {
		require.NoError(t, s.Sync(t.Context()))
		require.Equal(t, rowsOf(t, shared[0], "key/"), rowsOf(t, s, "key/"))
	}
}

// Without the log rows can be read and not written, also after a start; a store that never joined does not start.
func TestControlLogIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &failing{Log: NewLocal(storage.NewMemory())}, storage.NewMemory()
		s := share(t, store, log)
		_, err := s.System().Put(t.Context(), "key/a", []byte("1"))
		require.NoError(t, err)
		s.Leave()
		log.down.Store(true)
		s = share(t, store, log)
		require.Equal(t, map[string]string{"key/a": "1"}, rowsOf(t, s, "key/"))
		_, err = s.System().Put(t.Context(), "key/a", []byte("2"))
		require.ErrorIs(t, err, ErrUnavailable)
		_, err = Share(t.Context(), storage.NewMemory(), log)
		require.ErrorIs(t, err, errDown)
		log.down.Store(false)
		time.Sleep(time.Second)
		_, err = s.System().Put(t.Context(), "key/a", []byte("2"))
		require.NoError(t, err)

		log.lost.Store(true) // stored, and the answer lost, also the second time
		_, err = s.System().Put(t.Context(), "key/a", []byte("3"))
		require.ErrorIs(t, err, ErrUnavailable)
		log.lost.Store(false)
		time.Sleep(time.Second)
		require.Equal(t, map[string]string{"key/a": "3"}, rowsOf(t, s, "key/"))
		head, err := log.Head(t.Context(), ControlLog)
		require.NoError(t, err)
		require.EqualValues(t, 3, head.Seq, "the repetition counts once")
	})
}

// A log that is another one, or was written by a newer version, is not folded, and no key is answered from then on.
func TestControlLogIsAtOdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := NewLocal(storage.NewMemory()), storage.NewMemory()
		s := share(t, store, log)
		_, err := s.System().Put(t.Context(), "key/a", []byte("1"))
		require.NoError(t, err)
		events, err := storage.Seal(s.head, []storage.Record{{Payload: []byte("Zunknown")}})
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), ControlLog, events))
		time.Sleep(time.Second)
		_, _, err = s.System().Get(t.Context(), "key/a")
		require.ErrorIs(t, err, ErrNewer)
		require.ErrorIs(t, s.Health(), ErrNewer)
		require.NotEmpty(t, rowsOf(t, store, "key/"))
		s.Leave()
		_, err = Share(t.Context(), store, NewLocal(storage.NewMemory()))
		require.ErrorIs(t, err, ErrDiverged)
	})
}

// Control data of a store moves to a log.
func TestControlRowsAreCopied(t *testing.T) {
	log, from, to := NewLocal(storage.NewMemory()), storage.NewMemory(), storage.NewMemory()
	for _, key := range []string{"key/a", "key/b"} {
		_, err := from.System().Put(t.Context(), key, []byte(key))
		require.NoError(t, err)
	}
	require.NoError(t, PublishControl(t.Context(), from, log))
	share(t, to, log)
	require.Equal(t, map[string]string{"key/a": "key/a", "key/b": "key/b"}, rowsOf(t, to, "key/"))
}

var errDown = errors.New("the network is down")

// failing is a log that does not answer, or whose answers to appends are lost.
type failing struct {
	Log
	down, lost atomic.Bool
}

func (l *failing) err() error {
	if l.down.Load() {
		return errDown
	}
	return nil
}

func (l *failing) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if err := l.err(); err != nil {
		return err
	}
	if err := l.Log.Append(ctx, workspace, events); err != nil || !l.lost.Load() {
		return err
	}
	return errDown
}

func (l *failing) Head(ctx context.Context, workspace string) (storage.Head, error) {
	if err := l.err(); err != nil {
		return storage.Head{}, err
	}
	return l.Log.Head(ctx, workspace)
}

func (l *failing) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	if err := l.err(); err != nil {
		return func(yield func(storage.Sealed, error) bool) { yield(storage.Sealed{}, err) }
	}
	return l.Log.Read(ctx, workspace, after, follow)
}
