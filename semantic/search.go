package semantic

import (
	"cmp"
	"math/bits"
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
	} else if order(h, heap[0]) < 0 {
		heap[0] = h
		sift(heap, func(a, b Hit) bool { return order(a, b) > 0 })
	}
	return dst
}

// sift moves the top of a heap down to its place; above(a, b) says that a belongs over b.
func sift[T any](heap []T, above func(a, b T) bool) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && above(heap[c+1], heap[c]) {
			c++
		}
		if !above(heap[c], heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// find is the weight of a term in a document, 0 if it is not there.
func (x *lexical) find(term, doc int32) float32 {
	l := x.lists[term]
	if len(x.members) > 0 {
		if m := &x.members[term]; len(m.set) > 0 {
			word, bit := m.set[doc/64], uint64(1)<<(doc%64)
			if word&bit == 0 {
				return 0
			}
			return x.weight[l.at+m.before[doc/64]+int32(bits.OnesCount64(word&(bit-1)))]
		}
	}
	if i, ok := slices.BinarySearch(x.doc[l.at:l.at+l.n], doc); ok {
		return x.weight[int(l.at)+i]
	}
	return 0
}

// members is the set of documents in a long list, with the number of them before each 64, so that
// one document's place in the list is found at once.
type members struct {
	set    []uint64
	before []int32
}

// index makes the sets of the terms that at least one in 32 documents has.
func (x *lexical) index(docs int) {
	x.members = make([]members, len(x.lists))
	for t, l := range x.lists {
		if int(l.n) < max(docs/32, 64) {
			continue
		}
		m := members{make([]uint64, docs/64+1), make([]int32, docs/64+1)}
		for _, d := range x.doc[l.at : l.at+l.n] {
			m.set[d/64] |= 1 << (d % 64)
		}
		n := int32(0)
		for i, w := range m.set {
			m.before[i] = n
			n += int32(bits.OnesCount64(w))
		}
		x.members[t] = m
	}
}
