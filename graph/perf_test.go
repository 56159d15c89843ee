package graph_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"waymark/graph"
)

// benchSizes are the sizes that benchmarks run at: 1,000, 10,000 and 100,000 nodes, and a million
// where WAYMARK_PERF_MILLION is set to anything.
func benchSizes() []int {
	sizes := []int{1000, 10000, 100000}
	if os.Getenv("WAYMARK_PERF_MILLION") != "" {
		sizes = append(sizes, 1000000)
	}
	return sizes
}

// A perfCase is the graph of one size that all benchmarks of a run share.
type perfCase struct {
	g       *graph.Graph
	edges   []graph.Edge
	planted []int32
}

var perf sync.Map // of size: func() perfCase, once each

func perfOf(b testing.TB, n int) perfCase {
	load, _ := perf.LoadOrStore(n, sync.OnceValue(func() perfCase {
		edges, planted := drawnEdges(n, 1, .9)
		g := must(graph.New(n, edges))(b)
		edges = edges[:0]
		for u := range int32(n) {
			targets, weights := g.Out(u)
			for i, v := range targets {
				edges = append(edges, graph.Edge{From: u, To: v, Weight: weights[i], Count: g.Counts(u)[i]})
			}
		}
		return perfCase{g, edges, planted}
	}))
	return load.(func() perfCase)()
}

func bySize(b *testing.B, f func(b *testing.B, c perfCase)) {
	for _, n := range benchSizes() {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			c := perfOf(b, n)
			b.ResetTimer()
			f(b, c)
		})
	}
}
