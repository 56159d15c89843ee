// Package graph is the tool graph and the measures on it.
//
// A node is a number 0..n-1; callers translate names to numbers. An edge u → v means that v was
// used right after u: its count is the number of times, its weight the strength. A graph is built
// once and then only read, from any number of goroutines. It is stored as compressed rows, one per
// node, each in increasing order:
//
//	edges  0→2  1→2  2→3  2→4              out rows   0: 2   1: 2   2: 3 4   3:   4:
//	                                       start      0      1      2        4    4    4
//	  0 ─┐     ┌─▶ 3                        targets    2      2      3 4
//	     ├─▶ 2 ┤
//	  1 ─┘     └─▶ 4                        in rows    0:     1:     2: 0 1   3: 2  4: 2
//	                                       neighbours 0: 2   1: 2   2: 0 1 3 4  3: 2  4: 2
//
// The [Incidence] of tools and capabilities is separate from the graph: a hypergraph in which every
// capability is one hyperedge. The two never mix: an incidence is no edge and does not count in any
// density, degree or Adamic-Adar score.
//
// A [Graph] is built at once for the measures that read all of it. If edges come one at a time,
// [Rows] add them and share all unchanged data with the [View]s published before.
//
// Every result is the same, bit for bit, for any order of the edges given, on any machine and on
// any number of threads. Typical use:
//
//	g, err := graph.New(n, edges)
//	alpha := graph.Alpha(g.Density())
//	ranks, err := graph.PageRank(g, graph.PageRankOptions{})
//	near := graph.AdamicAdarTop(g, u, 50, &scratch, near)
//	label := graph.Communities(g, 1)
package graph

import "slices"

// An Edge is a directed edge. In a list of edges it is a contribution to one: the weights and
// counts of equal pairs are added.
type Edge struct {
	From, To int32
	Weight   float64
	Count    uint64
}

// A Graph is an immutable directed weighted graph. Self loops are kept apart: only [Graph.Loop]
// returns them.
type Graph struct {
	n      int
	active int

	outStart  []int32 // n+1 offsets into out, outWeight, outCount
	out       []int32
	outWeight []float64
	outCount  []uint64

	inStart  []int32 // n+1 offsets into in, inWeight
	in       []int32
	inWeight []float64

	nbrStart []int32 // n+1 offsets into nbr: out and in merged, distinct
	nbr      []int32
	inverse  []float64 // inverseLog(|N(w)|), 0 where |N(w)| < 2

	loops []Edge // sorted by node
}

// Len is the number of nodes, isolated ones included.
func (g *Graph) Len() int { return g.n }

// Size is the number of edges: distinct ordered pairs without self loops.
func (g *Graph) Size() int { return len(g.out) }

// Active is the number of nodes with at least one edge; a self loop alone does not count.
func (g *Graph) Active() int { return g.active }

// Density is the [Density] of the active nodes and the edges.
func (g *Graph) Density() float64 { return Density(g.active, len(g.out)) }

// Out returns the targets of u's edges in increasing order and their weights. The slices belong to
// the graph and are not to be changed.
func (g *Graph) Out(u int32) (targets []int32, weights []float64) {
	a, b := g.outStart[u], g.outStart[u+1]
	return g.out[a:b:b], g.outWeight[a:b:b]
}

// In returns the sources of the edges to u in increasing order and their weights. The slices
// belong to the graph and are not to be changed.
func (g *Graph) In(u int32) (sources []int32, weights []float64) {
	a, b := g.inStart[u], g.inStart[u+1]
	return g.in[a:b:b], g.inWeight[a:b:b]
}

// Neighbours returns N(u), the nodes with an edge from or to u, distinct and in increasing order.
// The slice belongs to the graph and is not to be changed.
func (g *Graph) Neighbours(u int32) []int32 {
	a, b := g.nbrStart[u], g.nbrStart[u+1]
	return g.nbr[a:b:b]
}

// Degree is |N(u)|.
func (g *Graph) Degree(u int32) int { return int(g.nbrStart[u+1] - g.nbrStart[u]) }

// Transition returns the weight and the count of u → v, zeros if there is no such edge.
func (g *Graph) Transition(u, v int32) (weight float64, count uint64) {
	i, ok := g.edge(u, v)
	if !ok {
		return 0, 0
	}
	return g.outWeight[i], g.outCount[i]
}

// Counts returns the counts of u's edges, in the order of [Graph.Out].
func (g *Graph) Counts(u int32) []uint64 {
	a, b := g.outStart[u], g.outStart[u+1]
	return g.outCount[a:b:b]
}

// Adjacent reports whether there is an edge between u and v in either direction.
func (g *Graph) Adjacent(u, v int32) bool {
	if g.Degree(v) < g.Degree(u) {
		u, v = v, u
	}
	_, ok := slices.BinarySearch(g.Neighbours(u), v)
	return ok
}

// Loop returns the self loop u → u, if there is one.
func (g *Graph) Loop(u int32) (Edge, bool) {
	i, ok := slices.BinarySearchFunc(g.loops, u, func(e Edge, u int32) int { return int(e.From) - int(u) })
	if !ok {
		return Edge{}, false
	}
	return g.loops[i], true
}

// edge returns the position of u → v in the out lists.
func (g *Graph) edge(u, v int32) (int, bool) {
	targets, _ := g.Out(u)
	i, ok := slices.BinarySearch(targets, v)
	return int(g.outStart[u]) + i, ok
}
