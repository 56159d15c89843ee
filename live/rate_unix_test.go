//go:build unix

package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// How fast a replica catches up on a log in memory, from nothing and from a snapshot and the rest, and how long local
// questions take beside those of a process that is alone.
func TestReplicaRates(t *testing.T) {
	if os.Getenv("WAYMARK_RATES") == "" {
		t.Skip("a measurement: WAYMARK_RATES=1 runs it")
	}
	const first, rest = 20_000, 2_000
	opts := Options{Serves: true, Measure: suggest.MeasureOptions{WithoutLearned: true}}
	_, connect := sharedLog()
	a, _ := replicaOf(t, connect(), storage.NewMemory(), opts)
	alone := workspace(t, storage.NewMemory(), opts)
	r := rand.New(rand.NewPCG(1, 1))
	write := func(from, to int) {
		for ; from < to; from += 500 {
			var batch []episodic.Episode
			for i := range 500 {
				var tools []string
				for range 4 {
					tools = append(tools, fmt.Sprintf("s%d:tool%d", r.IntN(10), r.IntN(13)))
				}
				batch = append(batch, episode(fmt.Sprint("e", from+i), tools...))
			}
			record(t, a, batch...)
			record(t, alone, batch...)
		}
	}
	write(0, first)
	store := storage.NewMemory()
	processor := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	caughtUp := func() (e *Engine, kill func(), took time.Duration) {
		began := processor()
		e, kill = replicaOf(t, connect(), store, opts)
		for e.Head().Seq < a.Head().Seq || e.Counted() < a.Counted() {
			time.Sleep(time.Millisecond)
		}
		return e, kill, processor() - began
	}
	b, kill, fromNothing := caughtUp()
	_, err := a.Build(ctx)
	require.NoError(t, err)
	converge(t, a, b)
	require.NoError(t, alone.do(ctx, func(*writer) {}))
	kill()
	write(first, first+rest)
	b, _, fromSnapshot := caughtUp()
	total := float64(b.Head().Seq)
	t.Logf("events caught up in a second of processor time: %.0f from nothing, %.0f from a snapshot and %d events", total/fromNothing.Seconds(), total/fromSnapshot.Seconds(), rest)

	_, err = a.Build(ctx)
	require.NoError(t, err)
	_, err = alone.Build(ctx)
	require.NoError(t, err)
	converge(t, a, b)
	took := map[*Engine][]time.Duration{}
	for i := range 20_000 { // in turns, so that the machine is the same for both
		for _, e := range []*Engine{alone, b} {
			began := time.Now()
			_, err := e.Model().Next(suggest.NextRequest{Context: []string{fmt.Sprintf("s%d:tool%d", i%10, i%13)}, Limit: 5})
			require.NoError(t, err)
			took[e] = append(took[e], time.Since(began))
		}
	}
	for e, name := range map[*Engine]string{alone: "alone", b: "replica"} {
		slices.Sort(took[e])
		t.Logf("next, %s: median %v, p99 %v", name, took[e][len(took[e])/2], took[e][len(took[e])*99/100])
	}
}
