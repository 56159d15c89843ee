package graph

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"waymark/internal/numeric"
)

// maxEdges keeps offsets within int32, also in the neighbour lists, which hold an edge twice.
const maxEdges = math.MaxInt32 / 2

// New builds the graph of n nodes with the given edges, in any order. Equal pairs are added up in
// increasing order of weight, so that the sum has the same bits whatever the order of the edges.
//
// Distinct edges in increasing order of (From, To) are used as they are, in a time proportional to n and the number of
// edges; others are sorted first. A graph takes 20 bytes per edge for the out lists, 12 for the in lists and up to 8
// for the neighbours, and 20 per node.
func New(n int, edges []Edge) (*Graph, error) {
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("graph of %d nodes: number out of range", n)
	}
	if len(edges) > maxEdges {
		return nil, fmt.Errorf("graph of %d edges: more than %d", len(edges), maxEdges)
	}
	inOrder, last := true, Edge{From: -1}
	for i := range edges {
		e := &edges[i]
		if err := check(*e, n); err != nil {
			return nil, fmt.Errorf("graph: edge %d (%d → %d, weight %v): %w", i, e.From, e.To, e.Weight, err)
		}
		inOrder = inOrder && last.pair() < e.pair()
		last = *e
	}
	if !inOrder {
		edges = merged(slices.Clone(edges))
	}
	g := &Graph{n: n, outStart: make([]int32, n+1)}
	for _, e := range edges {
		if e.From == e.To {
			g.loops = append(g.loops, e)
		} else {
			g.outStart[e.From+1]++
		}
	}
	numeric.Accumulate(g.outStart)
	g.makeOut(len(edges) - len(g.loops))
	i := 0
	for _, e := range edges {
		if e.From != e.To {
			g.out[i], g.outWeight[i], g.outCount[i] = e.To, e.Weight, e.Count
			i++
		}
	}
	g.incoming()
	g.undirected()
	return g, nil
}

// check returns an error that names the invalid node or weight of an edge, if there is one.
func check(e Edge, n int) error {
	switch {
	case e.From < 0 || int(e.From) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.From, n)
	case e.To < 0 || int(e.To) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.To, n)
	}
	return numeric.CheckWeight(e.Weight)
}

func (g *Graph) makeOut(m int) {
	g.out, g.outWeight, g.outCount = make([]int32, m), make([]float64, m), make([]uint64, m)
}

// incoming transposes the out lists; sources come in increasing order, so the rows are sorted.
func (g *Graph) incoming() {
	m := len(g.out)
	g.inStart = make([]int32, g.n+1)
	g.in = make([]int32, m)
	g.inWeight = make([]float64, m)
	for _, v := range g.out {
		g.inStart[v+1]++
	}
	numeric.Accumulate(g.inStart)
	next := slices.Clone(g.inStart)
	for u := range int32(g.n) {
		out, weight := g.Out(u)
		for i, v := range out {
			at := next[v]
			g.in[at], g.inWeight[at] = u, weight[i]
			next[v] = at + 1
		}
	}
}

// undirected merges out and in rows into the neighbour lists.
func (g *Graph) undirected() {
	g.nbrStart = make([]int32, g.n+1)
	g.inverse = make([]float64, g.n)
	g.nbr = make([]int32, 0, 2*len(g.out))
	for u := range int32(g.n) {
		first := len(g.nbr)
		g.nbr = g.merge(u, g.nbr)
		degree := len(g.nbr) - first
		g.nbrStart[u+1] = int32(len(g.nbr))
		if degree > 0 {
			g.active++
		}
		g.inverse[u] = inverseOfDegree(degree)
	}
	g.nbr = slices.Clone(g.nbr) // a copy without spare capacity
}

// merge appends the distinct nodes of u's out and in rows to nbr, which has room for them. It is
// written without unpredictable branches on which of the two rows advances.
func (g *Graph) merge(u int32, nbr []int32) []int32 {
	out, _ := g.Out(u)
	in, _ := g.In(u)
	room := nbr[len(nbr):cap(nbr)]
	i, j, k := 0, 0, 0
	for i < len(out) && j < len(in) {
		a, b := out[i], in[j]
		room[k] = min(a, b)
		if a <= b {
			i++
		}
		if b <= a {
			j++
		}
		k++
	}
	return append(append(nbr[:len(nbr)+k], out[i:]...), in[j:]...)
}

// merged sorts edges and adds up equal pairs, in place.
func merged(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int {
		if c := cmp.Compare(a.pair(), b.pair()); c != 0 { // cmp.Or would compare the weights, too
			return c
		}
		return cmp.Compare(a.Weight, b.Weight)
	})
	out := edges[:0]
	for _, e := range edges {
		if last := len(out) - 1; last >= 0 && out[last].From == e.From && out[last].To == e.To {
			out[last].Weight = min(out[last].Weight+e.Weight, math.MaxFloat64) // limited, so that it stays finite
			sum, carry := bits.Add64(out[last].Count, e.Count, 0)
			out[last].Count = sum | -carry // the maximum if there is a carry
		} else {
			out = append(out, e)
		}
	}
	return out
}

// pair returns the sort key of an edge.
func (e Edge) pair() int64 { return int64(e.From)<<32 | int64(e.To) }
