package graph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"

	"waymark/graph"
)

func ids(nodes gonum.Nodes) []int64 {
	var out []int64
	for n := nodes.Len(); nodes.Next(); n-- {
		if nodes.Len() != n-1 {
			panic("Len does not say how many nodes are left")
		}
		out = append(out, nodes.Node().ID())
	}
	return out
}

func TestDirectedView(t *testing.T) {
	g := build(t, 6, append([]graph.Edge{edge(D, D), edge(B, A, .3)}, fiveNodes...)...)
	d := g.Directed()
	assert.Equal(t, []int64{0, 1, 2, 3, 4, 5}, ids(d.Nodes()))
	assert.Equal(t, []int64{A, D, E}, ids(d.From(B)))
	assert.Equal(t, []int64{A}, ids(d.To(B)))
	assert.Empty(t, ids(d.From(5)))
	assert.Empty(t, ids(d.To(99)))
	assert.Equal(t, simple.Node(5), d.Node(5))
	assert.Nil(t, d.Node(6))
	assert.Nil(t, d.Node(-1))
	assert.True(t, d.HasEdgeFromTo(B, D))
	assert.False(t, d.HasEdgeFromTo(D, B))
	assert.False(t, d.HasEdgeFromTo(D, D))
	assert.True(t, d.HasEdgeBetween(D, B))
	assert.False(t, d.HasEdgeBetween(D, 77))
	assert.Nil(t, d.Edge(D, B))
	assert.Equal(t, .6, d.WeightedEdge(B, E).Weight())
	assert.Equal(t, int64(E), d.Edge(B, E).To().ID())
	assert.Equal(t, int64(B), d.Edge(B, E).ReversedEdge().To().ID())
	w, ok := d.Weight(B, B)
	assert.True(t, ok)
	assert.Zero(t, w)
	w, ok = d.Weight(D, B)
	assert.False(t, ok)
	assert.Greater(t, w, 1e300, "as gonum's own graphs say it")

	assert.Empty(t, ids(build(t, 0).Directed().Nodes()))
}

func TestUndirectedView(t *testing.T) {
	g := build(t, 6, append([]graph.Edge{edge(B, A, .25), edge(C, A, 1.5)}, fiveNodes...)...)
	u := g.Undirected()
	from := ids(u.From(B))
	slices.Sort(from)
	assert.Equal(t, []int64{A, D, E}, from)
	assert.Empty(t, ids(u.From(6)))
	assert.Equal(t, []int64{0, 1, 2, 3, 4, 5}, ids(u.Nodes()))
	assert.Equal(t, simple.Node(0), u.Node(0))
	for _, pair := range [][2]int64{{A, B}, {B, A}} {
		w, ok := u.Weight(pair[0], pair[1])
		assert.True(t, ok)
		assert.InDelta(t, 1.05, w, 1e-12, "both directions added")
	}
	assert.InDelta(t, 2, u.WeightedEdge(A, C).Weight(), 1e-12)
	assert.InDelta(t, 1, u.WeightedEdgeBetween(D, B).Weight(), 1e-12)
	assert.Nil(t, u.EdgeBetween(A, D))
	assert.Nil(t, u.EdgeBetween(A, A))
}
