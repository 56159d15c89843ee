package history

import (
	"slices"

	"waymark/suggest/learn/wiring"
)

// observeCall looks where the values of step x come from: from the steps it came after, directly or not,
// the nearest [wiring.Back] of them.
func (s *State) observeCall(episode int32, x int, nodes []int32, values []wiring.Values, before [][]int) {
	var calls []wiring.Call
	if len(values[x].In) > 0 {
		near := []int{x}
		for at := 0; at < len(near) && len(near) <= wiring.Back; at++ {
			for _, b := range before[near[at]] {
				if !slices.Contains(near, b) {
					near = append(near, b)
				}
			}
		}
		for _, i := range slices.Sorted(slices.Values(near[1:min(len(near), wiring.Back+1)])) {
			calls = append(calls, wiring.Call{Tool: nodes[i], Values: &values[i]})
		}
	}
	s.wires.Observe(episode, nodes[x], &values[x], calls)
}

// showWires brings the wires into a node up to date.
func (s *State) showWires(node int32) {
	h := &s.shown
	canon := func(i int32) int32 { return h.canon[i] }
	if w := s.wires.Wires(append([]int32{node}, h.spelled[node]...), canon); len(w) > 0 || len(h.wires.At(node)) > 0 {
		h.wires.Set(node, w)
	}
}
