package history

import (
	"slices"
	"waymark/episodic"
	"waymark/internal/pages"
	"waymark/suggest/learn/wiring"
)

// observeWires looks which values of an episode went from one call to another.
func (s *State) observeWires(e *episodic.Episode, nodes []int32, order []int, before [][]int) {
	if !slices.ContainsFunc(e.Steps, func(step episodic.Step) bool { return len(step.Inputs) > 0 || len(step.Outputs) > 0 }) {
		return
	}
	values := make([]wiring.Values, len(e.Steps))
	for _, i := range order {
		values[i] = s.wires.Values(e.Steps[i].Inputs, e.Steps[i].Outputs)
		s.observeCall(int32(s.totals.Episodes), i, nodes, values, func(i int) []int { return before[i] })
	}
}

// observeCall looks where the values of step x come from: from the steps it came after, directly or not,
// the nearest [wiring.Back] of them.
func (s *State) observeCall(episode int32, x int, nodes []int32, values []wiring.Values, before func(i int) []int) {
	var calls []wiring.Call
	if len(values[x].In) > 0 {
		seen := map[int]bool{}
		near := append([]int{}, before(x)...)
		for at := 0; at < len(near); at++ {
			if seen[near[at]] {
				near = slices.Delete(near, at, at+1)
				at--
				continue
			}
			seen[near[at]] = true
			if len(seen) == wiring.Back {
				near = near[:at+1]
				break
			}
			near = append(near, before(near[at])...)
		}
		slices.Sort(near)
		for _, i := range near {
			calls = append(calls, wiring.Call{Tool: nodes[i], Values: &values[i]})
		}
	}
	if s.wires.Observe(episode, nodes[x], &values[x], calls) {
		s.shown.wired.add(nodes[x])
	}
}

// showWires brings the wires up to date: of the nodes whose arguments were seen since, or of all.
func (s *State) showWires(all bool) {
	h := &s.shown
	defer h.wired.clear()
	canon := func(i int32) int32 { return h.canon[i] }
	show := func(as int32) {
		if w := s.wires.Wires(append([]int32{as}, h.spelled[as]...), canon); len(w) > 0 || len(h.wires.At(as)) > 0 {
			h.wires.Set(as, w)
		}
	}
	if all {
		h.wires = pages.List[[]wiring.Wire]{}
		for i, as := range h.canon {
			if as == int32(i) {
				show(as)
			}
		}
		return
	}
	for _, i := range h.wired.nodes {
		show(h.canon[i])
	}
}
