package live

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

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/suggest"
	"waymark/suggest/history"
)

// link is one process's connection to a shared log, which can be cut: before a call, or after it was carried out.
type link struct {
	eventlog.Log
	leases eventlog.Log // of this process
	cut    atomic.Bool
	lost   atomic.Bool // answers to appends
	flip   atomic.Uint64
	kind   atomic.Bool // the bit that flips is of the kind, else of the last byte
	mu     sync.Mutex
	downed chan struct{} // closed when the link is cut
}

var errCut = errors.New("the network is down")

// sharedLog is a log in memory to which replicas connect.
func sharedLog() (store storage.Store, connect func() *link) {
	store = storage.NewMemory()
	log := eventlog.NewLocal(store)
	return store, func() *link {
		return &link{Log: log, leases: eventlog.NewLocal(store), downed: make(chan struct{})}
	}
}

func (l *link) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.Swap(down) == down {
		return
	}
	if down {
		close(l.downed)
	} else {
		l.downed = make(chan struct{})
	}
}

func (l *link) Append(ctx context.Context, workspace string, events []storage.Sealed) error {
	if l.cut.Load() {
		return errCut
	}
	err := l.Log.Append(ctx, workspace, events)
	if l.lost.Load() {
		l.set(true)
		return errCut
	}
	return err
}

func (l *link) Head(ctx context.Context, workspace string) (storage.Head, error) {
	if l.cut.Load() {
		return storage.Head{}, errCut
	}
	return l.Log.Head(ctx, workspace)
}

func (l *link) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		l.mu.Lock()
		downed := l.downed
		l.mu.Unlock()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-downed:
				cancel()
			case <-ended:
			}
		}()
		for e, err := range l.Log.Read(ctx, workspace, after, follow) {
			if l.cut.Load() {
				yield(storage.Sealed{}, errCut)
				return
			}
			if err == nil && e.Seq == l.flip.Load() {
				b := e.Bytes()
				at := len(b) - 1
				if l.kind.Load() {
					at = len(b) - len(e.Payload)
				}
				b[at] ^= 1
				e, err = storage.OpenSealed(e.Seq, b)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *link) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	if l.cut.Load() {
		return 0, errCut
	}
	return l.leases.Lease(ctx, name, ttl)
}

// replicaOf opens the default workspace of a process with its own store.
func replicaOf(t *testing.T, log eventlog.Log, store storage.Store, opts Options) (e *Engine, kill func()) {
	t.Helper()
	opts.Shared = log
	w := NewWorkspaces(store, opts)
	kill = sync.OnceFunc(func() { require.NoError(t, w.Close(ctx)) })
	t.Cleanup(kill)
	e, err := w.Get(ctx, DefaultWorkspace)
	require.NoError(t, err)
	return e, kill
}

// converge waits until replicas count all of the log and have one model, and verifies each by a replay.
func converge(t *testing.T, replicas ...*Engine) Replica {
	t.Helper()
	var first Replica
	defer func() {
		if t.Failed() {
			for _, e := range replicas {
				r, _ := e.Replica()
				t.Logf("%+v, busy %t", r, e.building(t))
			}
		}
	}()
	require.Eventually(t, func() bool {
		for i, e := range replicas {
			r, ok := e.Replica()
			if i == 0 {
				first = r
			}
			if !ok || r.Lag > 0 || r.Position != first.Position || r.Version != first.Version || r.Hash != first.Hash || e.Serves() != nil || e.building(t) {
				return false
			}
		}
		return first.Position > 0
	}, time.Minute, 20*time.Millisecond)
	for _, e := range replicas {
		verify(t, e)
	}
	return first
}

// building reports whether a build is under way or waits.
func (e *Engine) building(t *testing.T) (busy bool) {
	require.NoError(t, e.do(ctx, func(w *writer) { busy = w.building != nil || w.ahead != nil || w.judging || w.dirty }))
	return busy
}

// ids counts the events of a log that record an episode, by its id.
func ids(t *testing.T, e *Engine) map[string]int {
	t.Helper()
	n := map[string]int{}
	for ev, err := range decoded(ctx, e.log, 0, e.Head().Seq, nil) {
		require.NoError(t, err)
		if ep, ok := ev.value.(*episodic.Episode); ok {
			n[ep.ID]++
		}
	}
	return n
}

// Writers at two replicas, one of which ends in the middle and comes back, and an outage: what was acknowledged is in
// the log once, and both have one model.
func TestReplicasConverge(t *testing.T) {
	_, connect := sharedLog()
	links, stores := []*link{connect(), connect()}, []storage.Store{storage.NewMemory(), storage.NewMemory()}
	opts := Options{Serves: true, Measure: suggest.MeasureOptions{WithoutLearned: true}}
	engines, kills := make([]atomic.Pointer[Engine], 2), make([]func(), 2)
	start := func(i int) {
		e, kill := replicaOf(t, links[i], stores[i], opts)
		engines[i].Store(e)
		kills[i] = kill
	}
	start(0)
	start(1)
	const writers, each = 8, 100
	var acknowledged [2]atomic.Int64
	var refusals atomic.Int64
	failing := make(chan struct{}) // closed when the link of the first replica fails
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if w%2 == 0 && i == each/2 {
					<-failing
				}
				ep := episode(fmt.Sprintf("w%d-%d", w, i), "a", fmt.Sprintf("t%d", i%7), "c")
				for { // as a client does: the same episode again until it is acknowledged
					r, err := engines[w%2].Load().Record(ctx, "test", []episodic.Episode{ep})
					if err == nil {
						require.Empty(t, r.Rejected)
						acknowledged[w%2].Add(1)
						break
					}
					require.True(t, errors.Is(err, ErrLogUnavailable) || errors.Is(err, ErrClosed), "%v", err)
					refusals.Add(1)
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	reached := func(i int, n int64) {
		require.Eventually(t, func() bool { return acknowledged[i].Load() >= n }, time.Minute, time.Millisecond)
	}
	reached(1, 40)
	kills[1]()
	reached(0, 100)
	start(1)
	reached(1, 80)
	links[0].lost.Store(true) // the next append is stored, and its answer lost
	close(failing)
	require.Eventually(t, func() bool { return links[0].cut.Load() }, time.Minute, time.Millisecond)
	before := refusals.Load()
	require.Eventually(t, func() bool { return refusals.Load() > before }, time.Minute, time.Millisecond)
	_, err := engines[0].Load().Model().Next(suggest.NextRequest{Context: []string{"a"}})
	require.NoError(t, err, "reads go on")
	links[0].lost.Store(false)
	links[0].set(false)
	group.Wait()
	a, b := engines[0].Load(), engines[1].Load()
	r := converge(t, a, b)
	require.False(t, a.replica.builds.Load() && b.replica.builds.Load(), "one starts builds")
	for _, e := range []*Engine{a, b} {
		all := ids(t, e)
		require.Len(t, all, writers*each)
		for id, n := range all {
			require.Equal(t, 1, n, id)
		}
	}
	t.Logf("acknowledged %d and %d, refused %d, position %d", acknowledged[0].Load(), acknowledged[1].Load(), refusals.Load(), r.Position)

	fresh, _ := replicaOf(t, connect(), storage.NewMemory(), opts)
	require.Equal(t, r.Hash, converge(t, a, b, fresh).Hash)
}

// Entries of the catalog, steps and feedback are decided with what the other replica did; who forgets erases for all.
func TestReplicasDecideInOneOrder(t *testing.T) {
	_, connect := sharedLog()
	opts := Options{Serves: true}
	stores := []storage.Store{storage.NewMemory(), storage.NewMemory()}
	a, _ := replicaOf(t, connect(), stores[0], opts)
	b, kill := replicaOf(t, connect(), stores[1], opts)
	var group sync.WaitGroup
	var added, unchanged atomic.Int64
	for _, e := range []*Engine{a, b} {
		group.Go(func() {
			for i := range 30 {
				r, err := e.PutTools(ctx, []catalog.Tool{{ID: fmt.Sprintf("t%d", i), Name: "t", Description: "does a thing"}})
				require.NoError(t, err)
				added.Add(int64(r.Added))
				unchanged.Add(int64(r.Unchanged))
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 60, added.Load()+unchanged.Load())
	converge(t, a, b)
	stored := 0
	for e, err := range a.log.Read(ctx, 0) {
		require.NoError(t, err)
		if e.Payload[0] == kindTool {
			stored++
		}
	}
	require.Equal(t, 30, stored)

	_, err := a.SubmitTools(ctx, []catalog.Tool{{ID: "t1", Name: "t", Description: "does another thing"}})
	require.NoError(t, err)
	r, err := b.SubmitTools(ctx, []catalog.Tool{{ID: "t1", Name: "t", Description: "x", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"string"}}}`)}})
	require.NoError(t, err)
	require.Len(t, r.Rejected, 1)
	require.Contains(t, r.Rejected[0].Error, ErrShared.Error())

	seq := record(t, a, episode("secret", "t1", "t2"), episode("kept", "t2", "t3")).Seq
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	require.NoError(t, b.Wait(wait, seq), "what is written at one replica is read at the other")
	_, err = a.Forget(ctx, Selection{Episode: "secret"})
	require.NoError(t, err)
	converge(t, a, b)
	require.Equal(t, map[string]int{"kept": 1}, ids(t, b))
	kill()
	b, _ = replicaOf(t, connect(), stores[1], opts)
	converge(t, a, b)
	require.ErrorIs(t, NewWorkspaces(storage.NewMemory(), Options{Shared: connect()}).closing(t).Delete(ctx, "default"), ErrShared)
}

func (w *Workspaces) closing(t *testing.T) *Workspaces {
	t.Cleanup(func() { require.NoError(t, w.Close(ctx)) })
	return w
}

// A fold that computes something else at an equal position shows in the hash, and a replica refuses to serve
// where an event of the log is damaged, or its own history is another one.
func TestReplicasFindDifferences(t *testing.T) {
	t.Run("fold", func(t *testing.T) {
		_, connect := sharedLog()
		a, _ := replicaOf(t, connect(), storage.NewMemory(), Options{Serves: true})
		record(t, a, episode("e1", "a", "b"), episode("e2", "a", "c"), episode("e3", "c", "b"))
		_, err := a.Build(ctx)
		require.NoError(t, err)
		wrong := Options{Serves: true, measure: func(ctx context.Context, _ *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
			return suggest.Measure(ctx, history.NewState().Freeze(), o) // nothing is counted
		}}
		b, _ := replicaOf(t, connect(), storage.NewMemory(), wrong)
		require.Eventually(t, func() bool {
			x, _ := a.Replica()
			y, _ := b.Replica()
			return x.Lag+y.Lag == 0 && x.Version == y.Version && !a.building(t) && !b.building(t)
		}, time.Minute, 20*time.Millisecond)
		x, _ := a.Replica()
		y, _ := b.Replica()
		require.NotEqual(t, x.Hash, y.Hash)
	})
	for _, kind := range []bool{false, true} {
		t.Run(fmt.Sprint("bit ", kind), func(t *testing.T) {
			_, connect := sharedLog()
			a, _ := replicaOf(t, connect(), storage.NewMemory(), Options{Serves: true})
			record(t, a, episode("e1", "a", "b"), episode("e2", "a", "c"), episode("e3", "c", "b"))
			l := connect()
			l.flip.Store(2)
			l.kind.Store(kind)
			b, _ := replicaOf(t, l, storage.NewMemory(), Options{Serves: true})
			require.Eventually(t, func() bool { return errors.Is(b.Serves(), ErrDiverged) }, time.Minute, 20*time.Millisecond)
			require.ErrorContains(t, b.Serves(), "event 2")
			require.NotErrorIs(t, b.Serves(), ErrNewer)
			_, err := b.Record(ctx, "test", []episodic.Episode{episode("e4", "a")})
			require.ErrorIs(t, err, ErrDiverged)
			require.NoError(t, a.Serves())
		})
	}
	t.Run("history", func(t *testing.T) {
		_, connect := sharedLog()
		store := storage.NewMemory()
		alone := NewWorkspaces(store, Options{})
		e, err := alone.Get(ctx, DefaultWorkspace)
		require.NoError(t, err)
		record(t, e, episode("own", "a", "b"))
		require.NoError(t, alone.Close(ctx))
		w := NewWorkspaces(store, Options{Shared: connect()}).closing(t)
		_, err = w.Get(ctx, DefaultWorkspace)
		require.ErrorIs(t, err, ErrDiverged)
		require.ErrorContains(t, err, "waymark restore --log")
	})
}

// When the replica that starts builds ends or is cut off, another one starts them once its lease has run out.
func TestAnotherReplicaStartsBuilds(t *testing.T) {
	for _, cut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			_, connect := sharedLog()
			links := []*link{connect(), connect()}
			a, kill := replicaOf(t, links[0], storage.NewMemory(), Options{Serves: true})
			time.Sleep(time.Second)
			b, other := replicaOf(t, links[1], storage.NewMemory(), Options{Serves: true})
			defer other()
			time.Sleep(time.Minute)
			require.True(t, a.replica.builds.Load() && !b.replica.builds.Load())
			if cut {
				links[0].set(true)
				defer kill()
			} else {
				kill()
			}
			time.Sleep(buildLease + 2*sharedLook)
			require.True(t, b.replica.builds.Load())
			require.False(t, cut && a.replica.builds.Load())
			record(t, b, episode("e1", "a", "b"))
			time.Sleep(time.Minute)
			require.NotZero(t, b.current.Load().built, "a build was started")
		})
	}
}
