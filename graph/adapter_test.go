package graph

import (
	"math"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/simple"
)

// Directed shows a Graph to gonum's algorithms, the oracles of the tests, as a graph.WeightedDirected, without copying.
// Nodes come in order of id. Self loops do not show, as gonum's simple graphs do not allow them.
type Directed struct{ g *Graph }

var _ gonum.WeightedDirected = Directed{}

// Directed is g for gonum.
func (g *Graph) Directed() Directed { return Directed{g} }

// Undirected is g without directions for gonum: an edge wherever there is one in either direction, with the weights of
// both added.
func (g *Graph) Undirected() gonum.UndirectWeighted {
	return gonum.UndirectWeighted{G: Directed{g}, Merge: func(x, y float64, _, _ gonum.Edge) float64 { return x + y }}
}

func (d Directed) Node(id int64) gonum.Node { return simple.Node(id) }

func (d Directed) Nodes() gonum.Nodes {
	return iterator.NewImplicitNodes(0, d.g.n, func(i int) gonum.Node { return simple.Node(i) })
}

func (d Directed) From(id int64) gonum.Nodes {
	targets, _ := d.g.Out(int32(id))
	return listed(targets)
}

func (d Directed) To(id int64) gonum.Nodes {
	sources, _ := d.g.In(int32(id))
	return listed(sources)
}

func listed(ids []int32) gonum.Nodes {
	return iterator.NewImplicitNodes(0, len(ids), func(i int) gonum.Node { return simple.Node(ids[i]) })
}

func (d Directed) HasEdgeBetween(x, y int64) bool { return d.g.Adjacent(int32(x), int32(y)) }
func (d Directed) HasEdgeFromTo(u, v int64) bool  { return d.WeightedEdge(u, v) != nil }
func (d Directed) Edge(u, v int64) gonum.Edge     { return d.WeightedEdge(u, v) }
func (d Directed) Weight(x, y int64) (float64, bool) {
	if e := d.WeightedEdge(x, y); e != nil {
		return e.Weight(), true
	}
	return math.Inf(1), false
}

// WeightedEdge returns the edge u → v, nil if there is none.
func (d Directed) WeightedEdge(u, v int64) gonum.WeightedEdge {
	if i, ok := d.g.edge(int32(u), int32(v)); ok {
		return simple.WeightedEdge{F: simple.Node(u), T: simple.Node(v), W: d.g.outWeight[i]}
	}
	return nil
}
