package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/graph"
)

func TestAdamicAdar(t *testing.T) {
	//  0 ── 1
	//  │ ╲  │     N(0) ∩ N(2) = {1, 3}, both of degree 2; by hand 2 / ln 2
	//  3 ── 2
	square := []graph.Edge{edge(0, 1), edge(0, 2), edge(0, 3), edge(1, 2), edge(2, 3)}
	for _, c := range []struct {
		name      string
		edges     []graph.Edge
		u, v      int32
		aa, score float64
	}{
		// Computed by hand on the five nodes, undirected and unweighted: |N(A)| = |N(C)| = |N(E)| = 2, |N(B)| = 3.
		{"B and C", fiveNodes, B, C, 2.8854, 1},
		{"A and E", fiveNodes, A, E, 2.3529, 1},
		{"A and D", fiveNodes, A, D, .9102, .4551},
		{"D and E", fiveNodes, D, E, .9102, .4551},
		{"adjacent, nothing shared", fiveNodes, A, B, 0, 1},
		{"adjacent against the direction", fiveNodes, D, B, 0, 1},
		{"nothing shared", fiveNodes, C, D, 0, 0},
		{"with itself", fiveNodes, A, A, 0, 0},
		{"square", square, 0, 2, 2.885390, 1},
		// A common neighbour of degree 2 and 3, 1/ln 2 and 1/ln 3.
		{"degree 2", []graph.Edge{edge(0, 1), edge(1, 2)}, 0, 2, 1.4427, .72135},
		{"degree 3", []graph.Edge{edge(0, 1), edge(1, 2), edge(1, 3)}, 0, 2, .9102, .4551},
		{"both directions and loops are one neighbour", []graph.Edge{edge(0, 1), edge(1, 0), edge(1, 1), edge(1, 2), edge(2, 1)}, 0, 2, 1.4427, .72135},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := build(t, 5, c.edges...)
			assert.InDelta(t, c.aa, graph.AdamicAdar(g, c.u, c.v), 5e-5)
			assert.Equal(t, graph.AdamicAdar(g, c.u, c.v), graph.AdamicAdar(g, c.v, c.u), "symmetric")
			assert.InDelta(t, c.score, graph.GraphScore(g.Adjacent(c.u, c.v), graph.AdamicAdar(g, c.u, c.v)), 5e-5)
		})
	}
}

// A node of degree 1 divides by ln 1 = 0 in a naive sum: infinity, then min(·, 1) = 1, certainty
// out of nothing.
func TestAdamicAdarOfDegreeOne(t *testing.T) {
	g := build(t, 2, edge(0, 1))
	assert.Zero(t, graph.AdamicAdar(g, 0, 0))
	assert.Empty(t, graph.AdamicAdarTop(g, 0, 5, nil, nil))
}

func TestScratch(t *testing.T) {
	var s graph.Scratch
	large, small := karate(t), build(t, 5, fiveNodes...)
	want, dst := graph.AdamicAdarTop(small, A, 5, nil, nil), make([]graph.Scored, 0, 40)
	graph.AdamicAdarTop(large, 33, 5, &s, nil)
	assert.Equal(t, want, graph.AdamicAdarTop(small, A, 5, &s, nil), "for a smaller graph")
	assert.Zero(t, testing.AllocsPerRun(20, func() { dst = graph.AdamicAdarTop(large, 0, 5, &s, dst) }))
}
