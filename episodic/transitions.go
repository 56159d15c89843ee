package episodic

import "slices"

// Transition says that step To came right after step From (indices into Episode.Steps).
//
// Where a step lists what it depends on, each listed pair is one observation of weight 1. Where only
// the order is known, each step of a layer follows each step of the layer before, with weight ½:
//
//	depends_on:  c: [a, b]        a ──1──▶ c ◀──1── b
//	order only:  a, b             a ──½──▶ b
//	group:       a, [b, c], d     a ──½──▶ b, a ──½──▶ c, b ──½──▶ d, c ──½──▶ d
//
// Weights are counted in halves, so that sums are exact.
type Transition struct {
	From, To int
	Halves   uint64 // 2 = weight 1, 1 = weight ½
}

// Transitions lists what followed what. A failed step breaks the chain: it has no transitions. The
// steps of a failed episode count unless they failed themselves: whole episodes fail for one bad
// step, and what came before it was the usual way to go.
func (e *Episode) Transitions() []Transition {
	var ts []Transition
	for to, before := range e.Before() {
		if e.Steps[to].Outcome == Failure {
			continue
		}
		halves := uint64(1)
		if e.Steps[to].DependsOn != nil {
			halves = 2
		}
		for _, from := range before {
			if e.Steps[from].Outcome != Failure {
				ts = append(ts, Transition{from, to, halves})
			}
		}
	}
	return ts
}

// Before returns, for each step, the steps right before it, failed ones included: what a call came
// after, whether or not that worked. The steps of a layer share a list, which is not to be changed.
func (e *Episode) Before() [][]int {
	before := make([][]int, len(e.Steps))
	at := e.positions()
	var last []int // the layer before
	for i := 0; i < len(e.Steps); {
		var layer []int
		for end := e.layerEnd(i); i < end; i++ {
			layer = append(layer, i)
			if e.Steps[i].DependsOn == nil {
				before[i] = last
				continue
			}
			for _, id := range e.Steps[i].DependsOn {
				if from, ok := at[id]; ok {
					before[i] = append(before[i], from)
				}
			}
		}
		last = slices.Clip(layer)
	}
	return before
}

// Order returns the steps so that each comes after what it depends on, otherwise as recorded.
// Normalise refuses cycles; the steps of one would be left out here.
func (e *Episode) Order() []int {
	before := e.Before()
	waits := make([]int, len(e.Steps))
	after := make([][]int, len(e.Steps))
	for to, froms := range before {
		waits[to] = len(froms)
		for _, from := range froms {
			after[from] = append(after[from], to)
		}
	}
	order := make([]int, 0, len(e.Steps))
	ready := make([]bool, len(e.Steps))
	for next := 0; next < len(e.Steps); {
		// The smallest index that is ready. Freed steps mostly lie ahead, so the scan restarts
		// behind only when one does not.
		if ready[next] || waits[next] > 0 {
			next++
			continue
		}
		ready[next] = true
		order = append(order, next)
		restart := next + 1
		for _, to := range after[next] {
			if waits[to]--; waits[to] == 0 {
				restart = min(restart, to)
			}
		}
		next = restart
	}
	return order
}

// layerEnd is the end of the run of parallel steps that starts at i.
func (e *Episode) layerEnd(i int) int {
	end := i + 1
	for g := e.Steps[i].Group; g != "" && end < len(e.Steps) && e.Steps[end].Group == g; {
		end++
	}
	return end
}

func (e *Episode) positions() map[string]int {
	at := make(map[string]int, len(e.Steps))
	for i := range e.Steps {
		at[e.Steps[i].ID] = i
	}
	return at
}
