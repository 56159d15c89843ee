package mine

import (
	"cmp"
	"math/bits"
	"slices"
)

// An order of up to eight calls is a set of pairs: bit 8·a + b says that call b comes after call a.
type order uint64

// MostCalls is the largest pattern: an order of it fits a word.
const MostCalls = 8

func pair(a, b int) order { return 1 << (8*a + b) }

func (o order) has(a, b int) bool { return o&pair(a, b) != 0 }

// agree is the share of the occurrences that must have one call after another for it to be the order.
// Up to eight calls, pairs that nine tenths agree on never form a cycle: an occurrence contradicts at
// least one pair of a cycle, and no pair has more than a tenth against it.
const agree = 0.9

// seen is how often calls occurred in an order.
type seen struct {
	order order
	count int
}

// ways are the different orders of k calls, the most frequent first: what the occurrences agree on or,
// where that falls apart, the orders that are frequent by themselves.
func ways(occurred []seen, k, support int) []seen {
	slices.SortFunc(occurred, func(a, b seen) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.order, b.order))
	})
	if all, ok := consensus(occurred, k, support); ok {
		return []seen{all}
	}
	var found []seen
	for len(found) < mostWays && len(occurred) > 0 {
		one := seen{order: occurred[0].order}
		left := occurred[:0:0]
		for _, s := range occurred {
			if s.order&one.order == one.order {
				one.count += s.count
			} else {
				left = append(left, s)
			}
		}
		if one.count >= support && one.order.whole(k) {
			found = append(found, one)
		}
		occurred = left
	}
	return found
}

// mostWays is how many ways to do the same calls are told apart.
const mostWays = 3

// consensus is the order that the occurrences agree on, and how many have it.
func consensus(occurred []seen, k, support int) (seen, bool) {
	all := 0
	var count [64]int
	for _, s := range occurred {
		all += s.count
		for o := s.order; o != 0; o &= o - 1 {
			count[bits.TrailingZeros64(uint64(o))] += s.count
		}
	}
	var o order
	for i, c := range count {
		if float64(c) >= agree*float64(all) && c > 0 {
			o |= 1 << i
		}
	}
	o = o.closure(k)
	n := 0
	for _, s := range occurred {
		if s.order&o == o {
			n += s.count
		}
	}
	return seen{o, n}, n >= support && o.whole(k)
}

// closure adds what follows: a before b before c is a before c.
func (o order) closure(k int) order {
	for b := range k {
		for a := range k {
			if o.has(a, b) {
				o |= order(o>>(8*b)&0xff) << (8 * a)
			}
		}
	}
	return o
}

// reduced leaves out what follows.
func (o order) reduced(k int) order {
	r := o
	for a := range k {
		for b := range k {
			for c := range k {
				if o.has(a, b) && o.has(b, c) {
					r &^= pair(a, c)
				}
			}
		}
	}
	return r
}

// whole reports whether the calls are one piece.
func (o order) whole(k int) bool {
	reached := uint(1)
	for range k {
		for a := range k {
			for b := range k {
				if o.has(a, b) && reached&(1<<a|1<<b) != 0 {
					reached |= 1<<a | 1<<b
				}
			}
		}
	}
	return reached == 1<<k-1
}

// orderOf is the order in which the given calls of a task stand.
func (p *prepared) orderOf(calls []uint8) order {
	var o order
	for a, x := range calls {
		for b, y := range calls {
			if a != b && p.follows(x, y) {
				o |= pair(a, b)
			}
		}
	}
	return o
}
