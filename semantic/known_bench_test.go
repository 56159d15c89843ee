package semantic

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/bench"
)

// generated are the tools and the queries of the generator whose folder WAYMARK_PERF_DATA names,
// or else our own.
func generated(tb testing.TB, n int) (docs []Document, asked []bench.Query) {
	tb.Helper()
	dir := os.Getenv("WAYMARK_PERF_DATA")
	if dir == "" {
		docs = synthetic(n)
		for _, q := range queries(docs) {
			asked = append(asked, bench.Query{Target: -1, Text: q})
		}
		return docs, asked
	}
	tools, asked, err := bench.ReadTexts(filepath.Join(dir, fmt.Sprint(n)))
	require.NoError(tb, err)
	for _, t := range tools {
		docs = append(docs, Document{Name: t.Name, Text: t.Description})
	}
	return docs, asked
}

// BenchmarkKnownItems searches by words alone. With the generated tools it tells the recall: how
// often the tool that a query was drawn from is among the first ten.
func BenchmarkKnownItems(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			docs, asked := generated(b, n)
			ix := Build(docs, Options{Rank: -1})
			hits := make([]Hit, 0, 10)
			found := 0
			for _, q := range asked {
				for _, h := range ix.AppendSearch(hits[:0], q.Text, nil, 10) {
					if h.Doc == q.Target {
						found++
					}
				}
			}
			b.ResetTimer()
			cpu := bench.Processor(b)
			for i := 0; b.Loop(); i++ {
				hits = ix.AppendSearch(hits[:0], asked[i%len(asked)].Text, nil, 10)
			}
			cpu()
			if asked[0].Target >= 0 {
				b.ReportMetric(float64(found)/float64(len(asked)), "recall@10")
			}
		})
	}
}

// BenchmarkBuildWords makes an index of words alone, which grows to sizes where the latent space
// takes most of the time.
func BenchmarkBuildWords(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			docs, _ := generated(b, n)
			b.ResetTimer()
			cpu := bench.Processor(b)
			for b.Loop() {
				Build(docs, Options{Rank: -1})
			}
			b.ReportMetric(cpu()/float64(n), "ns/tool")
		})
	}
}
