package semantic

import (
	"fmt"
	"testing"

	"waymark/internal/bench"
)

// BenchmarkKnownItems searches by words alone.
func BenchmarkKnownItems(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			docs := synthetic(n)
			asked := queries(docs)
			ix := Build(docs, Options{Rank: -1})
			hits := make([]Hit, 0, 10)
			b.ResetTimer()
			cpu := bench.Processor(b)
			for i := 0; b.Loop(); i++ {
				hits = ix.AppendSearch(hits[:0], asked[i%len(asked)], nil, 10)
			}
			cpu()
		})
	}
}

// BenchmarkBuildWords makes an index of words alone, which grows to sizes where the latent space
// takes most of the time.
func BenchmarkBuildWords(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			docs := synthetic(n)
			b.ResetTimer()
			cpu := bench.Processor(b)
			for b.Loop() {
				Build(docs, Options{Rank: -1})
			}
			b.ReportMetric(cpu()/float64(n), "ns/tool")
		})
	}
}
