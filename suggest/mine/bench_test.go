package mine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkPatterns mines histories of 100 planted DAGs over 1,000 tools, with noise in and around them.
func BenchmarkPatterns(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			ps := plant(r, 100, 1000)
			ts := of(planting(r, n, 1000, ps, noisy{.2, .05, .02, .3}))
			b.ReportAllocs()
			var res Result
			for b.Loop() {
				res = Patterns(ts, 1000, Options{})
			}
			recall, precision := graded(res, ps)
			b.ReportMetric(recall, "recall")
			b.ReportMetric(precision, "precision")
		})
	}
}
