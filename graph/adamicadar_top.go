package graph

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Scored is a node and its score.
type Scored struct {
	Node  int32
	Score float64
}

// better orders by falling score, then by node.
func better(a, b Scored) int {
	if a.Score != b.Score { // never NaN
		if a.Score > b.Score {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Node, b.Node)
}

// worse is the order of the heap, better(a, b) > 0.
func worse(a, b Scored) bool {
	return a.Score < b.Score || a.Score == b.Score && a.Node > b.Node
}

// AdamicAdarTop appends to dst[:0] the k nodes most alike u, with AA(u, v) > 0: those of
// [Graph.AdamicAdarFrom] in the order of falling score, then of rising node, cut after k. Nothing
// is left out or approximated. With room in dst it allocates nothing once s has met the graph.
//
// The cost is that of the edges of the neighbours, and the most of it is the hubs among them,
// which say the least: they come last, and are skipped where what they could still add would
// bring no one new among the k.
func (g *Graph) AdamicAdarTop(u int32, k int, s *Scratch, dst []Scored) []Scored {
	return adamicAdarTop(g, u, k, s, dst)
}

// adamicAdarTop chooses by the number of edges to walk: below an eighth of the nodes a plain walk is cheaper
// than the bounds that skip hubs.
func adamicAdarTop(g adjacency, u int32, k int, s *Scratch, dst []Scored) []Scored {
	dst = dst[:0]
	if k <= 0 {
		return dst
	}
	if s == nil {
		s = new(Scratch)
	}
	s.reset(g.Len())
	work := 0
	for _, w := range g.Neighbours(u) {
		work += len(g.Neighbours(w))
	}
	if work < g.Len()/8 {
		dst = s.topOfFew(g, u, k, dst)
	} else {
		dst = s.topOfMany(g, u, k, work, dst)
	}
	s.busy = false
	slices.SortFunc(dst, better)
	return dst
}

// Top appends to dst[:0] the k best of scored by falling score, then by rising node.
func Top(scored []Scored, k int, dst []Scored) []Scored {
	dst = dst[:0]
	if k <= 0 {
		return dst
	}
	for _, c := range scored {
		dst = offer(dst, k, c)
	}
	slices.SortFunc(dst, better)
	return dst
}

// topOfFew walks over the nodes touched.
func (s *Scratch) topOfFew(g adjacency, u int32, k int, dst []Scored) []Scored {
	lo, hi := s.spread(g, u)
	for i := lo; i < hi; i++ {
		word := s.seen[i]
		s.seen[i] = 0
		for word != 0 {
			v := int32(i*64 + bits.TrailingZeros64(word))
			word &= word - 1
			score := s.sum[v]
			s.sum[v] = 0
			if v != u {
				dst = offer(dst, k, Scored{v, score})
			}
		}
	}
	return dst
}

// topOfMany is for a walk that touches a good part of the graph: it takes no note of who is
// touched and goes through all sums at the end.
func (s *Scratch) topOfMany(g adjacency, u int32, k, work int, dst []Scored) []Scored {
	sum := s.sum[:g.Len()]
	s.byDegree = fallingIntoClasses(g, g.Neighbours(u), s.byDegree[:0])
	rest := 0.0 // what the neighbours to come can add at most to any node; exact, see inverseLog
	for _, w := range s.byDegree {
		rest += g.inverseOf(w)
	}
	// Looking whether the rest can be skipped costs a walk over the sums, so it is done once, when
	// there is little left that could lift anyone in but much to walk through. The k best have
	// about a tenth of the total on the graphs measured, so few are left to be completed then.
	const little, much = 1.0 / 24, 2
	look := rest * little
	for i, w := range s.byDegree {
		if rest <= look && work > much*g.Len() {
			look = 0
			dst = best(sum, u, k, dst)
			if len(dst) == k && rest < dst[0].Score {
				left := s.byDegree[i:]
				if few, ok := s.remaining(g, u, dst[0].Score-rest, work/len(left)); ok {
					dst = s.finish(g, k, few, left, dst)
					clear(sum)
					return dst
				}
			}
		}
		x, row := g.inverseOf(w), g.Neighbours(w)
		for _, v := range row {
			sum[v] += x
		}
		rest -= x
		work -= len(row)
	}
	dst = best(sum, u, k, dst)
	clear(sum)
	return dst
}

// remaining are the nodes whose sum is at least so much, if looking them up in a row is cheaper than
// walking along the row, which on average has so many nodes. A look-up costs about as much as 30
// nodes of the walk.
func (s *Scratch) remaining(g adjacency, u int32, least float64, row int) (few []Scored, ok bool) {
	few, ok = s.few[:0], true
	for v, x := range s.sum[:g.Len()] {
		if x >= least && x > 0 && int32(v) != u {
			few = append(few, Scored{int32(v), x})
			if len(few)*30 > row {
				ok = false
				break
			}
		}
	}
	s.few = few
	return few, ok
}

// finish completes the scores of those few with the neighbours left and picks the best k.
func (s *Scratch) finish(g adjacency, k int, few []Scored, left []int32, dst []Scored) []Scored {
	for _, w := range left {
		x, row := g.inverseOf(w), g.Neighbours(w)
		for i := range few {
			at, ok := slices.BinarySearch(row, few[i].Node)
			if ok {
				few[i].Score += x
			}
			row = row[at:]
		}
	}
	dst = dst[:0]
	for _, c := range few {
		dst = offer(dst, k, c)
	}
	return dst
}

// fallingIntoClasses appends nodes to dst by rising order of magnitude of their degree, and within
// one in the order given.
func fallingIntoClasses(g adjacency, nodes, dst []int32) []int32 {
	var count [33]int
	for _, w := range nodes {
		count[bits.Len(uint(len(g.Neighbours(w))))]++
	}
	at := 0
	for c, n := range count {
		count[c] = at
		at += n
	}
	dst = slices.Grow(dst, len(nodes))[:len(nodes)]
	for _, w := range nodes {
		c := bits.Len(uint(len(g.Neighbours(w))))
		dst[count[c]] = w
		count[c]++
	}
	return dst
}

// best puts the k largest sums, except that of u and zeros, into dst as a heap for [offer].
func best(sum []float64, u int32, k int, dst []Scored) []Scored {
	dst = dst[:0]
	least := 0.0
	for v, x := range sum {
		if x > least && int32(v) != u {
			dst = offer(dst, k, Scored{int32(v), x})
			if len(dst) == k {
				least = dst[0].Score // later nodes with an equal score come after
			}
		}
	}
	return dst
}

// offer adds c to the heap of the k best so far, whose worst is h[0].
func offer(h []Scored, k int, c Scored) []Scored {
	if len(h) < k {
		h = append(h, c)
		for i := len(h) - 1; i > 0; { // up
			parent := (i - 1) / 2
			if worse(h[parent], h[i]) {
				break
			}
			h[i], h[parent] = h[parent], h[i]
			i = parent
		}
		return h
	}
	if worse(c, h[0]) {
		return h
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= k {
			break
		}
		if child+1 < k && worse(h[child+1], h[child]) {
			child++
		}
		if worse(c, h[child]) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = c
	return h
}
