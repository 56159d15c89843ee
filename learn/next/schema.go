package next

import "waymark/learn/sequence"

// properties lists who takes each property. One that a fifth of the tools take tells none apart.
func (h *History) properties() {
	for t, takes := range h.catalog.Takes {
		for _, p := range takes {
			for int(p) >= len(h.byProperty.takers) {
				h.byProperty.takers = append(h.byProperty.takers, nil)
			}
			h.byProperty.takers[p] = append(h.byProperty.takers[p], int32(t))
		}
	}
	h.byProperty.rare = make([]float64, len(h.byProperty.takers))
	for p, takers := range h.byProperty.takers {
		if n := len(takers); n > 0 && n <= len(h.catalog.Server)/5+5 {
			h.byProperty.rare[p] = ln(1 + float64(len(h.catalog.Server))/float64(n))
		}
	}
}

// schemas computes the signals of available inputs: outputs of the tools of the prefix, and their inputs,
// themselves, since it had to come from somewhere. Rare properties count more.
func (h *History) schemas(p *sequence.Prefix, s *FeatureValues) {
	if len(h.byProperty.takers) == 0 {
		return
	}
	s.Evidence[signalGiven] = level(int(h.after.skip[0][p.Last()].Total))
	s.Evidence[signalKnown] = s.Evidence[signalGiven]
	if len(s.buffer.known) < len(h.byProperty.takers) {
		s.buffer.known = make([]bool, len(h.byProperty.takers))
	}
	done := p.Distinct[:min(len(p.Distinct), bagMax)]
	for _, t := range done {
		h.provide(h.catalog.Gives, t, s)
	}
	h.share(signalGiven, s)
	for _, t := range done {
		h.provide(h.catalog.Takes, t, s)
	}
	h.share(signalKnown, s)
	for _, x := range s.buffer.knew {
		s.buffer.known[x] = false
	}
	s.buffer.knew = s.buffer.knew[:0]
}

// provide notes properties of a tool as known.
func (h *History) provide(of [][]int32, tool int32, s *FeatureValues) {
	if of == nil {
		return
	}
	for _, x := range of[tool] {
		if int(x) < len(h.byProperty.takers) && !s.buffer.known[x] {
			s.buffer.known[x] = true
			s.buffer.knew = append(s.buffer.knew, x)
		}
	}
}

// share sets k to the share of each tool's inputs that are known.
func (h *History) share(k Signal, s *FeatureValues) {
	for _, x := range s.buffer.knew {
		if w := h.byProperty.rare[x]; w > 0 {
			for _, t := range h.byProperty.takers[x] {
				s.add(t, w)
			}
		}
	}
	s.flush(k, func(tool int32, known float64) float64 {
		all := 0.0
		for _, x := range h.catalog.Takes[tool] {
			all += h.byProperty.rare[x]
		}
		return known / all
	})
}
