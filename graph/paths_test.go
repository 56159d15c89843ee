package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gonumpath "gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"

	"waymark/graph"
)

func TestPath(t *testing.T) {
	//        ┌─▶ 1 ─▶ 4 ─┐
	//     0 ─┼─▶ 2 ─▶ 3 ─┴▶ 5       6 isolated
	//        └─▶ 3
	g := build(t, 7, edge(0, 2), edge(0, 1), edge(0, 3), edge(1, 4), edge(2, 3), edge(3, 5), edge(4, 5), edge(5, 0))
	for _, c := range []struct {
		name      string
		u, v      int32
		max, hops int
		path      []int32
	}{
		{"direct", 0, 3, 4, 1, []int32{0, 3}},
		{"shortest", 0, 5, 4, 2, []int32{0, 3, 5}},
		{"against the direction only round about", 3, 0, 4, 2, []int32{3, 5, 0}},
		{"too far", 0, 5, 1, -1, nil},
		{"as far as allowed", 0, 5, 2, 2, []int32{0, 3, 5}},
		{"to itself", 2, 2, 0, 0, []int32{2}},
		{"no hops allowed", 0, 1, 0, -1, nil},
		{"negative bound", 2, 2, -1, -1, nil},
		{"isolated", 0, 6, 9, -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.hops, search(g).Hops(c.u, c.v, c.max))
			assert.Equal(t, c.path, search(g).Path(c.u, c.v, c.max, nil))
		})
	}
}

func TestPathOfEqualLengthTakesTheSmallerNode(t *testing.T) {
	// 0 → {1, 2} → {3, 4} → 5, all ways of three edges; 1 leads only to 4.
	g := build(t, 6, edge(0, 2), edge(2, 3), edge(3, 5), edge(0, 1), edge(1, 4), edge(4, 5), edge(2, 4))
	assert.Equal(t, []int32{0, 1, 4, 5}, search(g).Path(0, 5, 9, nil))
}

// With weight 1 on every edge Dijkstra's distances are hops.
func TestHopsAgreeWithGonum(t *testing.T) {
	edges, _ := sampleEdges(60, 2)
	var ones []graph.Edge
	seen := map[[2]int32]bool{}
	for _, e := range edges[:200] {
		if !seen[[2]int32{e.From, e.To}] {
			seen[[2]int32{e.From, e.To}] = true
			ones = append(ones, e)
		}
	}
	g := build(t, 60, ones...)
	for u := range int32(60) {
		shortest := gonumpath.DijkstraFrom(simple.Node(u), g.Directed())
		for v := range int32(60) {
			want := -1
			if d := shortest.WeightTo(int64(v)); d < 100 {
				want = int(d)
			}
			require.Equal(t, want, search(g).Hops(u, v, 60), "%d to %d", u, v)
		}
	}
}
