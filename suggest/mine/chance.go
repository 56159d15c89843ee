package mine

import (
	"waymark/internal/numeric"
)

// expected is at most how many sets with a part like this there are by chance: of n tasks that have the
// rest of the set, k have the part beside it, where slots calls stand beside the rest and a share of all
// calls are of that tool. Among that many candidates the number expected is
//
//	candidates · exp(-n · KL(k/n ‖ p)),    p = 1 - (1 - share)^slots
//
// by the bound of Chernoff; KL is the divergence of the observed from the expected share. The result is
// its logarithm, and no less than that of all candidates where there are no more than expected.
func expected(candidates float64, n, k int, slots, share float64) float64 {
	all := numeric.Ln(max(1, candidates))
	if n == 0 || share >= 1 {
		return all
	}
	p := 1 - numeric.Exp(float64(slots*numeric.Ln(1-share)))
	q := min(1, float64(k)/float64(n))
	if q <= p || p <= 0 {
		if p <= 0 && q > 0 {
			return -all - 1 // no other call stands beside it at all
		}
		return all
	}
	kl := float64(q * numeric.Ln(q/p))
	if q < 1 {
		kl += float64((1 - q) * numeric.Ln((1-q)/(1-p)))
	}
	return all - float64(float64(n)*kl)
}
