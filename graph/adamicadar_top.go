package graph

import (
	"cmp"
	"math/bits"

	"waymark/internal/numeric"
)

// A Scored is a node and its score.
type Scored struct {
	Node  int32
	Score float64
}

// better orders by falling score, which is never NaN, then by node.
func better(a, b Scored) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Node, b.Node)
}

// AdamicAdarTop appends to dst[:0] the k nodes v most similar to u with AA(u, v) > 0, by falling score and then by
// node. The scores have the same bits as those of [AdamicAdar]. All come from one walk over the neighbours of the
// neighbours of u; the neighbours of u may be among them. A nil scratch is allowed and costs an allocation.
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
			if v != u && (len(dst) < k || s.sum[v] >= dst[k-1].Score) { // most are far below
				dst = numeric.Keep(dst, k, Scored{v, s.sum[v]}, better)
			}
			s.sum[v] = 0
		}
	}
	return dst
}
