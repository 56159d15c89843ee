package graph

import (
	"math"

	gonum "gonum.org/v1/gonum/graph"
)

// Directed shows a Graph to gonum's algorithms as a graph.WeightedDirected, without copying.
// Nodes come in order of id. Self loops do not show, as gonum's simple graphs do not allow them.
type Directed struct{ g *Graph }

// Undirected shows a Graph to gonum's algorithms as a graph.WeightedUndirected, without copying:
// an edge wherever there is one in either direction, with the weights of both added.
type Undirected struct{ g *Graph }

// The interfaces that the views satisfy.
var (
	_ gonum.WeightedDirected   = Directed{}
	_ gonum.WeightedUndirected = Undirected{}
)

// Directed is g for gonum.
func (g *Graph) Directed() Directed { return Directed{g} }

// Undirected is g without directions for gonum.
func (g *Graph) Undirected() Undirected { return Undirected{g} }

// A Node is a node of the views.
type Node int32

// ID is the node's number.
func (n Node) ID() int64 { return int64(n) }

func (g *Graph) has(id int64) bool { return 0 <= id && id < int64(g.n) }

func (g *Graph) node(id int64) gonum.Node {
	if !g.has(id) {
		return nil
	}
	return Node(id)
}

// Node returns the node with the id, nil if there is none.
func (d Directed) Node(id int64) gonum.Node { return d.g.node(id) }

// Nodes returns all nodes.
func (d Directed) Nodes() gonum.Nodes { return newAllNodes(d.g.n) }

// From returns the nodes that can be reached directly from the node.
func (d Directed) From(id int64) gonum.Nodes {
	if !d.g.has(id) {
		return gonum.Empty
	}
	targets, _ := d.g.Out(int32(id))
	return newSomeNodes(targets)
}

// To returns the nodes that can reach the node directly.
func (d Directed) To(id int64) gonum.Nodes {
	if !d.g.has(id) {
		return gonum.Empty
	}
	sources, _ := d.g.In(int32(id))
	return newSomeNodes(sources)
}

// HasEdgeBetween reports whether there is an edge in either direction.
func (d Directed) HasEdgeBetween(x, y int64) bool {
	return d.g.has(x) && d.g.has(y) && d.g.Adjacent(int32(x), int32(y))
}

// HasEdgeFromTo reports whether there is an edge u → v.
func (d Directed) HasEdgeFromTo(u, v int64) bool {
	if !d.g.has(u) || !d.g.has(v) {
		return false
	}
	_, ok := d.g.edge(int32(u), int32(v))
	return ok
}

// Edge returns the edge u → v, nil if there is none.
func (d Directed) Edge(u, v int64) gonum.Edge {
	if e := d.WeightedEdge(u, v); e != nil {
		return e
	}
	return nil
}

// WeightedEdge returns the edge u → v, nil if there is none.
func (d Directed) WeightedEdge(u, v int64) gonum.WeightedEdge {
	if !d.HasEdgeFromTo(u, v) {
		return nil
	}
	w, _ := d.g.Weight(int32(u), int32(v))
	return weightedEdge{Node(u), Node(v), w}
}

// Weight returns the weight of x → y: 0 from a node to itself, infinity and false without an edge.
func (d Directed) Weight(x, y int64) (float64, bool) {
	if x == y && d.g.has(x) {
		return 0, true
	}
	if !d.HasEdgeFromTo(x, y) {
		return math.Inf(1), false
	}
	return d.g.Weight(int32(x), int32(y))
}

// Node returns the node with the id, nil if there is none.
func (u Undirected) Node(id int64) gonum.Node { return u.g.node(id) }

// Nodes returns all nodes.
func (u Undirected) Nodes() gonum.Nodes { return newAllNodes(u.g.n) }

// From returns the neighbours of the node.
func (u Undirected) From(id int64) gonum.Nodes {
	if !u.g.has(id) {
		return gonum.Empty
	}
	return newSomeNodes(u.g.Neighbours(int32(id)))
}

// HasEdgeBetween reports whether there is an edge between x and y.
func (u Undirected) HasEdgeBetween(x, y int64) bool { return Directed(u).HasEdgeBetween(x, y) }

// Edge returns the edge between x and y, nil if there is none.
func (u Undirected) Edge(x, y int64) gonum.Edge { return u.EdgeBetween(x, y) }

// EdgeBetween returns the edge between x and y, nil if there is none.
func (u Undirected) EdgeBetween(x, y int64) gonum.Edge {
	if e := u.WeightedEdgeBetween(x, y); e != nil {
		return e
	}
	return nil
}

// WeightedEdge returns the edge between x and y, nil if there is none.
func (u Undirected) WeightedEdge(x, y int64) gonum.WeightedEdge { return u.WeightedEdgeBetween(x, y) }

// WeightedEdgeBetween returns the edge between x and y, nil if there is none.
func (u Undirected) WeightedEdgeBetween(x, y int64) gonum.WeightedEdge {
	if x == y || !u.HasEdgeBetween(x, y) {
		return nil
	}
	w, _ := u.Weight(x, y)
	return weightedEdge{Node(x), Node(y), w}
}

// Weight returns the sum of the weights of both directions: 0 from a node to itself, infinity and
// false without an edge.
func (u Undirected) Weight(x, y int64) (float64, bool) {
	if x == y && u.g.has(x) {
		return 0, true
	}
	if !u.HasEdgeBetween(x, y) {
		return math.Inf(1), false
	}
	there, _ := u.g.Weight(int32(x), int32(y))
	back, _ := u.g.Weight(int32(y), int32(x))
	return there + back, true
}

type weightedEdge struct {
	from, to Node
	weight   float64
}

func (e weightedEdge) From() gonum.Node         { return e.from }
func (e weightedEdge) To() gonum.Node           { return e.to }
func (e weightedEdge) ReversedEdge() gonum.Edge { return weightedEdge{e.to, e.from, e.weight} }
func (e weightedEdge) Weight() float64          { return e.weight }

// nodes iterates over a row of ids, or if that is nil over 0..n-1.
type nodes struct {
	ids []int32
	n   int
	at  int // position after the present one
}

func newAllNodes(n int) gonum.Nodes {
	if n == 0 {
		return gonum.Empty
	}
	return &nodes{n: n}
}

func newSomeNodes(ids []int32) gonum.Nodes {
	if len(ids) == 0 {
		return gonum.Empty
	}
	return &nodes{ids: ids, n: len(ids)}
}

func (s *nodes) Next() bool {
	if s.at > s.n || s.at == s.n {
		s.at = s.n + 1
		return false
	}
	s.at++
	return true
}

func (s *nodes) Len() int { return max(0, s.n-s.at) }

func (s *nodes) Reset() { s.at = 0 }

func (s *nodes) Node() gonum.Node {
	switch {
	case s.at == 0 || s.at > s.n:
		return nil
	case s.ids == nil:
		return Node(s.at - 1)
	}
	return Node(s.ids[s.at-1])
}
