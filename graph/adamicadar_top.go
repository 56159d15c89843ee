package graph

import (
	"cmp"
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

// AdamicAdarTop appends to dst[:0] the k nodes most alike u, with AA(u, v) > 0: those of
// [Graph.AdamicAdarFrom] in the order of falling score, then of rising node, cut after k. With room in
// dst it allocates nothing once s has met the graph.
func (g *Graph) AdamicAdarTop(u int32, k int, s *Scratch, dst []Scored) []Scored {
	return adamicAdarTop(g, u, k, s, dst)
}

func adamicAdarTop(g adjacency, u int32, k int, s *Scratch, dst []Scored) []Scored {
	dst = dst[:0]
	if k <= 0 {
		return dst
	}
	adamicAdarFrom(g, u, s, func(v int32, aa float64) { dst = offer(dst, k, Scored{v, aa}) })
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
