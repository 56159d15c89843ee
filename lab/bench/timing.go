package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// Time runs f once to warm up, then so often as said, and notes what a run takes.
func (r *Result) Time(reps int, f func()) {
	f()
	var wall, cpu []float64
	for range reps {
		runtime.GC()
		busy, begin := ProcessorTime(), time.Now()
		f()
		wall = append(wall, time.Since(begin).Seconds())
		cpu = append(cpu, (ProcessorTime() - busy).Seconds())
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	r.Median, r.Least, r.MedianCPU, r.LeastCPU, r.Reps = wall[reps/2], wall[0], cpu[reps/2], cpu[0], reps
}

// Latencies runs f for each of n queries, in several rounds, and notes what a query takes:
// processor time and mean over all, percentiles over the queries, of each its fastest round, so
// that they tell of slow queries and not of interruptions.
func (r *Result) Latencies(rounds, n int, f func(i int)) {
	for i := range min(n, 20) {
		f(i)
	}
	runtime.GC()
	fastest, sum := make([]float64, n), 0.0
	busy := ProcessorTime()
	for round := range rounds {
		for i := range n {
			begin := time.Now()
			f(i)
			us := float64(time.Since(begin).Nanoseconds()) / 1e3
			if sum += us; round == 0 || us < fastest[i] {
				fastest[i] = us
			}
		}
	}
	calls := float64(rounds * n)
	r.QueryCPU = float64((ProcessorTime() - busy).Nanoseconds()) / 1e3 / calls
	slices.Sort(fastest)
	r.Mean, r.Queries = sum/calls, n
	r.P50, r.P99 = Percentile(fastest, .5), Percentile(fastest, .99)
}

// Percentile is the least of the sorted values that the share q of them does not exceed.
func Percentile(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
