package graph_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/graph"
)

// FuzzGraph reads a number of nodes and then edges of three bytes, and checks the laws that hold
// for every graph.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{5, 0, 1, 80, 0, 2, 50, 1, 3, 100, 1, 4, 60, 2, 4, 70})
	f.Add([]byte{3, 0, 0, 1, 1, 1, 255, 0, 1, 0, 0, 1, 254})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		n := int(data[0] % 40)
		var edges []graph.Edge
		valid := true
		for d := data[1:]; len(d) >= 3; d = d[3:] {
			e := graph.Edge{From: int32(d[0]), To: int32(d[1]), Weight: float64(d[2]) / 100, Count: uint64(d[2])}
			switch d[2] {
			case 255:
				e.Weight = 1e308
			case 254:
				e.Weight = 5e-324
			case 253:
				e.Weight = math.NaN()
			}
			valid = valid && int(e.From) < n && int(e.To) < n && !math.IsNaN(e.Weight)
			edges = append(edges, e)
		}
		g, err := graph.New(n, edges)
		require.Equal(t, valid, err == nil)
		if !valid {
			return
		}
		_, o := outcomeOf(t, n, edges)
		requireCommunities(t, g, o.Labels)
		size := 0
		for u := range int32(n) {
			out, _ := g.Out(u)
			in, _ := g.In(u)
			size += len(out)
			for _, row := range [][]int32{out, in, g.Neighbours(u)} {
				require.True(t, slices.IsSorted(row))
				require.Len(t, slices.Compact(slices.Clone(row)), len(row))
				require.NotContains(t, row, u)
			}
			for _, c := range graph.AdamicAdarTop(g, u, g.Len(), nil, nil) {
				require.Equal(t, o.AA[u][c.Node], c.Score)
			}
			for v := range int32(n) {
				path := o.Paths[int(u)*n+int(v)]
				require.Equal(t, search(g).Hops(u, v, 6), len(path)-1)
				for i := 1; i < len(path); i++ {
					ok := g.Directed().HasEdgeFromTo(int64(path[i-1]), int64(path[i]))
					require.True(t, ok, "every step of a path is an edge")
				}
			}
		}
		require.Equal(t, size, g.Size())
	})
}
