//go:build unix

package live

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/suggest"
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

// BenchmarkRebuild runs rebuilds beside a running model, which answers questions one after another
// before and meanwhile.
func BenchmarkRebuild(b *testing.B) {
	eachSize(b, func(b *testing.B, store *storage.Store, tools, episodes int) {
		w := NewWorkspaces(store, Options{})
		defer func() { require.NoError(b, w.Close(ctx)) }()
		e, err := w.Get(ctx, "default")
		require.NoError(b, err)
		contexts := make([][]string, 512)
		world := newWorld(tools)
		for i := range contexts {
			for _, s := range world.episode(i, stepsEach).Steps {
				contexts[i] = append(contexts[i], s.Tool)
			}
		}
		ask := func(until <-chan struct{}) (p50, p99 float64) {
			var took []time.Duration
			for i := 0; ; i++ {
				select {
				case <-until:
					slices.Sort(took)
					at := func(q float64) float64 {
						return float64(took[int(math.Floor(q*float64(len(took)-1)))].Microseconds())
					}
					return at(.5), at(.99)
				default:
				}
				began := time.Now()
				_, err := e.Model().Next(suggest.NextRequest{Context: contexts[i%len(contexts)]})
				took = append(took, time.Since(began))
				if err != nil {
					b.Error(err)
				}
				time.Sleep(2 * time.Millisecond) // as many askers as wait for their model's answer between two calls
			}
		}
		idle, cancel := context.WithTimeout(ctx, 2*time.Second)
		idle50, idle99 := ask(idle.Done())
		cancel()
		b.ResetTimer()
		for b.Loop() {
			top, phases := peak(), map[string]time.Duration{}
			j, err := e.Rebuild(false, false)
			require.NoError(b, err)
			states, _ := e.WatchJob(ctx, j.ID)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				at := time.Now()
				for s := range states {
					phases[j.Phase] += time.Since(at)
					at, j = time.Now(), s
				}
			}()
			p50, p99 := ask(ended)
			require.Equal(b, JobDone, j.State, j.Error)
			b.ReportMetric(p50, "p50-µs")
			b.ReportMetric(p99, "p99-µs")
			b.ReportMetric(top()/(1<<20), "peak-MiB")
			for phase, took := range phases {
				b.ReportMetric(took.Seconds(), phase+"-s")
			}
		}
		b.ReportMetric(idle50, "idle-p50-µs")
		b.ReportMetric(idle99, "idle-p99-µs")
	})
}

// BenchmarkWorkspaces asks many workspaces of 130 tools and 100 episodes in turns, by profile learned, while those that
// were not asked lately are unloaded. WAYMARK_PERF_WORKSPACES is their number, 50 where it is not set.
func BenchmarkWorkspaces(b *testing.B) {
	const loaded, tools, episodes = 32, 130, 100
	n := 50
	if s := os.Getenv("WAYMARK_PERF_WORKSPACES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(b, err)
	}
	store, err := storage.Open(b.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	w, world := NewWorkspaces(store, Options{Serves: true}), newWorld(tools)
	defer func() { require.NoError(b, w.Close(ctx)) }()
	asked := suggest.NextRequest{Context: []string{world.episode(3, stepsEach).Steps[0].Tool}, Profile: suggest.ProfileLearned}
	top := peak()
	for i := range n {
		log := logOf(store, fmt.Sprint("w", i))
		world.write(b, log, episodes, stepsEach)
		_, err = w.Get(ctx, fmt.Sprint("w", i)) // builds
		require.NoError(b, err)
		if i%loaded == 0 {
			w.UnloadIdle(time.Now())
		}
	}
	var took []float64
	for b.Loop() {
		for i := range n {
			began := time.Now()
			e, err := w.Get(ctx, fmt.Sprint("w", i))
			require.NoError(b, err)
			_, err = e.Model().Next(asked)
			require.NoError(b, err)
			took = append(took, float64(time.Since(began).Microseconds())/1000)
			if i%loaded == 0 {
				w.UnloadIdle(began)
			}
		}
	}
	slices.Sort(took)
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(top()/(1<<20), "go-peak-MiB")
	b.ReportMetric(float64(r.Maxrss)/(1<<10), "rss-peak-MiB")
}
