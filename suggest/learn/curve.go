package learn

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

const (
	mostBins   = 40   // maximum number of bins before pooling
	leastBin   = 25   // minimum number of claims in a bin
	roots      = 3    // minimum bin size in units of √n: smaller bins are dominated by sampling noise
	kept       = 50   // prior pseudo-count of each bin, at the probability of the Platt line: no bin reaches 0 or 1
	priorCount = 10   // prior pseudo-count at each probability of anchors, which regularises the Platt line
	surest     = 1e-9 // probabilities are limited to surest and 1 - surest before log-odds are taken
	steepen    = 1    // maximum slope beyond the outermost bins
)

// A Prediction is the probability given to an answer, 0 … 1, and whether the answer was right.
type Prediction struct {
	P     float64
	Right bool
	Age   float64 // age in half-lives, relative to the newest claims: the prediction counts 2^-Age times
}

// anchors are the probabilities at which the line of log-odds has prior pseudo-counts.
var anchors = [...]float64{.1, .3, .5, .7, .9}

// A Curve calibrates probabilities: it is a rising curve from the claimed probability to the share that was right. The
// zero Curve changes nothing.
//
// A model that claims .8 should be right in 8 of 10 cases. [FitCurve] fits a rising curve to held-out claims and their
// outcomes:
//
//	claims ─▶ a line of log-odds ─▶ bins of equal mass ─▶ pooled until they rise ─▶ lines through the bins' centres
//
//	share right         ╱
//	        │      ·───·        x  mean probability in a bin, by the line of log-odds
//	        │   ·─╱             y  share right, with prior pseudo-counts
//	        │  ╱
//	        └──────────── claimed
//
// The line (Platt, 1999) has two numbers; prior pseudo-counts at a few probabilities fix it where there are no claims,
// so a few dozen claims suffice to show where a model is too sure. Isotonic regression by pooling adjacent violators
// (Ayer et al., Annals of Mathematical Statistics 26, 1955; Zadrozny and Elkan, KDD 2002), joined by lines, corrects
// the rest; prior pseudo-counts limit this correction until there are hundreds of claims in a bin. Two different claims
// stay different unless they were pooled, and their order never changes.
type Curve struct {
	Shift float64 // the line maps log-odds z to z + Shift + Tilt·z
	Tilt  float64 // at least -1

	Claimed []float64 // bin centres after the Platt line, increasing
	Kept    []float64 // share right in each bin, never falling
	Claims  []float64 // weighted number of predictions in each bin; nil: unknown
}

// bin holds weighted sums over neighbouring predictions: of their probabilities, of those that were right,
// and of the weights themselves.
type bin struct{ predicted, right, n float64 }

// x returns the mean prediction.
func (b bin) x() float64 { return b.predicted / b.n }

// y returns the share that was right, shrunk towards the mean prediction by kept pseudo-counts.
func (b bin) y() float64 { return (b.right + float64(kept*b.x())) / (b.n + kept) }

// FitCurve fits a curve to held-out claims, in any order. Fewer than 25 claims are too few and give the zero Curve. It
// panics if a probability is not in 0 … 1.
//
// It first moves the predictions by a line of log-odds (Platt) and then divides them into bins of equal size, which are
// pooled until they rise (pooling adjacent violators).
func FitCurve(claims []Prediction) *Curve {
	m := &Curve{}
	if len(claims) < leastBin {
		return m
	}
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b Prediction) int { // a total order, because sums depend on the order
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(truth(a.Right), truth(b.Right)), cmp.Compare(a.Age, b.Age))
	})
	m.line(claims)
	for i := range claims {
		claims[i].P = m.moved(claims[i].P)
	}
	size := max(leastBin, (len(claims)+mostBins-1)/mostBins, int(roots*math.Sqrt(float64(len(claims)))))
	var pooled []bin
	for i := 0; len(claims)-i >= leastBin; {
		end := min(i+size, len(claims))
		for end < len(claims) && claims[end].P == claims[end-1].P { // equal claims share their bin
			end++
		}
		if len(claims)-end < leastBin {
			end = len(claims)
		}
		var b bin
		for _, c := range claims[i:end] {
			w := numeric.Exp2(-c.Age)
			b.predicted += float64(w * c.P)
			b.n += w
			b.right += float64(w * truth(c.Right))
		}
		for len(pooled) > 0 {
			last := pooled[len(pooled)-1]
			if last.y() < b.y() && last.x() < b.x() { // centres can only meet by rounding
				break
			}
			pooled = pooled[:len(pooled)-1]
			b = bin{last.predicted + b.predicted, last.right + b.right, last.n + b.n}
		}
		pooled = append(pooled, b)
		i = end
	}
	for _, b := range pooled {
		m.Claimed, m.Kept, m.Claims = append(m.Claimed, b.x()), append(m.Kept, b.y()), append(m.Claims, b.n)
	}
	return m
}

// line fits the line of log-odds.
func (m *Curve) line(claims []Prediction) {
	var cases []Case
	add := func(p, right, times float64) {
		if !(p >= 0 && p <= 1) {
			panic("learn: a probability outside 0 … 1")
		}
		z := odds(p)
		cases = append(cases, Case{X: []float64{z}, Y: right, Weight: times, Z: z})
	}
	for _, c := range claims {
		add(c.P, truth(c.Right), numeric.Exp2(-c.Age))
	}
	for _, p := range anchors {
		add(p, p, priorCount)
	}
	f := FitLogit(cases, 1, surest)
	m.Tilt = max(f.Slope[0], -1)
	m.Shift = f.Bias - float64(m.Tilt*f.Mean[0])
}

func truth(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

// odds returns the log-odds of a probability, which is first limited to surest … 1 - surest.
func odds(p float64) float64 {
	p = min(max(p, surest), 1-surest)
	return numeric.Ln(p / (1 - p))
}

// moved returns a probability after the line of log-odds.
func (m *Curve) moved(p float64) float64 {
	if m.Shift == 0 && m.Tilt == 0 {
		return p
	}
	return 1 / (1 + numeric.Exp(-(m.Shift + float64((1+m.Tilt)*odds(p)))))
}

// At returns the calibrated probability of a claim p. Between the centres of two bins, which the line of log-odds has
// moved like p, it is linear; beyond the outermost bins it follows the line to (0, 0) or (1, 1), but no steeper than 1.
func (m *Curve) At(p float64) float64 {
	if m == nil || len(m.Claimed) == 0 {
		return p
	}
	p = m.moved(p)
	i, _ := slices.BinarySearch(m.Claimed, p)
	last := len(m.Claimed) - 1
	switch {
	case i > last:
		x, y := m.Claimed[last], m.Kept[last]
		return min(1, y+float64(min(steepen, (1-y)/max(1-x, math.SmallestNonzeroFloat64))*(p-x)))
	case i == 0:
		x, y := m.Claimed[0], m.Kept[0]
		return max(0, y-float64(min(steepen, y/max(x, math.SmallestNonzeroFloat64))*(x-p)))
	}
	share := (p - m.Claimed[i-1]) / (m.Claimed[i] - m.Claimed[i-1])
	return m.Kept[i-1] + float64(share*(m.Kept[i]-m.Kept[i-1]))
}

// Low returns a 90 % lower bound of a probability returned by [Curve.At]: the lower end of the Wilson interval with the
// number of claims in the smaller of the two bins around it. Without claims it is 0.
func (m *Curve) Low(kept float64) float64 {
	if m == nil || len(m.Claims) == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(m.Kept, kept)
	last := len(m.Kept) - 1
	n := min(m.Claims[max(i-1, 0)], m.Claims[min(i, last)])
	return min(kept, numeric.WilsonLower(float64(kept*n), n, numeric.Z80))
}

// possible reports whether the curve is valid: it rises within 0 … 1, each bin has claims, and the line of log-odds
// rises.
func (m *Curve) possible() bool {
	n := len(m.Claimed)
	if !(m.Tilt >= -1) || math.IsInf(m.Tilt, 0) || math.IsNaN(m.Shift) || math.IsInf(m.Shift, 0) || len(m.Kept) != n {
		return false
	}
	for i := range n {
		inside := m.Claimed[i] >= 0 && m.Claimed[i] <= 1 && m.Kept[i] >= 0 && m.Kept[i] <= 1
		if !inside || i > 0 && (m.Claimed[i] <= m.Claimed[i-1] || m.Kept[i] < m.Kept[i-1]) {
			return false
		}
	}
	badBin := func(claims float64) bool { return !(claims > 0) || math.IsInf(claims, 0) }
	return len(m.Claims) == 0 || len(m.Claims) == n && !slices.ContainsFunc(m.Claims, badBin)
}

// Write writes the curve for [ReadCurve].
func (m *Curve) Write(w *codec.Writer) {
	w.Float(m.Shift)
	w.Float(m.Tilt)
	w.Floats(m.Claimed)
	w.Floats(m.Kept)
	w.Floats(m.Claims)
}

// ReadCurve reads the output of [Curve.Write]; an invalid curve makes r fail.
func ReadCurve(r *codec.Reader) *Curve {
	m := &Curve{r.Float(), r.Float(), r.Floats(), r.Floats(), r.Floats()}
	if !m.possible() {
		r.Fail("calibration that does not rise from 0 to 1")
		return &Curve{}
	}
	return m
}
