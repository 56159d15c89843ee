package evidence

import (
	"slices"

	"waymark/internal/numeric"
)

// Weights returns w_i = prior_i·exp(net_i) / Σ_j prior_j·exp(net_j), with net the difference of support and
// falsification. It is never negative and adds up to 1, whatever the net; priors must be at least 0 with
// a positive sum. With equal nets the weights are the priors divided by their sum.
func Weights(prior, net []float64) []float64 {
	top := 0.0
	for i, first := 0, true; i < len(net); i++ {
		if prior[i] > 0 && (first || net[i] > top) {
			top, first = net[i], false
		}
	}
	w := make([]float64, len(prior))
	for i, p := range prior {
		if p > 0 {
			w[i] = float64(p * numeric.Exp(net[i]-top))
		}
	}
	total := sum(w)
	for i := range w {
		w[i] /= total
	}
	return w
}

// entropy is -Σ w·ln w in nats, with 0·ln 0 = 0: 0 if one weight is 1, ln k if k weights are equal.
func entropy(weights []float64) float64 {
	var terms []float64
	for _, w := range weights {
		if w > 0 {
			terms = append(terms, float64(-w*numeric.Ln(w)))
		}
	}
	return max(0, sum(terms))
}

// entropyShare is the entropy divided by ln k, which does not depend on the base of the logarithm: 0 to
// 1, and 0 for a single weight.
func entropyShare(weights []float64) float64 {
	if len(weights) < 2 {
		return 0
	}
	return min(1, entropy(weights)/numeric.Ln(float64(len(weights))))
}

// sum adds in increasing order, so that it does not depend on who comes first.
func sum(x []float64) float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return numeric.Sum(sorted)
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return sum(x) / float64(len(x))
}
