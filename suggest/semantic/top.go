package semantic

import (
	"cmp"
	"slices"
)

func order(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
}

func sortHits(hits []Hit) { slices.SortFunc(hits, order) }

// keepBest adds h to the heap dst[first:] of at most k hits, the worst on top.
func keepBest(dst []Hit, first, k int, h Hit) []Hit {
	heap := dst[first:]
	if len(heap) < k {
		dst = append(dst, h)
		heap = dst[first:]
		for i := len(heap) - 1; i > 0 && order(heap[i], heap[(i-1)/2]) > 0; i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
		return dst
	}
	if order(h, heap[0]) >= 0 {
		return dst
	}
	heap[0] = h
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < len(heap) && order(heap[c+1], heap[c]) > 0 {
			c++
		}
		if c >= len(heap) || order(heap[c], heap[i]) <= 0 {
			return dst
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}
