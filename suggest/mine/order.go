package mine

// MostCalls is the size of the largest pattern: the predecessors of a call are the bits of one byte.
const MostCalls = 8

// An order of up to eight calls holds, for each call, the calls that it comes after as bits.
type order [MostCalls]uint8

func (o *order) has(a, b int) bool { return o[b]>>a&1 != 0 }

// holds reports whether o contains another order: calls in order o are also in the other one.
func (o *order) holds(other *order) bool {
	for b, before := range other {
		if before&^o[b] != 0 {
			return false
		}
	}
	return true
}

// agree is the share of the occurrences that must have one call after another for the pair to be in the order.
// For up to eight calls, the pairs that nine tenths agree on never form a cycle: an occurrence contradicts at
// least one pair of a cycle, and at most a tenth of the occurrences contradict a pair.
const agree = 0.9

// consensus returns the order of k calls that the occurrences agree on, and the number of occurrences that have it; 0
// if the order does not connect all calls.
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
	for a := range k { // transitive closure: a before b and b before c imply a before c
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

// reduced returns the transitive reduction.
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

// topological returns the calls in topological order, with the smallest tool first on ties.
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

// moved returns the order after a permutation: call calls[i] becomes call i.
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

// whole reports whether the order connects all k calls.
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

// orderOf returns the order of the given calls in a task.
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
