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

// better orders by falling score, which is never NaN, then by node.
func better(a, b Scored) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node))
}

// worse is the order of the heap, better(a, b) > 0.
func worse(a, b Scored) bool {
	return a.Score < b.Score || a.Score == b.Score && a.Node > b.Node
}

// AdamicAdarTop appends to dst[:0] the k nodes most alike u, with AA(u, v) > 0: the same bits as [AdamicAdar], in the order of
// falling score, then of rising node. All come from one walk over the neighbours of the neighbours of u, which may be among
// them. A nil scratch is allowed and costs an allocation.
func AdamicAdarTop(g Adjacency, u int32, k int, s *Scratch, dst []Scored) []Scored {
	if dst = dst[:0]; k <= 0 {
		return dst
	}
	if s == nil {
		s = new(Scratch)
	}
	if n := g.Len(); len(s.sum) < n {
		s.sum, s.seen = make([]float64, n), make([]uint64, (n+63)/64)
	}
	lo, hi := s.spread(g, u)
	for i := lo; i < hi; i++ {
		word := s.seen[i]
		s.seen[i] = 0
		for ; word != 0; word &= word - 1 {
			v := int32(i*64 + bits.TrailingZeros64(word))
			if v != u {
				dst = offer(dst, k, Scored{v, s.sum[v]})
			}
			s.sum[v] = 0
		}
	}
	slices.SortFunc(dst, better)
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
