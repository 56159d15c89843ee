package learn

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

const (
	mostBins   = 40   // at most
	leastBin   = 25   // claims of a bin, at least
	roots      = 3    // minimum bin size in units of √n: smaller bins are dominated by sampling noise
	kept       = 50   // prior pseudo-count of each bin, at the probability of the Platt line: no bin reaches 0 or 1
	priorCount = 10   // prior pseudo-count at each probability of anchors, which regularises the Platt line
	surest     = 1e-9 // and 1 less that: log-odds end there
	steepen    = 1    // slope beyond the outermost bins, at most
)

// A Prediction is the probability given to an answer, 0 … 1, and whether the answer was right.
type Prediction struct {
	P     float64
	Right bool
	Age   float64 // half-lives before the newest claims: it counts 2^-Age times
}

// anchors are the probabilities of the prior pseudo-counts of the line.
var anchors = [...]float64{.1, .3, .5, .7, .9}

// A Curve is a rising curve from claimed to kept probability, by which predicted probabilities are calibrated. The zero
// Curve changes nothing.
//
// A model that says .8 should be right in 8 of 10 cases. [FitCurve] looks at held-out claims and learns the
// rising curve through what became of them:
//
//	claims ─▶ a line of log-odds ─▶ bins of equal mass ─▶ pooled until they rise ─▶ lines through the bins' centres
//
//	share right         ╱
//	        │      ·───·        x  mean probability in a bin, by the line of log-odds
//	        │   ·─╱             y  share right, with prior pseudo-counts
//	        │  ╱
//	        └──────────── claimed
//
// The line (Platt, 1999) has two numbers, and prior pseudo-counts at a few probabilities hold it where nobody claimed anything, so a few
// dozen claims are enough to say where a model is too sure. What it misses is for isotonic regression by pooling adjacent violators
// (Ayer et al., Annals of Mathematical Statistics 26, 1955; Zadrozny and Elkan, KDD 2002), joined by lines,
// which the prior pseudo-counts hold back until there are hundreds in a bin. Two claims that differ stay
// apart unless they were pooled, and no order is turned round.
type Curve struct {
	Shift float64 // of log-odds z: z + shift + tilt·z
	Tilt  float64 // at least -1

	Claimed []float64 // bin centres after the Platt line, increasing
	Kept    []float64 // the share right of each, never falling
	Claims  []float64 // weighted number of predictions in each bin; nil: unknown
}

// bin holds weighted sums over neighbouring predictions: of their probabilities, of those that were right,
// and of the weights themselves.
type bin struct{ predicted, right, n float64 }

// x is the mean prediction.
func (b bin) x() float64 { return b.predicted / b.n }

// y is the share that was right, drawn towards the mean prediction by kept pseudo-counts.
func (b bin) y() float64 { return (b.right + float64(kept*b.x())) / (b.n + kept) }

// FitCurve learns from held-out claims, in whatever order. Fewer than 25 say too little and change nothing.
// It panics if a probability is not in 0 … 1.
//
// It first moves the predictions by a line of log-odds (Platt) and then makes bins of equal size rising by
// pooling adjacent violators.
func FitCurve(claims []Prediction) *Curve {
	m := &Curve{}
	if len(claims) < leastBin {
		return m
	}
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b Prediction) int { // a total order, for sums depend on it
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

// odds are the log-odds of a probability, bounded.
func odds(p float64) float64 {
	p = min(max(p, surest), 1-surest)
	return numeric.Ln(p / (1 - p))
}

// moved is a probability by the line of log-odds.
func (m *Curve) moved(p float64) float64 {
	if m.Shift == 0 && m.Tilt == 0 {
		return p
	}
	return 1 / (1 + numeric.Exp(-(m.Shift + float64((1+m.Tilt)*odds(p)))))
}

// At is the probability kept when p is claimed. Between the centres of two bins, both moved by the line of
// log-odds, it follows the line through them; beyond the outermost the line to (0, 0) or (1, 1), but no steeper than 1.
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

// Low is a lower bound, in 90 % of cases, of a probability as [Curve.At] gives it: the lower end of the Wilson interval
// by the claims of the bins on either side, of which the one with fewer counts. Without claims it is 0.
func (m *Curve) Low(kept float64) float64 {
	if m == nil || len(m.Claims) == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(m.Kept, kept)
	last := len(m.Kept) - 1
	n := min(m.Claims[max(i-1, 0)], m.Claims[min(i, last)])
	return min(kept, numeric.WilsonLower(float64(kept*n), n, numeric.Z80))
}

// possible reports whether it can be a curve: it rises from 0 to 1, each bin has claims, and the line of log-odds rises.
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

// ReadCurve reads what [Curve.Write] wrote; what cannot be a curve becomes the error of r.
func ReadCurve(r *codec.Reader) *Curve {
	m := &Curve{r.Float(), r.Float(), r.Floats(), r.Floats(), r.Floats()}
	if !m.possible() {
		r.Fail("calibration that does not rise from 0 to 1")
		return &Curve{}
	}
	return m
}
