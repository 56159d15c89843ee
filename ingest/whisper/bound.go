package whisper

import "waymark/internal/numeric"

// LowerBound is the Clopper–Pearson lower bound of a probability: k of n trials succeeded, and with a probability of
// at most alpha the true value lies below it.
func LowerBound(k, n int, alpha float64) float64 {
	if k <= 0 || n <= 0 {
		return 0
	}
	low, high := 0.0, float64(k)/float64(n)
	for range 40 {
		if mid := (low + high) / 2; Tail(k, n, mid) < alpha {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Tail is the probability of at least k successes in n trials that succeed with probability p each.
func Tail(k, n int, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0 || k > n:
		return 0
	}
	most := max(k, int(float64(n+1)*p)) // the largest term: it does not underflow where the sum does not
	most = min(most, n)
	choose := 0.0 // ln of n over most
	for i := range most {
		choose += numeric.Ln(float64(n-i)) - numeric.Ln(float64(most-i))
	}
	largest := numeric.Exp(choose + float64(float64(most)*numeric.Ln(p)) + float64(float64(n-most)*numeric.Ln(1-p)))
	sum, odds := largest, p/(1-p)
	for i, term := most, largest; i < n && term > 1e-18*sum; i++ {
		term = term * float64(n-i) / float64(i+1) * odds
		sum += term
	}
	for i, term := most, largest; i > k && term > 1e-18*sum; i-- {
		term = term * float64(i) / float64(n-i+1) / odds
		sum += term
	}
	return min(sum, 1)
}
