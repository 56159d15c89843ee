package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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
)

// Simulated servers: replicas on one log in memory, in the virtual time of a bubble. A seed decides how long each call
// takes, which requests and answers are lost, which arrive twice or late, when a replica is cut off and when one dies.
// Clients repeat a write until some replica acknowledges it. At the end every write counts once and all models are equal.

var (
	errDead    = errors.New("this process has ended")
	errLateSim = errors.New("no answer")
)

// sabotage is what a simulation breaks on purpose, to be found.
type sabotage int

const (
	nothing     sabotage = iota
	wrongFold            // one replica counts an episode that the log does not have
	retryAsNew           // the repetition of a write is another write
	losesAppend          // the log acknowledges an append that it does not store
)

// simLink is the connection of one replica. Calls of one method are made one after the other, so each has fates of
// its own, whatever order the scheduler prefers.
type simLink struct {
	*link
	broken sabotage
	late   *sync.WaitGroup // calls that arrive after their caller has given up
	mu     sync.Mutex
	fates  map[string]*rand.Rand
	seed   [2]uint64
	note   func(what string, err error)
	chosen atomic.Int64 // appends
}

// fate is what becomes of a call.
type fate struct {
	before, after time.Duration
	what          int // of 100
}

func (l *simLink) fate(method string) fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.fates[method]
	if r == nil {
		h := fnv.New64a()
		h.Write([]byte(method))
		r = rand.New(rand.NewPCG(l.seed[0]^h.Sum64(), l.seed[1]))
		l.fates[method] = r
	}
	return fate{time.Duration(r.Int64N(int64(20 * time.Millisecond))), time.Duration(r.Int64N(int64(20 * time.Millisecond))), r.IntN(100)}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (l *simLink) Append(ctx context.Context, workspace string, events []storage.Sealed) (err error) {
	f := l.fate("append")
	defer func() { l.note("append", err) }()
	if err := pause(ctx, f.before); err != nil {
		return err
	}
	if l.broken == losesAppend && l.chosen.Add(1) == 5 {
		return nil
	}
	again := func(after time.Duration) {
		l.late.Go(func() {
			time.Sleep(after)
			_ = l.link.Append(context.WithoutCancel(ctx), workspace, events)
		})
	}
	switch {
	case f.what < 4: // lost on the way
		return errLateSim
	case f.what < 8: // arrives when later ones have
		again(f.after * 500)
		return errLateSim
	case f.what < 12: // arrives twice
		again(f.after * 50)
	}
	if err = l.link.Append(ctx, workspace, events); err != nil {
		return err
	}
	if err := pause(ctx, f.after); err != nil {
		return err
	}
	if f.what > 92 { // stored, and the answer lost
		return errLateSim
	}
	return nil
}

func (l *simLink) Head(ctx context.Context, workspace string) (head storage.Head, err error) {
	f := l.fate("head")
	defer func() { l.note("head", err) }()
	if err := pause(ctx, f.before); err != nil {
		return head, err
	}
	if f.what < 3 {
		return head, errLateSim
	}
	if head, err = l.link.Head(ctx, workspace); err != nil {
		return head, err
	}
	return head, pause(ctx, f.after)
}

func (l *simLink) Read(ctx context.Context, workspace string, after uint64, follow bool) iter.Seq2[storage.Sealed, error] {
	return func(yield func(storage.Sealed, error) bool) {
		method := fmt.Sprint("read ", follow)
		f := l.fate(method)
		if err := pause(ctx, f.before); err != nil {
			yield(storage.Sealed{}, err)
			return
		}
		for e, err := range l.link.Read(ctx, workspace, after, follow) {
			if f = l.fate(method); err == nil && f.what < 3 {
				e, err = storage.Sealed{}, errLateSim
			} else if err == nil && f.what < 10 {
				err = pause(ctx, f.after)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (l *simLink) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	f := l.fate("lease " + name)
	if err := pause(ctx, f.before); err != nil {
		return 0, err
	}
	if f.what < 5 {
		return 0, errLateSim
	}
	epoch, err := l.link.Lease(ctx, name, ttl)
	if f.what > 94 {
		return 0, errLateSim
	}
	return epoch, err
}

// mortal is the store of a process that may die: from then on nothing is written.
type mortal struct {
	storage.Store
	dead atomic.Bool
}

func (m *mortal) alive() error {
	if m.dead.Load() {
		return errDead
	}
	return nil
}

func (m *mortal) Log(workspace string) (storage.Log, error) {
	log, err := m.Store.Log(workspace)
	return mortalLog{log.(storage.Installer), m}, err
}

func (m *mortal) Table(workspace string) (storage.Table, error) {
	table, err := m.Store.Table(workspace)
	return mortalTable{table, m}, err
}

type mortalLog struct {
	storage.Installer
	m *mortal
}

func (l mortalLog) Append(ctx context.Context, records []storage.Record) ([]storage.Receipt, error) {
	if err := l.m.alive(); err != nil {
		return nil, err
	}
	return l.Installer.Append(ctx, records)
}

func (l mortalLog) Install(ctx context.Context, events []storage.Sealed) error {
	return cmp.Or(l.m.alive(), l.Installer.Install(ctx, events))
}

func (l mortalLog) Erase(ctx context.Context, seqs []uint64) error {
	return cmp.Or(l.m.alive(), l.Installer.Erase(ctx, seqs))
}

func (l mortalLog) DropSnapshots(ctx context.Context) error {
	return cmp.Or(l.m.alive(), l.Installer.DropSnapshots(ctx))
}

type mortalTable struct {
	storage.Table
	m *mortal
}

func (m *mortal) System() storage.Table { return mortalTable{m.Store.System(), m} }

func (t mortalTable) Delete(ctx context.Context, key string) error {
	return cmp.Or(t.m.alive(), t.Table.Delete(ctx, key))
}

func (t mortalTable) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := t.m.alive(); err != nil {
		return 0, err
	}
	return t.Table.Put(ctx, key, value)
}

// simReplica is one process, in all its lives.
type simReplica struct {
	link   *simLink
	disk   storage.Store
	store  *mortal
	shared *eventlog.Shared
	spaces *Workspaces
	engine atomic.Pointer[Engine]
	wrong  bool
}

func (r *simReplica) start(ctx context.Context) error {
	r.link.set(false)
	r.store = &mortal{Store: r.disk}
	var err error
	for r.shared, err = eventlog.Share(ctx, r.store, r.link); errors.Is(err, errLateSim); r.shared, err = eventlog.Share(ctx, r.store, r.link) {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	r.spaces = NewWorkspaces(r.shared, Options{Serves: true, Shared: r.link, Measure: suggest.MeasureOptions{WithoutLearned: true}})
	e, err := r.spaces.Open(ctx, DefaultWorkspace)
	r.engine.Store(e)
	if err == nil && r.wrong {
		err = e.do(ctx, func(w *writer) {
			ep := episode("only here", "a", "t1", "b")
			w.state.Record(&ep)
		})
	}
	return err
}

// crash ends the process where it is: nothing that it does from now on has an effect.
func (r *simReplica) crash(ctx context.Context) error {
	r.store.dead.Store(true)
	r.link.set(true)
	return r.close(ctx)
}

func (r *simReplica) close(ctx context.Context) error {
	defer r.shared.Leave()
	return r.spaces.Close(ctx)
}

// simulation is one run.
type simulation struct {
	seed     uint64
	broken   sabotage
	replicas []*simReplica
	late     sync.WaitGroup
	mu       sync.Mutex
	trace    []string
	began    time.Time
	writes   map[string]bool // episodes, by the name under which their clients know them
}

const (
	simReplicas, simClients, simWrites, simFaults = 3, 4, 7, 4

	simLimit = time.Hour // of virtual time
)

// simulate runs servers and reports what is wrong at its end.
func simulate(t *testing.T, seed uint64, broken sabotage) (trace []string, err error) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{seed: seed, broken: broken, writes: map[string]bool{}, began: time.Now()}
		_, connect := sharedLog()
		for i := range simReplicas {
			l := &simLink{link: connect(), broken: broken, late: &s.late, fates: map[string]*rand.Rand{}, seed: [2]uint64{seed, uint64(i)}}
			l.note = func(what string, err error) { s.note("replica %d: %s: %v", i, what, err) }
			s.replicas = append(s.replicas, &simReplica{link: l, disk: storage.NewMemory(), wrong: broken == wrongFold && i == simReplicas-1})
		}
		err = s.run(t.Context())
		trace = s.trace
	})
	return trace, err
}

func (s *simulation) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf("%v ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

func (s *simulation) run(ctx context.Context) (err error) {
	defer s.late.Wait() // calls of replicas that were closed
	for _, r := range s.replicas {
		if err := r.start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close(ctx)) }()
	}
	clients := make([]error, simClients)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() { clients[c] = s.client(ctx, c) })
	}
	faults := s.faults(ctx)
	group.Wait()
	s.late.Wait()
	if err := errors.Join(append(clients, faults)...); err != nil {
		return err
	}
	return s.check(ctx)
}

// faults cuts off and ends replicas, one after the other.
func (s *simulation) faults(ctx context.Context) error {
	r := rand.New(rand.NewPCG(s.seed, 1<<32))
	for range simFaults {
		time.Sleep(time.Duration(r.Int64N(int64(700 * time.Millisecond))))
		victim := r.IntN(simReplicas)
		long := time.Duration(r.Int64N(int64(8 * time.Second)))
		switch one := s.replicas[victim]; r.IntN(2) {
		case 0:
			s.note("cut off %d for %v", victim, long)
			one.link.set(true)
			time.Sleep(long)
			one.link.set(false)
		default:
			s.note("end %d for %v", victim, long)
			if err := one.crash(ctx); err != nil {
				return err
			}
			time.Sleep(long)
			if err := one.start(ctx); err != nil {
				return fmt.Errorf("replica %d does not start again: %w", victim, err)
			}
		}
	}
	return nil
}

// client writes episodes, steps and tools, each until a replica acknowledges it.
func (s *simulation) client(ctx context.Context, c int) error {
	r := rand.New(rand.NewPCG(s.seed, uint64(1000+c)))
	for n := range simWrites {
		time.Sleep(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		name, kind, first := fmt.Sprintf("c%d-%d", c, n), r.IntN(6), r.IntN(simReplicas)
		tool := fmt.Sprintf("t%d", r.IntN(9))
		for try := 0; ; try++ {
			e := s.replicas[(first+try/3)%simReplicas].engine.Load()
			err := s.write(ctx, e, kind, name, tool, try)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrLogUnavailable) && !errors.Is(err, ErrClosed) && !errors.Is(err, errDead) && !errors.Is(err, errLateSim) {
				return fmt.Errorf("client %d, write %d: %w", c, n, err)
			}
			if time.Since(s.began) > simLimit {
				return fmt.Errorf("client %d, write %d is refused for ever: %w", c, n, err)
			}
			time.Sleep(time.Duration(50+r.IntN(100)) * time.Millisecond)
		}
	}
	return nil
}

func (s *simulation) write(ctx context.Context, e *Engine, kind int, name, tool string, try int) error {
	if kind == 0 {
		_, err := e.PutTools(ctx, []catalog.Tool{{ID: tool, Name: tool, Description: "does what " + tool + " does"}})
		return err
	}
	s.mu.Lock()
	s.writes[name] = true
	s.mu.Unlock()
	id := name
	if s.broken == retryAsNew && try > 0 {
		id = fmt.Sprint(name, "/", try)
	}
	if kind == 1 {
		for n := range 3 {
			p := Performed{Place: episodic.Place{Episode: id, Number: n + 1, Time: s.began}, Step: episodic.Step{ID: fmt.Sprint("s", n), Tool: tool}}
			if _, err := e.Perform(ctx, "sim", p); err != nil {
				return err
			}
		}
		return nil
	}
	result, err := e.Record(ctx, "sim", []episodic.Episode{episode(id, "a", tool, "b")})
	if err == nil && len(result.Rejected) > 0 {
		err = fmt.Errorf("episode %s is rejected: %s", id, result.Rejected[0].Error)
	}
	return err
}

// check waits until all replicas are at rest, and compares them with each other and with what was written.
func (s *simulation) check(ctx context.Context) error {
	for {
		states := make([]Replica, simReplicas)
		rest := true
		for i, r := range s.replicas {
			e := r.engine.Load()
			if err := e.Serves(); errors.Is(err, ErrDiverged) {
				return err
			}
			states[i], _ = e.Replica()
			var busy bool
			err := e.do(ctx, func(w *writer) { busy = w.building != nil || w.ahead != nil || w.judging || w.dirty })
			rest = rest && err == nil && !busy && states[i].Lag == 0 && states[i].Log == "reachable" && states[i].Version == states[0].Version
		}
		if rest {
			for _, r := range states {
				if r.Hash != states[0].Hash {
					return fmt.Errorf("models of version %s have hashes %s and %s", r.Version, states[0].Hash, r.Hash)
				}
			}
			break
		}
		if time.Since(s.began) > simLimit {
			return fmt.Errorf("replicas do not come to rest: %+v", states)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for i, r := range s.replicas {
		if err := s.once(ctx, r.engine.Load()); err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
	}
	return nil
}

// once checks that each acknowledged write is in the log one time.
func (s *simulation) once(ctx context.Context, e *Engine) error {
	episodes, steps := map[string]int{}, map[string]int{}
	for ev, err := range decoded(ctx, e.log, 0, e.Head().Seq, nil) {
		if err != nil {
			return err
		}
		switch v := ev.value.(type) {
		case *episodic.Episode:
			episodes[firstTry(v.ID)]++
		case *begun:
			episodes[firstTry(v.ID)]++
		case *episodic.Performed:
			steps[v.Episode+" "+v.Step.ID]++
		}
	}
	for name := range s.writes {
		if episodes[name] != 1 {
			return fmt.Errorf("episode %s is %d times in the log", name, episodes[name])
		}
	}
	for name, n := range steps {
		if n != 1 {
			return fmt.Errorf("step %s is %d times in the log", name, n)
		}
	}
	return nil
}

// firstTry is the name of a write by the id of one of its repetitions.
func firstTry(id string) string {
	if i := slices.Index([]byte(id), '/'); i >= 0 {
		return id[:i]
	}
	return id
}

// simSeeds are the seeds to run: WAYMARK_SEEDS of them, or the one that WAYMARK_SEED names.
func simSeeds(t *testing.T, count int) (first, n uint64) {
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		v, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		return v
	}
	if seed := number("WAYMARK_SEED", 0); seed > 0 {
		return seed, 1
	}
	return 1, number("WAYMARK_SEEDS", uint64(count))
}

func TestSimulatedServers(t *testing.T) {
	first, n := simSeeds(t, map[bool]int{true: 8, false: 1000}[testing.Short()])
	const parts = 4
	for part := range uint64(parts) {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			for seed := first + part; seed < first+n; seed += parts {
				if trace, err := simulate(t, seed, nothing); err != nil {
					t.Fatalf("WAYMARK_SEED=%d fails: %v\n%s", seed, err, trace)
				}
			}
		})
	}
	t.Logf("%d seeds", n)
}

// What is broken on purpose is found. A seed fixes faults, delays and what clients do, not the order of goroutines at one
// instant, so a run of the same seed may differ.
func TestSimulationFindsFaults(t *testing.T) {
	for broken, want := range map[sabotage]string{
		wrongFold:   "hash",
		retryAsNew:  "times in the log",
		losesAppend: "differ",
	} {
		found := false
		for seed := uint64(1); seed <= 20 && !found; seed++ {
			_, err := simulate(t, seed, broken)
			if found = err != nil; found {
				require.ErrorContains(t, err, want)
				t.Logf("fault %d: seed %d: %v", broken, seed, err)
			}
		}
		require.True(t, found, "fault %d", broken)
	}
}
