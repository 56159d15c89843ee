package semantic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines reads a file of JSON values, one a line.
func lines[T any](tb testing.TB, path string) (out []T) {
	tb.Helper()
	f, err := os.Open(path)
	require.NoError(tb, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 1<<20), 1<<20)
	for s.Scan() {
		var t T
		require.NoError(tb, json.Unmarshal(s.Bytes(), &t))
		out = append(out, t)
	}
	require.NoError(tb, s.Err())
	return out
}

// BenchmarkKnownItems searches the generated tools that the comparison with other search libraries
// uses: folders named d1000, d10000 and d100000 in $WAYMARK_PEERS, each with tools.jsonl and
// queries.jsonl. Recall is that of the one tool a query was drawn from, among the first ten.
func BenchmarkKnownItems(b *testing.B) {
	dir := os.Getenv("WAYMARK_PEERS")
	if dir == "" {
		b.Skip("WAYMARK_PEERS names no folder of generated tools")
	}
	for _, n := range []int{1000, 10_000, 100_000} {
		folder := filepath.Join(dir, fmt.Sprint("d", n))
		var docs []Document
		for _, t := range lines[struct{ Name, Description string }](b, filepath.Join(folder, "tools.jsonl")) {
			docs = append(docs, Document{Name: t.Name, Text: t.Description})
		}
		asked := lines[struct {
			Target int32
			Q      string
		}](b, filepath.Join(folder, "queries.jsonl"))
		ix := Build(docs, Options{Rank: -1})
		b.Run(fmt.Sprintf("docs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			hits := make([]Hit, 0, 10)
			found := 0
			for _, q := range asked {
				for _, h := range ix.AppendSearch(hits[:0], q.Q, nil, 10) {
					if h.Doc == q.Target {
						found++
					}
				}
			}
			for i := 0; b.Loop(); i++ {
				hits = ix.AppendSearch(hits[:0], asked[i%len(asked)].Q, nil, 10)
			}
			b.ReportMetric(float64(found)/float64(len(asked)), "recall@10")
		})
	}
}
