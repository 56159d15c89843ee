package evaluate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Prediction is a first suggestion: the confidence it was given with, and whether it was right.
type Prediction struct {
	Confidence float64
	Right      bool
}

const (
	bins        = 10   // of equal mass
	simulations = 1000 // of a perfectly calibrated model
	goodECE     = 0.05 // calibrated enough, whatever the size
)

// LeastClaims is from how many claims on confidence is said to be calibrated: ten in each bin. A model whose
// confidence is too high by .2 passes 92 of 100 times with 3 claims, 79 with 10, 43 with 50 and 8 with 100. One that
// does not pass fails with any number: the band of a perfect model is as wide as few claims make it.
const LeastClaims = 10 * bins

// Calibration says how far confidence is from the share that is right. Band is where that error lies,
// 90 times of 100, for a perfectly calibrated model that makes as many claims with the same
// confidences: a small sample is never perfect. Calibrated: the error is at most .05 or not above the band; nil: so it is,
// but of fewer than [LeastClaims].
type Calibration struct {
	Claims      int      `json:"claims"`
	ECE         float64  `json:"ece"`
	Band        Interval `json:"ece_band"`
	Calibrated  *bool    `json:"calibrated"`
	Reliability []Bin    `json:"reliability"` // least confident first
}

// Bin is one of ten bins of equal mass: how confident its claims were on average, and which share was
// right. Fewer claims than bins leave some out.
type Bin struct {
	Confidence float64 `json:"confidence"`
	Right      float64 `json:"right"`
	Claims     int     `json:"claims"`
}

// Calibrate measures the expected calibration error over ten bins of equal mass,
//
//	ECE = Σ_b |b|/n · | mean confidence of b - share right in b |
//
// (Naeini, Cooper and Hauskrecht, AAAI 2015). Predictions of equal confidence share their outcomes, so that
// their order does not matter where a bin ends among them.
func Calibrate(claims []Prediction, seed uint64) *Calibration {
	levels := levelsOf(claims)
	c := &Calibration{Claims: len(claims)}
	c.ECE, c.Reliability = reliability(levels, len(claims))
	r := rand.New(rand.NewPCG(seed, 1))
	simulated := make([]float64, simulations)
	for i := range simulated {
		for l := range levels {
			levels[l].right = 0
			for range int(levels[l].n) {
				if r.Float64() < levels[l].confidence {
					levels[l].right++
				}
			}
		}
		simulated[i], _ = reliability(levels, len(claims))
	}
	c.Band = quantiles(simulated, 0.05, 0.95)
	if passed := c.ECE <= max(goodECE, c.Band[1]); !passed || c.Claims >= LeastClaims {
		c.Calibrated = &passed
	}
	return c
}

// level is all claims of one confidence.
type level struct{ confidence, n, right float64 }

// levelsOf lists the levels, least confident first.
func levelsOf(claims []Prediction) []level {
	var levels []level
	byConfidence := func(a, b Prediction) int { return cmp.Compare(a.Confidence, b.Confidence) }
	for _, c := range slices.SortedFunc(slices.Values(claims), byConfidence) {
		if len(levels) == 0 || levels[len(levels)-1].confidence != c.Confidence {
			levels = append(levels, level{confidence: c.Confidence})
		}
		l := &levels[len(levels)-1]
		l.n++
		l.right += share(c.Right)
	}
	return levels
}

// reliability puts the n claims of the levels into ten bins, from below, and adds up the gaps; a level may fill several.
func reliability(levels []level, n int) (ece float64, diagram []Bin) {
	l, left := 0, 0.0 // of level l, so many claims are not in a bin yet
	if len(levels) > 0 {
		left = levels[0].n
	}
	for b := range bins {
		size := (b+1)*n/bins - b*n/bins
		bin, gap := Bin{Claims: size}, 0.0
		for need := float64(size); need > 0; {
			take := min(need, left)
			right := levels[l].right / levels[l].n
			gap += float64(take * (levels[l].confidence - right))
			bin.Confidence += float64(take*levels[l].confidence) / float64(size)
			bin.Right += float64(take*right) / float64(size)
			need, left = need-take, left-take
			if left == 0 && l+1 < len(levels) {
				l++
				left = levels[l].n
			}
		}
		if ece += math.Abs(gap); size > 0 {
			diagram = append(diagram, bin)
		}
	}
	return ratio(ece, float64(n)), diagram
}
