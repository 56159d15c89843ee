package next

import (
	"slices"

	"waymark/learn/sequence"
)

// longest is how many tools a plan may have; a graph whose plans are longer says little.
const longest = 16

// plans turns an authored dependency graph into tasks nobody has done yet: for every tool that
// requires others the way to it, what it requires first, depth first. Requirements in a circle
// are taken once, and ways longer than longest left out.
func plans(requires [][]int32) *sequence.Neighbours {
	n := sequence.NewNeighbours(len(requires))
	for goal, needs := range requires {
		if len(needs) == 0 {
			continue
		}
		var way []int32
		place := map[int32]int32{}
		if visit(requires, int32(goal), place, &way) {
			parents := make([][]int32, len(way))
			for i, t := range way {
				for _, need := range requires[t] {
					if j := place[need] - 1; j < int32(i) && !slices.Contains(parents[i], j) {
						parents[i] = append(parents[i], j)
					}
				}
				slices.Sort(parents[i])
			}
			n.Observe(way, parents)
		}
	}
	return n
}

// visit appends what tool requires and then the tool, and reports whether the way is short enough.
// The place of a tool is counted from 1, and beyond the end while what it requires is visited.
func visit(requires [][]int32, tool int32, place map[int32]int32, way *[]int32) bool {
	if place[tool] != 0 {
		return true
	}
	place[tool] = longest + 2
	for _, need := range requires[tool] {
		if !visit(requires, need, place, way) {
			return false
		}
	}
	*way = append(*way, tool)
	place[tool] = int32(len(*way))
	return len(*way) <= longest
}

// authored computes the signals of the catalog's dependency graph.
func (h *History) authored(p *sequence.Prefix, s *FeatureValues) {
	if h.catalog.Requires == nil {
		return
	}
	last := p.Last()
	for _, t := range h.byProperty.requiredBy[last] {
		s.set(Linked, t, 1)
	}
	s.Evidence[Linked] = level(int(h.after.skip[0][last].Total))
	for _, done := range p.Distinct {
		for _, t := range h.byProperty.requiredBy[done] {
			s.add(t, 1/float64(len(h.catalog.Requires[t])))
		}
	}
	s.flush(signalEnabled, func(_ int32, share float64) float64 { return share })
	s.Evidence[signalEnabled] = level(len(p.Tools))
	v := h.plans.Votes(p, &s.search)
	near := uint8(max(0, min(v.Similarity*4.8, 3)))
	s.Evidence[signalPlanned] = near
	s.Evidence[signalPlannedNext] = uint8(max(0, min(float64(v.Agreement*4)-1.2, 3)))
	for _, x := range v.Frontier {
		s.set(signalPlanned, x.Tool, h.over(x.Tool, x.Share))
	}
	for _, x := range v.Overlap {
		s.set(signalPlannedNext, x.Tool, h.over(x.Tool, x.Share))
	}
}
