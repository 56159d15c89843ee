package suggest

import (
	"cmp"
	"slices"

	"waymark/episodic"
)

// Bounds of the search of [Model.WorkedAfterFailure]: the newest episodes, and the steps after a failure.
const failureEpisodes, failureSteps = 20_000, 3

// WorkedAfterFailure returns the tool that was most often the first to succeed within three steps after a failure of a
// tool, possibly the tool itself. n counts these successes and of the failures. The id is empty if no such tool is
// known.
func (m *Model) WorkedAfterFailure(tool string) (id string, n, of int) {
	failed, ok, err := m.node(tool)
	if err != nil || !ok {
		return "", 0, 0
	}
	counts := map[int32]int{}
	for i := m.Past.N - 1; i >= max(0, m.Past.N-failureEpisodes); i-- {
		e := m.Past.Episode(i)
		for s, node := range e.Nodes {
			if m.Canonical[node] != failed || e.StepOutcome(s) != episodic.Failure {
				continue
			}
			of++
			for next := s + 1; next < min(len(e.Nodes), s+1+failureSteps); next++ {
				if e.StepOutcome(next) == episodic.Success {
					counts[m.Canonical[e.Nodes[next]]]++
					break
				}
			}
		}
	}
	var tools []int32
	for node := range counts {
		if m.Live(node) {
			tools = append(tools, node)
		}
	}
	if len(tools) == 0 {
		return "", 0, of
	}
	best := slices.MinFunc(tools, func(a, b int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(m.IDs[a], m.IDs[b]))
	})
	return m.IDs[best], counts[best], of
}
