package graph_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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

// generated reads src.i32, dst.i32, w.f32 and comm.i32 of the folder of size n, little-endian
// numbers of four bytes.
func generated(n int) ([]graph.Edge, []int32, error) {
	folder := filepath.Join(os.Getenv("WAYMARK_PERF_DATA"), strconv.Itoa(n))
	var columns [4][]uint32
	for i, name := range []string{"src.i32", "dst.i32", "w.f32", "comm.i32"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		for ; len(data) >= 4; data = data[4:] {
			columns[i] = append(columns[i], binary.LittleEndian.Uint32(data))
		}
	}
	edges := make([]graph.Edge, len(columns[0]))
	for i := range edges {
		w := math.Float32frombits(columns[2][i])
		edges[i] = graph.Edge{From: int32(columns[0][i]), To: int32(columns[1][i]), Weight: float64(w), Count: uint64(w)}
	}
	planted := make([]int32, len(columns[3]))
	for v := range planted {
		planted[v] = int32(columns[3][v])
	}
	return edges, planted, nil
}

func bySize(b *testing.B, f func(b *testing.B, c perfCase)) {
	for _, n := range benchSizes() {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			c := perfOf(b, n)
			b.ReportAllocs()
			b.ResetTimer()
			f(b, c)
		})
	}
}
