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
	curvePoints = 20   // of a risk-coverage curve
)

// LeastClaims is from how many claims on confidence is said to be calibrated: ten in each bin. A model whose
// confidence is too high by .2 passes 92 of 100 times with 3 claims, 79 with 10, 43 with 50 and 8 with 100. One that
// does not pass fails with any number: the band of a perfect model is as wide as few claims make it.
const LeastClaims = 10 * bins

// Calibration says how far confidence is from the share that is right. Band is where that error lies,
// 90 times of 100, for a perfectly calibrated model that makes as many claims with the same
// confidences: a small sample is never perfect. Passed: the error is at most .05 or not above the band.
type Calibration struct {
	Claims int
	ECE    float64
	Band   Interval
	Passed bool
}

// Calibrate measures the expected calibration error over ten bins of equal mass,
//
//	ECE = Σ_b |b|/n · | mean confidence of b - share right in b |
//
// (Naeini, Cooper and Hauskrecht, AAAI 2015). Predictions of equal confidence share their outcomes, so that
// their order does not matter where a bin ends among them.
func Calibrate(claims []Prediction, seed uint64) Calibration {
	levels := levelsOf(claims)
	c := Calibration{Claims: len(claims), ECE: expectedError(levels, len(claims))}
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
		simulated[i] = expectedError(levels, len(claims))
	}
	c.Band = quantiles(simulated, 0.05, 0.95)
	c.Passed = c.ECE <= max(goodECE, c.Band[1])
	return c
}

// verdict reports whether confidence is calibrated; nil: it passes, but of too few claims to tell.
func (c Calibration) verdict() *bool {
	if c.Passed && c.Claims < LeastClaims {
		return nil
	}
	return &c.Passed
}

// level is all claims of one confidence.
type level struct {
	confidence float64
	n, right   float64
}

// levelsOf lists the levels, least confident first.
func levelsOf(claims []Prediction) []level {
	sorted := slices.Clone(claims)
	slices.SortFunc(sorted, func(a, b Prediction) int { return cmp.Compare(a.Confidence, b.Confidence) })
	var levels []level
	for _, c := range sorted {
		if len(levels) == 0 || levels[len(levels)-1].confidence != c.Confidence {
			levels = append(levels, level{confidence: c.Confidence})
		}
		l := &levels[len(levels)-1]
		l.n++
		if c.Right {
			l.right++
		}
	}
	return levels
}

// Bin is one of ten bins of equal mass: how confident its claims were on average, and which share was
// right.
type Bin struct {
	Confidence float64 `json:"confidence"`
	Right      float64 `json:"right"`
	Claims     int     `json:"claims"`
}

// reliability is the diagram behind the expected calibration error of [Calibrate], least confident bin
// first. Fewer claims than bins leave some out.
func reliability(claims []Prediction) []Bin {
	var all [bins]Bin
	fill(levelsOf(claims), len(claims), func(b int, l level, take float64) {
		all[b].Claims += int(take)
		all[b].Confidence += float64(take * l.confidence)
		all[b].Right += float64(take * (l.right / l.n))
	})
	var diagram []Bin
	for _, b := range all {
		if n := float64(b.Claims); n > 0 {
			diagram = append(diagram, Bin{b.Confidence / n, b.Right / n, b.Claims})
		}
	}
	return diagram
}

// expectedError is Σ |Σ confidence - right| over the bins, by claim.
func expectedError(levels []level, n int) float64 {
	var gap [bins]float64
	fill(levels, n, func(b int, l level, take float64) {
		gap[b] += float64(take * (l.confidence - l.right/l.n))
	})
	ece := 0.0
	for _, g := range gap {
		ece += math.Abs(g)
	}
	return ratio(ece, float64(n))
}

// fill puts the n claims of the levels into ten bins, from below; a level may fill several.
func fill(levels []level, n int, put func(bin int, l level, take float64)) {
	l, left := 0, 0.0 // of level l, so many claims are not in a bin yet
	if len(levels) > 0 {
		left = levels[0].n
	}
	for b := range bins {
		need := float64((b+1)*n/bins - b*n/bins)
		for need > 0 {
			take := min(need, left)
			put(b, levels[l], take)
			need, left = need-take, left-take
			if left == 0 && l+1 < len(levels) {
				l++
				left = levels[l].n
			}
		}
	}
}

// RiskPoint says: whoever trusts only claims of at least Confidence gets answers to a share Coverage
// of all questions, of which a share Risk is wrong.
type RiskPoint struct {
	Coverage   float64 `json:"coverage"`
	Risk       float64 `json:"risk"`
	Confidence float64 `json:"confidence"`
}

// riskCoverage is the curve of the risk when only the most confident share of all questions is
// answered, at 20 even steps of coverage, and the area under it (AURC, the mean risk over every
// number of answers; Geifman and El-Yaniv, NeurIPS 2017). Questions without a claim count as wrong, and
// come last. Predictions of equal confidence are wrong as often as their mean.
func riskCoverage(claims []Prediction, questions int) (curve []RiskPoint, area float64) {
	levels := levelsOf(claims)
	slices.Reverse(levels)
	if rest := questions - len(claims); rest > 0 {
		levels = append(levels, level{n: float64(rest)})
	}
	answered, wrong := 0, 0.0
	for _, l := range levels {
		for range int(l.n) {
			answered++
			wrong += 1 - l.right/l.n
			area += wrong / float64(answered)
			if answered*curvePoints/questions > (answered-1)*curvePoints/questions {
				curve = append(curve, RiskPoint{
					Coverage: float64(answered) / float64(questions), Risk: wrong / float64(answered), Confidence: l.confidence,
				})
			}
		}
	}
	return curve, ratio(area, float64(questions))
}
