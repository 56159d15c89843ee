package next

import (
	"cmp"
	mathbits "math/bits"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/sequence"
)

// Always are the signals that a tool has in every situation. A tool that nothing else speaks for is
// ranked by these alone.
var Always = [...]Signal{signalPopularity, signalImportance}

// Always is the value that a tool has of a signal in every situation.
func (h *History) Always(k Signal, tool int32) float64 {
	if k == signalImportance {
		return float64(h.important(tool))
	}
	return h.popular(tool)
}

// popular is ln P₀ of a tool.
func (h *History) popular(tool int32) float64 {
	if s := h.structure; s != nil && s.tasks == len(h.tasks) {
		return s.popular[tool]
	}
	return ln(h.chain.Popularity(tool))
}

// A Ranked tool with its score and probability.
type Ranked struct {
	Tool        int32
	Score       float64
	Probability float64
	Row         int // in the signs, -1 if nothing speaks for it
}

// Rank orders all tools for the situation in s: falling score, then more uses, then the smaller
// number. Tools that nothing speaks for have only their popularity and importance.
func (h *History) Rank(s *FeatureValues, w []float64, out []Ranked) []Ranked {
	return h.RankTop(s, w, h.chain.Tools(), out)
}

// RankTop is the beginning of [History.Rank], k tools or all there are. The probabilities
// are those among all tools.
func (h *History) RankTop(s *FeatureValues, w []float64, k int, out []Ranked) []Ranked {
	out = out[:0]
	T := h.chain.Tools()
	if T == 0 || k <= 0 {
		return out
	}
	z := h.partition(s, w)
	before := func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(h.chain.Uses(b.Tool), h.chain.Uses(a.Tool)), cmp.Compare(a.Tool, b.Tool))
	}
	for t, x := range s.buffer.scores {
		switch r := (Ranked{Tool: int32(t), Score: x, Row: int(s.row[t]) - 1}); {
		case k >= T:
			out = append(out, r)
		case len(out) < k || x >= out[k-1].Score:
			out = sequence.Keep(out, r, k, before)
		}
	}
	if k >= T {
		slices.SortFunc(out, before)
	}
	for i := range out {
		out[i].Probability = s.buffer.odds[out[i].Tool] / z
	}
	return out
}

// Score is [History.Rank] in order of the tools: for whoever wants a few of those that pass a filter.
func (h *History) Score(s *FeatureValues, w []float64, out []Ranked) []Ranked {
	if h.chain.Tools() == 0 {
		return out[:0]
	}
	z := h.partition(s, w)
	out = slices.Grow(out[:0], len(s.buffer.scores))[:len(s.buffer.scores)]
	for t, x := range s.buffer.scores {
		out[t] = Ranked{int32(t), x, s.buffer.odds[t] / z, int(s.row[t]) - 1}
	}
	return out
}

// partition fills s.scores and s.odds, e^(score - highest), by tool, and returns the sum of the odds.
func (h *History) partition(s *FeatureValues, w []float64) (z float64) {
	h.score(s, w)
	top := slices.Max(s.buffer.scores)
	s.buffer.odds = append(s.buffer.odds[:0], s.buffer.scores...)
	numeric.Exps(s.buffer.odds, top)
	for _, e := range s.buffer.odds {
		z += e
	}
	return z
}

// score fills s.scores by tool.
func (h *History) score(s *FeatureValues, w []float64) {
	var fresh [len(Always)]float64
	for i, k := range Always {
		fresh[i] = Weight(w, k, s.Evidence[k], 0)
	}
	T := h.chain.Tools()
	s.buffer.scores = slices.Grow(s.buffer.scores[:0], T)[:T]
	if g := h.structure; g != nil && g.tasks == len(h.tasks) {
		popular, important := g.popular[:T], g.important[:T] // the values of Always
		for t := range s.buffer.scores {
			s.buffer.scores[t] = 0 + float64(fresh[0]*popular[t]) + float64(fresh[1]*float64(important[t]))
		}
	} else {
		for t := range s.buffer.scores {
			score := 0.0
			for i, k := range Always {
				score += float64(fresh[i] * h.Always(k, int32(t)))
			}
			s.buffer.scores[t] = score
		}
	}
	var worth [3][signalCount]float64
	s.worth(w, &worth)
	for i, t := range s.Tools {
		weights, values, score := &worth[s.use[i]], &s.Values[i], 0.0
		for has := s.has[i]; has != 0; has &= has - 1 {
			k := mathbits.TrailingZeros64(has)
			score += float64(weights[k] * float64(values[k]))
		}
		s.buffer.scores[t] = score
	}
}
