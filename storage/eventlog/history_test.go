package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/storage/eventlog/logtest"
)

// The operations of several clients on one log, with the moments of call and answer, are a history. Porcupine looks for
// one order of them, which agrees with those moments, in which a single list would have answered the same.
type (
	logCall struct {
		what   string // append, end
		before storage.Head
		after  storage.Head // of an append, the end of the log where it is stored
	}
	logAnswer struct {
		head    storage.Head // end: of what was read
		at      uint64       // append: the end that the conflict names
		refused bool
	}
	leaseState struct {
		holder int
		epoch  uint64
	}
)

// ancestry knows what events were sealed after what others: the hash of the chain names all of a past.
type ancestry struct {
	mu     sync.Mutex
	before map[storage.Head]storage.Head
}

func (a *ancestry) add(before storage.Head, events []storage.Sealed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range events {
		a.before[events[i].Head()] = before
		before = events[i].Head()
	}
}

// contains reports whether a log that ends at head has, at its place, the event of another head.
func (a *ancestry) contains(head, other storage.Head) bool {
	for head.Seq > other.Seq {
		head = a.before[head]
	}
	return head == other
}

func (a *ancestry) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return storage.Head{} },
		Step: func(state, input, output any) (bool, any) {
			head, call, answer := state.(storage.Head), input.(logCall), output.(logAnswer)
			switch stored := a.contains(head, call.after); {
			case call.what == "end":
				return answer.head == head, head
			case answer.refused:
				return answer.at == head.Seq && head != call.before && !stored, head
			case head == call.before:
				return true, call.after
			default:
				return stored, head
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// leaseModel knows no time: a lease may run out at any moment. But no epoch has two holders, and none comes back.
var leaseModel = porcupine.Model{
	Init: func() any { return leaseState{} },
	Step: func(state, input, output any) (bool, any) {
		s, next := state.(leaseState), leaseState{input.(int), output.(uint64)}
		return next == s || next.epoch > s.epoch, next
	},
}

// workload is what clients do with a log while something disturbs it.
type workload struct {
	mu     sync.Mutex
	began  time.Time
	logs   []porcupine.Operation
	leases []porcupine.Operation
	past   ancestry
	failed int

	broken, diverged bool // the engine is broken on purpose; a client saw it itself

	half chan struct{} // a message at half of the work of the first client
}

func newWorkload(rounds int) *workload {
	return &workload{began: time.Now(), past: ancestry{before: map[storage.Head]storage.Head{}}, half: make(chan struct{}, rounds)}
}

func (w *workload) record(to *[]porcupine.Operation, client int, call time.Duration, input, output any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*to = append(*to, porcupine.Operation{ClientId: client, Input: input, Call: int64(call), Output: output, Return: int64(time.Since(w.began))})
}

// client takes leases, looks at the end, and appends at the end it knows, which may be an old one. A call that fails is
// repeated until its outcome is known, and is one operation from the first attempt on.
func (w *workload) client(t *testing.T, l Log, client, calls int) {
	r := rand.New(rand.NewPCG(7, uint64(client)))
	const ws = "history"
	var known storage.Head
	until := func(call func(ctx context.Context) error) {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			err := call(ctx)
			cancel()
			if err == nil || t.Context().Err() != nil {
				return
			}
			w.mu.Lock()
			if errors.Is(err, storage.ErrDamaged) || errors.Is(err, ErrDiverged) {
				w.diverged = true
				w.mu.Unlock()
				require.True(t, w.broken, "%v", err)
				return
			}
			w.failed++
			w.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
		}
	}
	for n := range calls {
		if client == 0 && n%60 == 30 {
			w.half <- struct{}{}
		}
		time.Sleep(time.Duration(r.IntN(2)) * time.Millisecond)
		began := time.Since(w.began)
		switch what := r.IntN(10); {
		case what < 2:
			ttl := time.Duration(1+r.IntN(20)) * time.Millisecond
			until(func(ctx context.Context) error {
				epoch, err := l.Lease(ctx, "history", ttl)
				if err == nil {
					w.record(&w.leases, client, began, client, epoch)
				} else if errors.Is(err, ErrHeld) {
					return nil
				}
				return err
			})
		case what < 5:
			until(func(ctx context.Context) error {
				head, err := w.end(ctx, l, ws, n%2 == 0)
				if err == nil {
					known = head
					w.record(&w.logs, client, began, logCall{what: "end"}, logAnswer{head: head})
				}
				return err
			})
		default:
			before := known
			events := sealed(t, before, 1+r.IntN(3), fmt.Sprintf("%d-%d", client, n))
			w.past.add(before, events)
			call := logCall{"append", before, events[len(events)-1].Head()}
			until(func(ctx context.Context) error {
				err := l.Append(ctx, ws, events)
				var conflict *ErrConflict
				if errors.As(err, &conflict) {
					w.record(&w.logs, client, began, call, logAnswer{refused: true, at: conflict.At})
					return nil
				} else if err == nil {
					known = call.after
					w.record(&w.logs, client, began, call, logAnswer{})
				}
				return err
			})
		}
	}
}

// end looks at the end of a log, by asking for it or by reading what came since.
func (w *workload) end(ctx context.Context, l Log, ws string, read bool) (head storage.Head, err error) {
	if !read {
		return l.Head(ctx, ws)
	}
	for e, err := range l.Read(ctx, ws, 0, false) {
		if err != nil {
			return head, err
		}
		head = e.Head()
	}
	return head, nil
}

// Histories of each engine, with its process killed or its connections cut, have an order.
func TestHistoriesAreLinearizable(t *testing.T) {
	rounds := 1
	if text := os.Getenv("WAYMARK_HISTORY_ROUNDS"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	local := func(store storage.Store) (func(*testing.T) Log, func()) {
		return func(*testing.T) Log { return NewLocal(store) }, nil
	}
	for name, start := range map[string]func(t *testing.T) (open func(*testing.T) Log, disturb func()){
		"memory": func(*testing.T) (func(*testing.T) Log, func()) { return local(storage.NewMemory()) },
		"badger": func(t *testing.T) (func(*testing.T) Log, func()) {
			b, err := storage.Open(t.TempDir(), storage.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			return local(b)
		},
		"postgres": func(t *testing.T) (func(*testing.T) Log, func()) {
			p := logtest.StartPostgres(t)
			return opener(p.Address, Options{}), func() { p.Crash(); p.Start() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, disturb := start(t)
			w := newWorkload(rounds)
			var group, disturbing sync.WaitGroup
			for client := range 5 {
				l := open(t)
				group.Go(func() { w.client(t, l, client, 60*rounds) })
			}
			disturbing.Go(func() {
				for range w.half {
					if disturb != nil {
						disturb()
					}
				}
			})
			group.Wait()
			close(w.half)
			disturbing.Wait()
			w.check(t)
		})
	}
}

func (w *workload) check(t *testing.T) {
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(w.past.model(), w.logs, time.Minute), "log")
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(leaseModel, w.leases, time.Minute), "leases")
	t.Logf("%d calls of the log, %d leases, %d failed", len(w.logs), len(w.leases), w.failed)
}

// An engine that says where the log ended a while ago, or acknowledges what it does not store, has no such order.
func TestHistoriesFindFaults(t *testing.T) {
	for name, broken := range map[string]func(l Log) Log{
		"old ends":     func(l Log) Log { return &oldEnds{Log: l} },
		"lost appends": func(l Log) Log { return &lostAppends{Log: l} },
		"one lease":    func(l Log) Log { return l }, // all clients are one holder
	} {
		w := newWorkload(1)
		w.broken = true
		l := broken(NewLocal(storage.NewMemory()))
		var group sync.WaitGroup
		for client := range 3 {
			group.Go(func() { w.client(t, l, client, 60) })
		}
		group.Wait()
		log := porcupine.CheckOperationsTimeout(w.past.model(), w.logs, time.Minute)
		require.Equal(t, name != "one lease", log == porcupine.Illegal || w.diverged, name)
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(leaseModel, w.leases, time.Minute))
	}
}

type oldEnds struct {
	Log
	mu  sync.Mutex
	was storage.Head
}

func (l *oldEnds) Head(ctx context.Context, ws string) (storage.Head, error) {
	head, err := l.Log.Head(ctx, ws)
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.was
	l.was = head
	return was, err
}

type lostAppends struct {
	Log
	mu sync.Mutex
	n  int
}

func (l *lostAppends) Append(ctx context.Context, ws string, events []storage.Sealed) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n%5 == 0 {
		return nil
	}
	return l.Log.Append(ctx, ws, events)
}

// The primary of PostgreSQL ends and its synchronous standby takes over: what was acknowledged is there, and the chain
// goes on.
func TestStandbyTakesOver(t *testing.T) {
	primary := logtest.StartPostgres(t)
	standby, address := primary.Standby()
	l := opener(address, Options{})(t)
	const ws, each, half = "standby", 3, 20
	var head storage.Head
	var stalled time.Duration
	var promoted sync.WaitGroup // it takes writes before it says so
	for n := range 2 * half {
		if n == half {
			primary.Crash()
			promoted.Go(standby.Promote)
		}
		events := sealed(t, head, each, fmt.Sprint("part", n))
		began := time.Now()
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			return l.Append(ctx, ws, events) == nil
		}, time.Minute, 10*time.Millisecond)
		stalled = max(stalled, time.Since(began))
		head = events[each-1].Head()
	}
	promoted.Wait()
	require.Len(t, contents(t, l, ws, storage.Head{}), 2*half*each)
	t.Logf("%d events, 0 lost, longest append %v", 2*half*each, stalled.Round(10*time.Millisecond))
}
