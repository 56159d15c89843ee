package episodic

import "sync"

// Transition records that step To came right after step From (indices into Episode.Steps).
//
// If a step lists its dependencies, each listed pair is one observation of weight 1. If only the order
// is known, each step of a layer follows each step of the layer before, with weight ½:
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

// Transitions lists the transitions of an episode. A failed step breaks the chain: it has no transitions.
// The steps of a failed episode count unless they failed themselves, because one bad step can fail a whole
// episode while the steps before it were as usual.
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

// Before returns, for each step, the steps right before it, including failed ones. Steps of a layer may share
// a list, which must not be changed.
func (e *Episode) Before() [][]int {
	before, all := make([][]int, len(e.Steps)), make([]int, len(e.Steps))
	at := sync.OnceValue(e.positions) // most episodes have no named dependencies
	var last []int                    // the layer before
	for i := 0; i < len(e.Steps); {
		start := i
		for end := e.layerEnd(i); i < end; i++ {
			if all[i] = i; e.Steps[i].DependsOn == nil {
				before[i] = last
				continue
			}
			for _, id := range e.Steps[i].DependsOn {
				if from, ok := at()[id]; ok {
					before[i] = append(before[i], from)
				}
			}
		}
		last = all[start:i:i]
	}
	return before
}

// Order returns the steps in an order in which each comes after its dependencies, and otherwise as recorded. Normalise
// rejects cycles.
func (e *Episode) Order() []int {
	before, placed := e.Before(), make([]bool, len(e.Steps))
	order := make([]int, 0, len(e.Steps))
	var place func(i int)
	place = func(i int) {
		if placed[i] {
			return
		}
		placed[i] = true
		for _, from := range before[i] {
			place(from)
		}
		order = append(order, i)
	}
	for i := range e.Steps {
		place(i)
	}
	return order
}

// layerEnd returns the end of the layer of parallel steps that starts at i.
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
