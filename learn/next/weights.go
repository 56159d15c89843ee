package next

import "math"

// Weights are what each signal is worth. Plain is for situations without a request.
type Weights struct{ Plain, Asked []float64 }

const (
	levels   = 4                    // of evidence
	classes  = 3                    // of use
	parts    = 1 + levels + classes // of a signal: its own weight, those of evidence, those of use
	evidence = 1
	use      = 1 + levels
)

// A Belief is a normal distribution of weights: their means, and the inverse of the variance of each.
type Belief struct{ Mean, Hold Weights }

// Prior are the weights of a history that is too short to fit any.
func Prior() Weights { return priorBelief().Mean }

// priorBelief is what the fits to small histories of several data sets have in common.
func priorBelief() Belief {
	const n = int(signalCount) * parts
	b := Belief{Weights{make([]float64, n), make([]float64, n)}, Weights{penalties(false), penalties(true)}}
	for k, row := range pooled {
		for i := range parts {
			at := k*parts + i
			b.Mean.Plain[at], b.Mean.Asked[at] = row[i], row[2*parts+i]
			if !math.IsInf(b.Hold.Plain[at], 1) {
				b.Hold.Plain[at] = row[parts+i]
			}
			b.Hold.Asked[at] = row[3*parts+i]
		}
	}
	return b
}

// penalties are those of weights of which nothing is known but that they lie near their prior.
func penalties(asked bool) []float64 {
	base := make([]float64, int(signalCount)*parts)
	for i := range base {
		switch {
		case !asked && Signal(i/parts).OfRequest():
			base[i] = math.Inf(1)
		case i%parts >= evidence && i%parts < use:
			base[i] = tighter
		default:
			base[i] = tight
		}
	}
	return base
}

// Weight is what signal k is worth for a tool that the prefix used as said: 0 never, 1 before, 2 last.
func Weight(w []float64, k Signal, level, used uint8) float64 {
	w = w[int(k)*parts : int(k+1)*parts]
	return w[0] + w[evidence+int(level)] + w[use+int(used)]
}

// Used is how the prefix used the i-th tool of the signs: 0 never, 1 before, 2 last.
func (s *FeatureValues) Used(i int) uint8 { return s.use[i] }

// worth is the weight of each signal for tools of each use, in this situation.
func (s *FeatureValues) worth(w []float64, out *[3][signalCount]float64) {
	for used := range out {
		for k := range signalCount {
			out[used][k] = Weight(w, k, s.Evidence[k], uint8(used))
		}
	}
}

// Score is Σ_k weight·signal of the i-th tool of the signs, each product a term that can be shown.
func (s *FeatureValues) Score(w []float64, i int) float64 {
	used, sum := s.Used(i), 0.0
	for k, x := range s.Values[i] {
		if x != 0 {
			sum += float64(Weight(w, Signal(k), s.Evidence[k], used) * float64(x))
		}
	}
	return sum
}
