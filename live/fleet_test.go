package live

import (
	"fmt"
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
	replicas []*natsReplica
	acked    atomic.Int64
	refused  atomic.Int64
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
	}
}

// Replicas on NATS: the node and a replica end and come back, and a replica is cut off. What was acknowledged is in the
// log once, and both have one model. TestSoak in cmd/waymark does it with processes.
func TestReplicasOnNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("too long under the race detector, for which TestSimulatedFleets runs the same engines")
	}
	const writers, replicas = 4, 2
	node := logtest.StartNATS(t, server.Options{StoreDir: t.TempDir(), Port: server.RANDOM_PORT})
	f := &natsFleet{t: t, ended: make(chan struct{})}
	for i := range replicas {
		l, err := eventlog.Open(t.Context(), node.ClientURL(), eventlog.Options{Unsafe: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		f.replicas = append(f.replicas, &natsReplica{link: &link{Log: l, leases: l, downed: make(chan struct{})}, store: storage.NewMemory()})
		f.start(i)
	}
	written := make([]int, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() { written[w] = f.write(w) })
	}
	progress := func() { // goes on
		from := f.acked.Load()
		require.Eventually(t, func() bool { return f.acked.Load() >= from+20 }, 2*time.Minute, 5*time.Millisecond)
	}
	progress()
	node.Stop()
	time.Sleep(time.Second)
	node.Start()
	progress()
	f.replicas[1].kill()
	time.Sleep(500 * time.Millisecond)
	f.start(1)
	progress()
	f.replicas[0].link.set(true)
	time.Sleep(200 * time.Millisecond)
	f.replicas[0].link.set(false)
	progress()
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
	t.Logf("%d acknowledged, 0 lost, 0 twice, %d refused", total, f.refused.Load())
}
