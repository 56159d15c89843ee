package whisper

import "gonum.org/v1/gonum/mathext"

// lowerBound is the Clopper–Pearson lower bound of a probability: k of n trials succeeded, and with a probability of
// at most alpha the true value lies below it.
func lowerBound(k, n int, alpha float64) float64 {
	if k <= 0 || n <= 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), alpha)
}

// tail is the probability of at least k successes in n trials that succeed with probability p each.
func tail(k, n int, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0 || k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}
