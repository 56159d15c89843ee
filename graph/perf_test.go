package graph_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/graph"
	"waymark/internal/bench"
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

// A perfCase is the graph of one size that all benchmarks of a run share: the file of the perf
// generator if WAYMARK_PERF_DATA names the folder that has it, else [drawnEdges].
type perfCase struct {
	g       *graph.Graph
	edges   []graph.Edge
	planted []int32
}

var perf sync.Map // of size: func() perfCase, once each

func perfOf(b testing.TB, n int) perfCase {
	load, _ := perf.LoadOrStore(n, sync.OnceValue(func() perfCase {
		edges, planted, err := generated(n)
		if errors.Is(err, fs.ErrNotExist) || os.Getenv("WAYMARK_PERF_DATA") == "" {
			edges, planted = drawnEdges(n, 1, .9)
			err = nil
		}
		require.NoError(b, err)
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

func generated(n int) ([]graph.Edge, []int32, error) {
	t, err := bench.ReadTransitions(filepath.Join(os.Getenv("WAYMARK_PERF_DATA"), strconv.Itoa(n)))
	if err != nil {
		return nil, nil, err
	}
	edges := make([]graph.Edge, len(t.From))
	for i := range edges {
		edges[i] = graph.Edge{From: t.From[i], To: t.To[i], Weight: float64(t.Weight[i]), Count: uint64(t.Weight[i])}
	}
	return edges, t.Community, nil
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
