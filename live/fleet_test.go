package live

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/storage/eventlog"
	"waymark/storage/eventlog/logtest"
	"waymark/suggest"
)

// natsFleet is replicas on NATS with writers that repeat each episode until it is acknowledged.
type natsFleet struct {
	t        *testing.T
	address  string
	replicas []*natsReplica
	acked    atomic.Int64
	refused  atomic.Int64
	gap      atomic.Int64 // the longest time without an acknowledgement
	last     atomic.Int64
	ended    chan struct{}
}

type natsReplica struct {
	link   *link
	store  storage.Store
	engine atomic.Pointer[Engine]
	kill   func()
}

func (f *natsFleet) start(i int) {
	r := f.replicas[i]
	e, kill := replicaOf(f.t, r.link, r.store, Options{Serves: true, Measure: suggest.MeasureOptions{WithoutLearned: true}})
	r.kill = kill
	r.engine.Store(e)
}

// write records episodes until the fleet ends; each is written in the end.
func (f *natsFleet) write(w int) (written int) {
	for n := 0; ; n++ {
		select {
		case <-f.ended:
			return n
		default:
		}
		ep := episode(fmt.Sprintf("w%d-%d", w, n), "a", fmt.Sprintf("t%d", n%7), "c")
		for try := 0; ; try++ {
			_, err := f.replicas[(w+try/20)%len(f.replicas)].engine.Load().Record(ctx, "test", []episodic.Episode{ep})
			if err == nil {
				break
			}
			f.refused.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
		f.acked.Add(1)
		now := time.Now().UnixNano()
		if was := f.last.Swap(now); was > 0 && now-was > f.gap.Load() {
			f.gap.Store(now - was)
		}
	}
}

// ask has the first replica answer questions, and returns how long the slowest but one in a hundred took.
func (f *natsFleet) ask(until <-chan struct{}) (p99 time.Duration) {
	var took []time.Duration
	for {
		select {
		case <-until:
			slices.Sort(took)
			return took[len(took)*99/100]
		case <-time.After(2 * time.Millisecond):
		}
		began := time.Now()
		_, err := f.replicas[0].engine.Load().Model().Next(suggest.NextRequest{Context: []string{"a"}, Limit: 5})
		require.NoError(f.t, err)
		took = append(took, time.Since(began))
	}
}

// Replicas on NATS: nodes and replicas end in turn and come back, and one is cut off. What was acknowledged is in the
// log once, and all have one model. The long form has three nodes and replicas and 64 writers, for WAYMARK_FLEET.
func TestReplicasOnNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("too long under the race detector, for which TestSimulatedFleets runs the same engines")
	}
	long, writers, replicas := os.Getenv("WAYMARK_FLEET"), 4, 2
	var nodes []*logtest.NATS
	f := &natsFleet{t: t, ended: make(chan struct{})}
	var log func() eventlog.Log
	open := func(opts eventlog.Options) func() eventlog.Log {
		return func() eventlog.Log {
			l, err := eventlog.Open(t.Context(), f.address, opts)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
			return l
		}
	}
	if long != "" {
		writers, replicas = 64, 3
		nodes, f.address = logtest.StartCluster(t)
		log = open(eventlog.Options{})
	} else {
		nodes = []*logtest.NATS{logtest.StartNATS(t, server.Options{StoreDir: t.TempDir(), Port: server.RANDOM_PORT})}
		f.address, log = nodes[0].ClientURL(), open(eventlog.Options{Unsafe: true})
	}
	for i := range replicas {
		l := log()
		f.replicas = append(f.replicas, &natsReplica{link: &link{Log: l, leases: l, downed: make(chan struct{})}, store: storage.NewMemory()})
		f.start(i)
	}
	written := make([]int, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { written[w] = f.write(w) })
	}
	progress := func(n int64) { // goes on
		from := f.acked.Load()
		require.Eventually(t, func() bool { return f.acked.Load() >= from+n }, 2*time.Minute, 5*time.Millisecond)
	}
	progress(20)
	calm := make(chan struct{})
	time.AfterFunc(map[bool]time.Duration{true: 3 * time.Second, false: 300 * time.Millisecond}[long != ""], func() { close(calm) })
	undisturbed := f.ask(calm)
	disturbed, asked := make(chan struct{}), make(chan time.Duration, 1)
	go func() { asked <- f.ask(disturbed) }()
	limit, _ := time.ParseDuration(long)
	rounds := 0
	for began := time.Now(); rounds == 0 || time.Since(began) < limit; rounds++ {
		node := nodes[rounds%len(nodes)]
		node.Stop()
		time.Sleep(time.Second)
		node.Start()
		progress(20)
		victim := 1 + rounds%(replicas-1) // the first one answers questions
		f.replicas[victim].kill()
		time.Sleep(500 * time.Millisecond)
		f.start(victim)
		progress(20)
		f.replicas[0].link.set(true)
		time.Sleep(map[bool]time.Duration{true: 8 * time.Second, false: 200 * time.Millisecond}[long != ""])
		f.replicas[0].link.set(false)
		progress(20)
	}
	close(disturbed)
	close(f.ended)
	group.Wait()
	var engines []*Engine
	for _, r := range f.replicas {
		engines = append(engines, r.engine.Load())
	}
	converge(t, engines...)
	total := 0
	for _, n := range written {
		total += n
	}
	for _, e := range engines {
		all := ids(t, e)
		require.Len(t, all, total)
		for id, n := range all {
			require.Equal(t, 1, n, id)
		}
	}
	t.Logf("%d rounds, %d acknowledged on %d replicas, 0 lost, 0 twice, %d refused, longest gap %v, p99 of next %v undisturbed and %v disturbed",
		rounds, total, replicas, f.refused.Load(), time.Duration(f.gap.Load()).Round(10*time.Millisecond), undisturbed.Round(time.Microsecond), (<-asked).Round(time.Microsecond))
}
