package mine

// MostCalls is the largest pattern: what comes before a call of it fits a byte.
const MostCalls = 8

// An order of up to eight calls says of each, as bits, which others it comes after.
type order [MostCalls]uint8

func (o *order) has(a, b int) bool { return o[b]>>a&1 != 0 }

// holds reports whether calls in order o are in another order, too.
func (o *order) holds(other *order) bool {
	for b, before := range other {
		if before&^o[b] != 0 {
			return false
		}
	}
	return true
}

// agree is the share of the occurrences that must have one call after another for it to be the order.
// Up to eight calls, pairs that nine tenths agree on never form a cycle: an occurrence contradicts at
// least one pair of a cycle, and no pair has more than a tenth against it.
const agree = 0.9

// consensus is the order of k calls that the occurrences agree on, and how many have it; 0 if it is not one piece.
func consensus(occurred map[order]int, k int) (o order, n int) {
	var count [MostCalls][MostCalls]int
	all := 0
	for seen, times := range occurred {
		all += times
		for b := range k {
			for a := range k {
				if seen.has(a, b) {
					count[b][a] += times
				}
			}
		}
	}
	for b, counts := range count {
		for a, n := range counts {
			if n > 0 && float64(n) >= agree*float64(all) {
				o[b] |= 1 << a
			}
		}
	}
	for a := range k { // a before b before c is a before c
		for b := range k {
			if o.has(a, b) {
				o[b] |= o[a]
			}
		}
	}
	if !o.whole(k) {
		return o, 0
	}
	for seen, times := range occurred {
		if seen.holds(&o) {
			n += times
		}
	}
	return o, n
}

// reduced leaves out what follows.
func (o order) reduced() order {
	r := o
	for b := range o {
		for a := range o {
			if o.has(a, b) {
				r[b] &^= o[a]
			}
		}
	}
	return r
}

// topological lists the calls so that each comes after those before it, the smallest tool first.
func (o order) topological(tools []int32) (calls []int) {
	for done := uint8(0); len(calls) < len(tools); {
		best := -1
		for i := range tools {
			if done>>i&1 == 0 && o[i]&^done == 0 && (best < 0 || tools[i] < tools[best]) {
				best = i
			}
		}
		done |= 1 << best
		calls = append(calls, best)
	}
	return calls
}

// moved is the order of the calls in other places.
func (o order) moved(calls []int) (m order) {
	for i, b := range calls {
		for j, a := range calls {
			if o.has(a, b) {
				m[i] |= 1 << j
			}
		}
	}
	return m
}

// whole reports whether the calls are one piece.
func (o order) whole(k int) bool {
	reached := uint8(1)
	for range k {
		for b, before := range o[:k] {
			if piece := before | 1<<b; before != 0 && piece&reached != 0 {
				reached |= piece
			}
		}
	}
	return reached == uint8(1<<k-1)
}

// orderOf is the order in which the given calls of a task stand.
func (t *Task) orderOf(calls []uint8) (o order) {
	for b, y := range calls {
		for a, x := range calls {
			if a != b && t.follows(x, y) {
				o[b] |= 1 << a
			}
		}
	}
	return o
}
