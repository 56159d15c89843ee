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
