package next

import (
	"cmp"
	"slices"

	"waymark/numeric"
	"waymark/predict/sequence"
)

// A Ranked tool with its score and probability.
type Ranked struct {
	Tool        int32
	Score       float64
	Probability float64
	Row         int // in the signs, -1 if nothing speaks for it
}

// Rank orders all tools for the situation in s: falling score, then more uses, then the smaller
// number. Tools that nothing speaks for have only their popularity.
func (h *History) Rank(s *Signs, w []float64, out []Ranked) []Ranked {
	return h.RankTop(s, w, h.chain.Tools(), out)
}

// RankTop is the beginning of [History.Rank], k tools or all there are. The probabilities
// are those among all tools.
func (h *History) RankTop(s *Signs, w []float64, k int, out []Ranked) []Ranked {
	out = out[:0]
	T := h.chain.Tools()
	if T == 0 || k <= 0 {
		return out
	}
	fresh := Weight(w, Popularity, s.Evidence[Popularity], 0)
	s.scores = append(s.scores[:0], make([]float64, T)...)
	for t := range s.scores {
		if s.row[t] == 0 {
			s.scores[t] = float64(fresh * ln(h.chain.Popularity(int32(t))))
		}
	}
	var worth [3][Signals]float64
	s.worth(w, &worth)
	for i, t := range s.Tools {
		weights, score := &worth[s.use[i]], 0.0
		for k, x := range &s.Values[i] {
			score += float64(weights[k] * float64(x))
		}
		s.scores[t] = score
	}
	top, z := slices.Max(s.scores), 0.0
	for _, x := range s.scores {
		z += numeric.Exp(x - top)
	}
	before := func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(h.chain.Uses(b.Tool), h.chain.Uses(a.Tool)), cmp.Compare(a.Tool, b.Tool))
	}
	for t, x := range s.scores {
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
		out[i].Probability = numeric.Exp(out[i].Score-top) / z
	}
	return out
}
