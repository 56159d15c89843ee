package evaluate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// Prediction is a first suggestion: its confidence, and whether it was right.
type Prediction struct {
	Confidence float64
	Right      bool
}

const (
	bins        = 10   // of equal mass
	simulations = 1000 // of a perfectly calibrated model
	goodECE     = 0.05 // an error up to this counts as calibrated for any size
)

// LeastClaims is the least number of claims for which confidence is reported as calibrated: ten in each bin. A model
// whose confidence is too high by .2 passes 92 of 100 times with 3 claims, 79 with 10, 43 with 50 and 8 with 100. A
// model that fails is reported for any number of claims, because the band of a perfect model is wide for few claims.
const LeastClaims = 10 * bins

// Calibration compares confidence with the share of claims that is right. Band is the interval in which the error
// lies, 90 times of 100, for a perfectly calibrated model that makes as many claims with the same confidences: a small
// sample is never perfect. Calibrated is true if the error is at most .05 or not above the band; nil if that holds for
// fewer than [LeastClaims].
type Calibration struct {
	Claims      int      `json:"claims"`
	ECE         float64  `json:"ece"`
	Band        Interval `json:"ece_band"`
	Calibrated  *bool    `json:"calibrated"`
	Reliability []Bin    `json:"reliability"` // least confident first
}

// Bin is one of ten bins of equal mass: the mean confidence of its claims, and the share of them that was
// right. With fewer claims than bins, empty bins are left out.
type Bin struct {
	Confidence float64 `json:"confidence"`
	Right      float64 `json:"right"`
	Claims     int     `json:"claims"`
}

// Calibrate measures the expected calibration error over ten bins of equal mass,
//
//	ECE = Σ_b |b|/n · | mean confidence of b - share right in b |
//
// (Naeini, Cooper and Hauskrecht, AAAI 2015). Predictions of equal confidence get the mean of their outcomes, so
// that their order does not matter if a bin ends among them.
func Calibrate(claims []Prediction, seed uint64) *Calibration {
	claims = slices.SortedFunc(slices.Values(claims), func(a, b Prediction) int { return cmp.Compare(a.Confidence, b.Confidence) })
	confidence, right := make([]float64, len(claims)), make([]float64, len(claims))
	for i, x := range claims {
		confidence[i], right[i] = x.Confidence, share(x.Right)
	}
	c := &Calibration{Claims: len(claims)}
	c.ECE, c.Reliability = reliability(confidence, right)
	r := rand.New(rand.NewPCG(seed, 1))
	simulated := make([]float64, simulations)
	for i := range simulated {
		for k, p := range confidence {
			right[k] = share(r.Float64() < p)
		}
		simulated[i], _ = reliability(confidence, right)
	}
	c.Band = quantiles(simulated, 0.05, 0.95)
	if passed := c.ECE <= max(goodECE, c.Band[1]); !passed || c.Claims >= LeastClaims {
		c.Calibrated = &passed
	}
	return c
}

// reliability averages the outcomes of claims with equal confidence, which are sorted, and sums the gaps of ten bins.
func reliability(confidence, right []float64) (ece float64, diagram []Bin) {
	n := len(confidence)
	for i, to := 0, 0; i < n; i = to {
		for to = i; to < n && confidence[to] == confidence[i]; {
			to++
		}
		mean := numeric.Sum(right[i:to]) / float64(to-i)
		for k := i; k < to; k++ {
			right[k] = mean
		}
	}
	for b := range bins {
		from, to := b*n/bins, (b+1)*n/bins
		if from == to {
			continue
		}
		size := float64(to - from)
		bin := Bin{numeric.Sum(confidence[from:to]) / size, numeric.Sum(right[from:to]) / size, to - from}
		diagram = append(diagram, bin)
		ece += math.Abs(bin.Confidence-bin.Right) * size / float64(n)
	}
	return ece, diagram
}
