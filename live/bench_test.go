//go:build unix

package live

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// sizes of histories, of four steps an episode. Those with more episodes than WAYMARK_PERF_EPISODES
// (100,000 where it is not set) are left out. Histories are kept in WAYMARK_PERF_DATA, if that is set.
var sizes = []struct{ tools, episodes int }{
	{1000, 20_000}, {10_000, 50_000}, {10_000, 100_000}, {100_000, 300_000}, {100_000, 1_000_000}, {1_000_000, 5_000_000},
}

const stepsEach = 4

func eachSize(b *testing.B, f func(b *testing.B, store *storage.Store, tools, episodes int)) {
	most := 100_000
	if s := os.Getenv("WAYMARK_PERF_EPISODES"); s != "" {
		var err error
		most, err = strconv.Atoi(s)
		require.NoError(b, err)
	}
	for _, s := range sizes {
		if s.episodes > most {
			continue
		}
		b.Run(fmt.Sprintf("tools=%d/episodes=%d", s.tools, s.episodes), func(b *testing.B) {
			store := stored(b, s.tools, s.episodes)
			defer func() { require.NoError(b, store.Close()) }()
			f(b, store, s.tools, s.episodes)
		})
	}
}

// stored opens a store with a history, which is written where there is none yet.
func stored(b *testing.B, tools, episodes int) *storage.Store {
	dir := os.Getenv("WAYMARK_PERF_DATA")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprintf("history-%d-%d", tools, episodes))
	require.NoError(b, os.MkdirAll(dir, 0o755))
	store, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	log := logOf(store, "default")
	if log.Head().Seq == 0 {
		newWorld(tools).write(b, log, episodes, stepsEach)
	}
	return store
}

// peak samples the memory that the Go runtime has from the system until the function it returns is
// called, which says the most there was.
func peak() (most func() float64) {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		top := uint64(0)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			metrics.Read(s)
			top = max(top, s[0].Value.Uint64()-s[1].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				done <- float64(top)
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-done }
}

// spent is the processor time of the process, which other work on the machine distorts least.
func spent() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for an unknown who alone
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// live is the heap that is in use.
func live() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkOpen makes the model of a workspace from its log alone: the offline rebuild.
func BenchmarkOpen(b *testing.B) {
	eachSize(b, func(b *testing.B, store *storage.Store, tools, episodes int) {
		log := logOf(store, "default")
		require.NoError(b, log.DropSnapshots(ctx))
		before, most := live(), 0.0
		cpu := 0.0
		b.ResetTimer()
		for b.Loop() {
			top, began := peak(), spent()
			w := NewWorkspaces(store, Options{})
			e, err := w.Get(ctx, "default")
			require.NoError(b, err)
			most, cpu = max(most, top()), cpu+spent()-began
			b.StopTimer()
			kept := live() - before
			b.ReportMetric(kept/float64(tools), "B/tool")
			b.ReportMetric(kept/float64(e.Model().Info().Edges), "B/edge")
			b.ReportMetric(kept/float64(episodes), "B/episode")
			require.NoError(b, w.Close(ctx))
			b.StartTimer()
		}
		b.ReportMetric(most/(1<<20), "peak-MiB")
		b.ReportMetric(cpu/float64(b.N), "cpu-s")
		b.ReportMetric(float64(log.Head().Seq)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkRestart opens a workspace that has a snapshot of its last build.
func BenchmarkRestart(b *testing.B) {
	eachSize(b, func(b *testing.B, store *storage.Store, tools, episodes int) {
		open := func() func() {
			w := NewWorkspaces(store, Options{})
			_, err := w.Get(ctx, "default")
			require.NoError(b, err)
			return func() { require.NoError(b, w.Close(ctx)) }
		}
		open()() // writes one where there is none
		log := logOf(store, "default")
		size := 0
		for s := range log.Snapshots(ctx) {
			size = len(s.Data)
			break
		}
		require.NotZero(b, size)
		most := 0.0
		b.ResetTimer()
		for b.Loop() {
			top := peak()
			end := open()
			b.StopTimer()
			most = max(most, top())
			end()
			b.StartTimer()
		}
		b.ReportMetric(most/(1<<20), "peak-MiB")
		b.ReportMetric(float64(size)/(1<<20), "snapshot-MiB")
	})
}
