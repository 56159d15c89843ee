package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// engine opens handles to one log: two handles are two processes, as far as the engine can tell.
type engine struct {
	name string
	open func(t *testing.T) func(t *testing.T) Log
}

func engines() []engine {
	local := func(open func(t *testing.T) storage.Store) func(*testing.T) func(*testing.T) Log {
		return func(t *testing.T) func(*testing.T) Log {
			store := open(t)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			return func(*testing.T) Log { return NewLocal(store) }
		}
	}
	return []engine{
		{"memory", local(func(*testing.T) storage.Store { return storage.NewMemory() })},
		{"badger", local(func(t *testing.T) storage.Store {
			b, err := storage.Open(t.TempDir(), storage.Options{})
			require.NoError(t, err)
			return b
		})},
		{"postgres", func(t *testing.T) func(*testing.T) Log { return opener(startPostgres(t), Options{}) }},
	}
}

func opener(address string, opts Options) func(*testing.T) Log {
	return func(t *testing.T) Log {
		l, err := Open(t.Context(), address, opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
}

func TestConformance(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			open := e.open(t)
			for _, tt := range []struct {
				name string
				run  func(t *testing.T, a, b Log)
			}{
				{"append and read", appendAndRead},
				{"conflict", conflict},
				{"another past is refused", diverged},
				{"a retry counts once", retry},
				{"one hundred writers", manyWriters},
				{"follow", follow},
				{"limits", limits},
				{"lease", leases},
				{"more followers than connections", manyFollowers},
			} {
				t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t), open(t)) })
			}
		})
	}
}

// sealed makes n keyed events for the end of a log.
func sealed(t *testing.T, after storage.Head, n int, name string) []storage.Sealed {
	records := make([]storage.Record, n)
	for i := range records {
		key := fmt.Sprintf("%s-%d", name, i)
		records[i] = storage.Record{Key: key, Payload: []byte("payload of " + key)}
	}
	events, err := storage.Seal(after, records)
	require.NoError(t, err)
	return events
}

// contents reads a log and checks its chain.
func contents(t *testing.T, l Log, workspace string, after storage.Head) []string {
	var all []string
	for e, err := range l.Read(t.Context(), workspace, after.Seq, false) {
		require.NoError(t, err)
		require.NoError(t, e.Follows(after))
		after = e.Head()
		all = append(all, string(e.Payload))
	}
	head, err := l.Head(t.Context(), workspace)
	require.NoError(t, err)
	require.Equal(t, head, after)
	return all
}

func appendAndRead(t *testing.T, a, b Log) {
	const ws = "append Ä.*>"
	require.Empty(t, contents(t, b, ws, storage.Head{}))
	var head storage.Head
	var want []string
	for part, n := range []int{1, 3, MaxEvents, 2} {
		events := sealed(t, head, n, fmt.Sprint("part", part))
		require.NoError(t, a.Append(t.Context(), ws, events))
		head = events[n-1].Head()
		for i := range events {
			want = append(want, string(events[i].Payload))
		}
	}
	require.Equal(t, want, contents(t, b, ws, storage.Head{}))
	for _, after := range []uint64{1, 2, 4, 5, 1003, 1004, 1005} {
		e, err := At(t.Context(), b, ws, after)
		require.NoError(t, err)
		require.Equal(t, want[after:], append([]string{}, contents(t, b, ws, e.Head())...), "after %d", after)
	}
	_, err := At(t.Context(), b, ws, 1007)
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.Empty(t, contents(t, b, "another", storage.Head{}))
	names, err := b.Workspaces(t.Context())
	require.NoError(t, err)
	require.Contains(t, names, ws)
	require.NotContains(t, names, "another")
}

func conflict(t *testing.T, a, b Log) {
	const ws = "conflict"
	first := sealed(t, storage.Head{}, 2, "first")
	require.NoError(t, a.Append(t.Context(), ws, first))
	var conflict *ErrConflict
	for name, events := range map[string][]storage.Sealed{
		"the same place":     sealed(t, storage.Head{}, 3, "other"),
		"a place not there":  sealed(t, storage.Head{Seq: 5}, 3, "other"),
		"inside of the past": sealed(t, first[0].Head(), 1, "other"),
	} {
		for _, l := range []Log{a, b} {
			require.ErrorAs(t, l.Append(t.Context(), ws, events), &conflict, name)
			require.Equal(t, uint64(2), conflict.At, name)
		}
	}
	require.Len(t, contents(t, b, ws, storage.Head{}), 2)
	second := sealed(t, first[1].Head(), 1, "second")
	require.NoError(t, b.Append(t.Context(), ws, second))
	require.ErrorAs(t, a.Append(t.Context(), ws, sealed(t, first[1].Head(), 1, "late")), &conflict)
	require.Equal(t, uint64(3), conflict.At)
	require.Len(t, contents(t, a, ws, storage.Head{}), 3)
}

func diverged(t *testing.T, a, b Log) {
	const ws = "diverged"
	require.NoError(t, a.Append(t.Context(), ws, sealed(t, storage.Head{}, 2, "one")))
	other := sealed(t, storage.Head{}, 2, "other")
	for _, l := range []Log{a, b} {
		require.ErrorIs(t, l.Append(t.Context(), ws, sealed(t, other[1].Head(), 1, "next")), ErrDiverged)
	}
	require.Len(t, contents(t, b, ws, storage.Head{}), 2)
}

func retry(t *testing.T, a, b Log) {
	const ws = "retry"
	first := sealed(t, storage.Head{}, 3, "first")
	for range 2 {
		require.NoError(t, a.Append(t.Context(), ws, first))
		require.NoError(t, b.Append(t.Context(), ws, first))
	}
	second := sealed(t, first[2].Head(), 2, "second")
	require.NoError(t, b.Append(t.Context(), ws, second))
	require.NoError(t, a.Append(t.Context(), ws, first), "also where more was appended since")
	require.NoError(t, a.Append(t.Context(), ws, second))
	require.Len(t, contents(t, b, ws, storage.Head{}), 5)
}

func manyWriters(t *testing.T, a, b Log) {
	const ws, writers = "many", 100
	var group sync.WaitGroup
	failures := make([]error, writers)
	for i := range writers {
		group.Go(func() {
			l := []Log{a, b}[i%2]
			for {
				head, err := l.Head(t.Context(), ws)
				if err == nil {
					err = l.Append(t.Context(), ws, sealed(t, head, 2, fmt.Sprint("writer", i)))
				}
				var conflict *ErrConflict
				if !errors.As(err, &conflict) {
					failures[i] = err
					return
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(failures...))
	seen := map[string]int{}
	all := contents(t, a, ws, storage.Head{})
	for i, payload := range all {
		seen[payload]++
		if i%2 == 1 { // the two events of a batch stand together
			require.Equal(t, payload[:len(payload)-2], all[i-1][:len(all[i-1])-2])
		}
	}
	require.Len(t, all, 2*writers)
	require.Len(t, seen, 2*writers)
}

func follow(t *testing.T, a, b Log) {
	const ws = "follow"
	first := sealed(t, storage.Head{}, 2, "first")
	require.NoError(t, a.Append(t.Context(), ws, first))
	// What follows sees only appends of its own process where the engine is the store of one.
	reader := b
	if _, ok := a.(*Local); ok {
		reader = a
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	head := first[0].Head()
	next := 0
	rest := sealed(t, first[1].Head(), 4, "rest")
	for e, err := range reader.Read(ctx, ws, head.Seq, true) {
		if next == 5 {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		require.NoError(t, err)
		require.NoError(t, e.Follows(head))
		head = e.Head()
		if next < 4 {
			require.NoError(t, a.Append(t.Context(), ws, rest[next:next+1]))
		} else {
			cancel()
		}
		next++
	}
	require.Equal(t, rest[3].Head(), head)
}

func limits(t *testing.T, a, _ Log) {
	const ws = "limits"
	require.Error(t, a.Append(t.Context(), ws, nil))
	require.Error(t, a.Append(t.Context(), ws, sealed(t, storage.Head{}, MaxEvents+1, "x")))
	gap := sealed(t, storage.Head{}, 3, "gap")
	require.ErrorIs(t, a.Append(t.Context(), ws, append(gap[:1], gap[2])), storage.ErrDamaged)
	large, err := storage.Seal(storage.Head{}, []storage.Record{
		{Payload: make([]byte, storage.MaxPayload)}, {Payload: make([]byte, storage.MaxPayload)}, {Payload: make([]byte, storage.MaxPayload)},
	})
	require.NoError(t, err)
	require.NoError(t, a.Append(t.Context(), ws, large))
	more, err := storage.Seal(large[2].Head(), []storage.Record{
		{Payload: make([]byte, storage.MaxPayload)}, {Payload: make([]byte, storage.MaxPayload)}, {Payload: make([]byte, storage.MaxPayload)}, {Payload: []byte("x")},
	})
	require.NoError(t, err)
	require.Error(t, a.Append(t.Context(), ws, more))
	require.Len(t, contents(t, a, ws, storage.Head{}), 3)
}

func leases(t *testing.T, a, b Log) {
	first, err := a.Lease(t.Context(), "build", time.Hour)
	require.NoError(t, err)
	again, err := a.Lease(t.Context(), "build", 100*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, first, again, "extending a lease keeps its epoch")
	other, err := b.Lease(t.Context(), "other", time.Hour)
	require.NoError(t, err)
	require.NotZero(t, other)
	var taken uint64
	require.Eventually(t, func() bool { // it runs out
		taken, err = b.Lease(t.Context(), "build", time.Hour)
		return !errors.Is(err, ErrHeld)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, err)
	require.Greater(t, taken, first)
	_, err = a.Lease(t.Context(), "build", time.Hour)
	require.ErrorIs(t, err, ErrHeld)
}

func manyFollowers(t *testing.T, a, b Log) {
	const followers = 120 // PostgreSQL has 100 connections
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	got := make(chan string, followers)
	for i := range followers {
		group.Go(func() {
			name := fmt.Sprint("followed", i)
			for e, err := range a.Read(ctx, name, 0, true) {
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					got <- err.Error()
					return
				}
				got <- string(e.Payload)
			}
		})
	}
	for i := range followers {
		name := fmt.Sprint("followed", i)
		require.NoError(t, a.Append(t.Context(), name, sealed(t, storage.Head{}, 1, name)))
	}
	seen := map[string]bool{}
	for range followers {
		seen[<-got] = true
	}
	for i := range followers {
		require.Contains(t, seen, fmt.Sprintf("payload of followed%d-0", i))
	}
}

// A lease that ran out has another epoch, also for who had it.
func TestALeaseThatRanOutHasANewEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLocal(storage.NewMemory())
		first, err := l.Lease(t.Context(), "x", time.Second)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		second, err := l.Lease(t.Context(), "x", time.Second)
		require.NoError(t, err)
		require.Greater(t, second, first)
	})
}
