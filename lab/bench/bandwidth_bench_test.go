package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// processor is called just before the loop of a benchmark; the function it returns, after the loop, reports and returns the
// nanoseconds of processor time that an operation took.
func processor(b *testing.B) func() float64 {
	begin := ProcessorTime()
	return func() float64 {
		ns := float64((ProcessorTime() - begin).Nanoseconds()) / float64(b.N)
		b.ReportMetric(ns, "cpu-ns/op")
		return ns
	}
}

// Where memory is the bound: 1 MiB lies in the second cache of a core, 8 MiB in the shared one or
// not, 256 MiB in none. GB/s is by processor time and counts bytes read and written; a sum reads only.
func BenchmarkStream(b *testing.B) {
	for _, mib := range []int{1, 8, 256} {
		from, to := make([]float64, mib<<17), make([]float64, mib<<17)
		for i := range from {
			from[i], to[i] = float64(i), 1
		}
		b.Run(fmt.Sprintf("op=sum/MiB=%d", mib), func(b *testing.B) {
			total := 0.0
			cpu := processor(b)
			for b.Loop() {
				total += sum(from)
			}
			b.ReportMetric(float64(int64(mib)<<20)/cpu(), "GB/s")
			if total < 0 {
				b.Fatal("a sum of what is not negative")
			}
		})
		b.Run(fmt.Sprintf("op=copy/MiB=%d", mib), func(b *testing.B) {
			cpu := processor(b)
			for b.Loop() {
				copy(to, from)
			}
			b.ReportMetric(2*float64(int64(mib)<<20)/cpu(), "GB/s")
		})
	}
}

// sum has eight sums at a time, so that the additions do not wait for each other.
func sum(x []float64) float64 {
	var s [8]float64
	for ; len(x) >= 8; x = x[8:] {
		s[0] += x[0]
		s[1] += x[1]
		s[2] += x[2]
		s[3] += x[3]
		s[4] += x[4]
		s[5] += x[5]
		s[6] += x[6]
		s[7] += x[7]
	}
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7]
}

// A gather reads single numbers of eight bytes from random places, as a sweep of PageRank does with
// the ranks; the places are read in order.
func BenchmarkGather(b *testing.B) {
	const gathers = 1 << 22
	at := make([]int32, gathers)
	for _, kib := range []int{80, 800, 8000, 65536} {
		n := kib << 7
		r := rand.New(rand.NewPCG(1, 2))
		for i := range at {
			at[i] = r.Int32N(int32(n))
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = 1
		}
		b.Run(fmt.Sprintf("KiB=%d", kib), func(b *testing.B) {
			var total float64
			cpu := processor(b)
			for b.Loop() {
				s0, s1 := 0.0, 0.0
				for i := 0; i < len(at); i += 2 {
					s0 += x[at[i]]
					s1 += x[at[i+1]]
				}
				total = s0 + s1
			}
			if total != gathers {
				b.Fatal(total)
			}
			b.ReportMetric(cpu()/gathers, "ns/gather")
		})
	}
}
