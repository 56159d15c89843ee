package graph_test

import (
	"fmt"
	"os"
	"testing"

	"waymark/graph"
)

// A perfCase is the graph of one size that all benchmarks of a run share.
type perfCase struct {
	g       *graph.Graph
	edges   []graph.Edge
	planted []int32
}

var perf = map[int]perfCase{} // by size

func perfOf(b testing.TB, n int) perfCase {
	if c, ok := perf[n]; ok {
		return c
	}
	drawn, planted := drawnEdges(n, 1, .9)
	c := perfCase{g: must(graph.New(n, drawn))(b), planted: planted}
	for u := range int32(n) {
		targets, weights := c.g.Out(u)
		for i, v := range targets {
			c.edges = append(c.edges, graph.Edge{From: u, To: v, Weight: weights[i], Count: c.g.Counts(u)[i]})
		}
	}
	perf[n] = c
	return c
}

// bySize runs a benchmark at 1,000, 10,000 and 100,000 nodes, and a million where WAYMARK_PERF_MILLION is set.
func bySize(b *testing.B, f func(b *testing.B, c perfCase)) {
	sizes := []int{1000, 10000, 100000}
	if os.Getenv("WAYMARK_PERF_MILLION") != "" {
		sizes = append(sizes, 1000000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			c := perfOf(b, n)
			b.ResetTimer()
			f(b, c)
		})
	}
}
