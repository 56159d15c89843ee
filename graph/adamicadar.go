package graph

import (
	"math"
	"math/bits"
	"slices"

	"waymark/internal/numeric"
)

// An Adjacency is the part of a graph that Adamic-Adar reads: a [Graph] or a [View].
type Adjacency interface {
	Len() int
	Neighbours(u int32) []int32
	inverseOf(u int32) float64
}

// AdamicAdar returns the similarity of u and v by their common neighbours,
//
//	AA(u, v) = Σ_{w ∈ N(u) ∩ N(v)} 1 / ln |N(w)|
//
// over undirected neighbours (Adamic and Adar, "Friends and neighbors on the Web", Social Networks
// 25, 2003). A common neighbour has u and v among its own neighbours, so the logarithm is at least
// ln 2. AA(u, u) is 0: a node is no candidate for itself. The two sorted lists of neighbours are
// merged: O(|N(u)| + |N(v)|).
func AdamicAdar(g Adjacency, u, v int32) float64 {
	if u == v {
		return 0
	}
	a, b := g.Neighbours(u), g.Neighbours(v)
	aa := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			aa += g.inverseOf(a[i])
			i++
			j++
		}
	}
	return aa
}

// inverseLog returns 1/ln of a degree, rounded to the nearest multiple of 2⁻³⁶. Sums of such
// numbers up to 2¹⁷ are exact in float64, so the order of summation does not matter; the rounding
// error is at most 7.3e-12 for each common neighbour.
func inverseLog(degree int) float64 {
	const unit = 1.0 / (1 << 36)
	return math.RoundToEven(1/numeric.Ln(float64(degree))/unit) * unit
}

// A Scratch is reusable memory for [AdamicAdarTop], for graphs of any size and one goroutine at a time: sums by node,
// and a bit for each node touched, which gives the candidates in increasing order without sorting. Both are zero
// between calls. The zero Scratch is ready.
type Scratch struct {
	sum  []float64
	seen []uint64
}

// spread adds 1/ln |N(w)| to every neighbour of every neighbour w of u, w increasing, and returns
// the range of words of seen that were touched.
func (s *Scratch) spread(g Adjacency, u int32) (lo, hi int) {
	sum, seen := s.sum, s.seen
	lo, hi = len(seen), 0
	for _, w := range g.Neighbours(u) {
		row := g.Neighbours(w)
		if len(row) < 2 {
			continue // u is its only neighbour
		}
		x := g.inverseOf(w)
		for _, v := range row {
			sum[v] += x
			seen[v>>6] |= 1 << (v & 63)
		}
		lo, hi = min(lo, int(row[0]>>6)), max(hi, int(row[len(row)-1]>>6)+1)
	}
	return lo, hi
}

// MostMarked is the maximum number of nodes that [Marks] compares at once.
const MostMarked = 16

// Marks records the neighbours of up to MostMarked nodes, by neighbour: one walk over the neighbours of another node
// then compares it with all of them. Marks can be reused, by one goroutine at a time, for graphs of any size. A context
// of twelve steps and sixty candidates takes sixty walks this way, but 720 merges by [AdamicAdar]:
//
//	marks.Set(g, steps)
//	aa := marks.AdamicAdar(v) // aa[i] is AA(steps[i], v)
type Marks struct {
	g     Adjacency
	nodes []int32
	by    []uint16 // by node, bit i is set for a neighbour of nodes[i]
}

// Set marks the neighbours of the given nodes, and no others.
func (m *Marks) Set(g Adjacency, nodes []int32) {
	m.Clear()
	if m.g, m.nodes = g, append(m.nodes, nodes...); len(m.by) < g.Len() {
		m.by = make([]uint16, g.Len())
	}
	for i, u := range nodes {
		for _, w := range g.Neighbours(u) {
			m.by[w] |= 1 << i
		}
	}
}

// Clear removes all marks and the reference to the graph.
func (m *Marks) Clear() {
	for _, u := range m.nodes {
		for _, w := range m.g.Neighbours(u) {
			m.by[w] = 0
		}
	}
	m.g, m.nodes = nil, m.nodes[:0]
}

// Neighbour reports whether v is a neighbour of node i.
func (m *Marks) Neighbour(i int, v int32) bool { return m.by[v]>>i&1 == 1 }

// AdamicAdar returns AA(nodes[i], v) for every i, bit for bit as the function [AdamicAdar].
func (m *Marks) AdamicAdar(v int32) (aa [MostMarked]float64) {
	for _, w := range m.g.Neighbours(v) {
		if set := m.by[w]; set != 0 {
			x := m.g.inverseOf(w)
			for ; set != 0; set &= set - 1 {
				aa[bits.TrailingZeros16(set)] += x
			}
		}
	}
	if i := slices.Index(m.nodes, v); i >= 0 {
		aa[i] = 0
	}
	return aa
}
