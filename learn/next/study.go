package next

import (
	"math"
	"slices"

	"waymark/learn/choice"
)

// A Study is what weights were fitted on, kept to fit them anew without a signal: what a signal is worth
// shows when the others had the chance to do without it.
type Study struct {
	g            *trainingSet
	plain, asked fitted
	prior        Weights // that both were fitted with
	share        float64 // how far the weights with a request stay from those without
	requests     bool    // some task had a request
}

// Without is a fit that leaves one signal out. Weights for a situation that the signal has no say in are
// nil.
type Without struct {
	Signal Signal
	Weights
}

// anew bounds the search for weights without a signal, which begins at those with it.
const anew = 25

// Ablate fits the weights anew without each signal in turn: the same held-out steps, penalties and prior
// as with all signals. It returns nil soon after stop is true; progress receives the fraction done.
func (s *Study) Ablate(stop func() bool, tell func(done float64)) []Without {
	if s.g == nil {
		return nil
	}
	s.g.stop = stop
	var all []Without
	for k := range signalCount {
		w := Without{Signal: k}
		if !k.OfRequest() {
			w.Plain = s.refit(&s.plain, k)
		}
		if s.requests {
			w.Asked = s.refit(&s.asked, k)
			plain := w.Plain
			if plain == nil {
				plain = s.plain.weights
			}
			w.Asked = between(plain, w.Asked, s.share)
		}
		if stop() {
			return nil
		}
		all = append(all, w)
		tell(float64(k+1) / float64(signalCount))
	}
	return all
}

// refit fits weights anew without signal k.
func (s *Study) refit(f *fitted, k Signal) []float64 {
	prior := slices.Clone(s.prior.Plain)
	if f == &s.asked {
		prior = slices.Clone(s.prior.Asked)
	}
	start, penalty := slices.Clone(f.weights), slices.Clone(f.penalty)
	for i := int(k) * parts; i < int(k+1)*parts; i++ {
		start[i], prior[i], penalty[i] = 0, 0, math.Inf(1)
	}
	return choice.FitFrom(s.g.choices, s.g.part(every, f.near), start, prior, penalty, anew, s.g.stop).Weights
}

// Place is the place of a tool in [History.Rank], from 1.
func (h *History) Place(s *FeatureValues, w []float64, tool int32) int {
	h.score(s, w)
	place, mine, uses := 1, s.buffer.scores[tool], h.chain.Uses(tool)
	for t, x := range s.buffer.scores {
		if x > mine || x == mine && int32(t) != tool && (h.chain.Uses(int32(t)) > uses || h.chain.Uses(int32(t)) == uses && int32(t) < tool) {
			place++
		}
	}
	return place
}
