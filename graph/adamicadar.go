package graph

import (
	"math"
	"math/bits"

	"waymark/internal/numeric"
)

// AdamicAdar returns how alike u and v are by the neighbours they share,
//
//	AA(u, v) = Σ_{w ∈ N(u) ∩ N(v)} 1 / ln |N(w)|
//
// over undirected neighbours (Adamic and Adar, "Friends and neighbors on the Web", Social
// Networks 25, 2003). A common neighbour has u and v among its own, so the logarithm is at least
// ln 2. AA(u, u) is 0: a node is no candidate for itself.
func (g *Graph) AdamicAdar(u, v int32) float64 { return adamicAdar(g, u, v) }

// adamicAdar merges the two sorted lists of neighbours: O(|N(u)| + |N(v)|).
func adamicAdar(g adjacency, u, v int32) float64 {
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

// inverseLog is 1/ln of a degree to the nearest multiple of 2⁻³⁶. Sums of such numbers up to 2¹⁷ are
// exact in float64, so that they may be taken in any order; what is lost is at most 7.3e-12 for each
// common neighbour.
func inverseLog(degree int) float64 {
	const unit = 1.0 / (1 << 36)
	return math.RoundToEven(1/numeric.Ln(float64(degree))/unit) * unit
}

// A Scratch is room for [Graph.AdamicAdarFrom] and [Graph.AdamicAdarTop], to be used again by one goroutine at a time, for
// graphs of any size: sums by node, and a bit for each node touched, which gives the candidates in
// increasing order without sorting. Both are zero between walks. The zero Scratch is ready.
type Scratch struct {
	sum  []float64
	seen []uint64
	busy bool
}

// AdamicAdarFrom calls visit for every node v ≠ u that shares a neighbour with u, in increasing
// order, with AA(u, v): the same bits as [Graph.AdamicAdar], for all candidates in one walk over
// the two-hop neighbourhood. Direct neighbours of u are among them if they share one too.
// A nil scratch is allowed and costs an allocation.
func (g *Graph) AdamicAdarFrom(u int32, s *Scratch, visit func(v int32, aa float64)) {
	adamicAdarFrom(g, u, s, visit)
}

// adamicAdarFrom visits the bits set by spread, which gives rising order without sorting, and leaves the sums
// zero.
func adamicAdarFrom(g adjacency, u int32, s *Scratch, visit func(v int32, aa float64)) {
	if s == nil {
		s = new(Scratch)
	}
	s.reset(g.Len())
	lo, hi := s.spread(g, u)
	for i := lo; i < hi; i++ {
		word := s.seen[i]
		s.seen[i] = 0
		for word != 0 {
			v := int32(i*64 + bits.TrailingZeros64(word))
			word &= word - 1
			aa := s.sum[v]
			s.sum[v] = 0
			if v != u {
				visit(v, aa)
			}
		}
	}
	s.busy = false
}

// reset makes room for n nodes. A walk that its visitor left by a panic has not been cleared.
func (s *Scratch) reset(n int) {
	if len(s.sum) < n {
		s.sum, s.seen = make([]float64, n), make([]uint64, (n+63)/64)
	} else if s.busy {
		clear(s.sum)
		clear(s.seen)
	}
	s.busy = true
}

// spread adds 1/ln |N(w)| to every neighbour of every neighbour w of u, w increasing, and returns
// the range of words of seen that were touched.
func (s *Scratch) spread(g adjacency, u int32) (lo, hi int) {
	sum, seen := s.sum, s.seen
	lo, hi = len(seen), 0
	for _, w := range g.Neighbours(u) {
		row := g.Neighbours(w)
		if len(row) < 2 {
			continue // only u itself
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
