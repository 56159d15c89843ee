package rank

import (
	"waymark/internal/numeric"
	"waymark/suggest/learn/logit"
)

// start is where a fit begins: log-odds = bias + slope·row. The slope is never negative, so without trees the order is that of
// the row.
type start struct {
	bias, slope float64
	by          Row
	recalls     bool // near requests count as the reference does; a fit leaves them to the trees
}

func (s start) of(row []float32) float64 {
	v := float64(row[s.by])
	if s.recalls {
		v = 1 - float64((1-v)*(1-float64(min(1, recallTrust*float64(row[Nearest]))*float64(row[Votes]))))
	}
	return s.bias + float64(s.slope*v)
}

// recallTrust is how much a likeness counts: ⅓ is full trust, for requests for the same thing share few words.
const recallTrust = 3

// Where nothing is known of a history, texts that fit well are right more often than not. What comes next starts from the
// reference, what a request asks for from the match, so that importance finds nothing, and a plan from the latter.
var (
	priorNext  = start{bias: -4, slope: 8, by: Reference}
	priorFind  = start{bias: -4, slope: 8, by: Match}
	priorNeeds = start{bias: 1, slope: 1, by: Found}
)

const (
	newtonSteps = 25
	startHold   = 1. // L2 penalty of what the slope differs from the prior
)

// calibrate fits the start on the loss that the trees go on with: rows that stand alone by logistic regression, the slope of
// questions by Newton's method.
func (prior start) calibrate(x *examples) start {
	s := prior
	if x.Questions == nil {
		cases := make([]logit.Case, x.Len())
		for i, right := range x.Right {
			v := float64(x.row(i)[s.by])
			cases[i] = logit.Case{X: []float64{v}, Y: float64(right), Weight: float64(x.Weight[i]), Z: s.bias + float64(s.slope*v)}
		}
		m := logit.Fit(cases, 1, startHold)
		s.slope = max(0, s.slope+m.Slope[0])
		s.bias += m.Bias - float64(m.Slope[0]*m.Mean[0])
		return s
	}
	for range newtonSteps {
		g, h := float64(startHold*(s.slope-prior.slope)), startHold
		for q := range x.Questions {
			from, to := x.question(q)
			first, second := s.derive(x, from, to)
			g += float64(float64(x.Weight[q]) * first)
			h += float64(float64(x.Weight[q]) * second)
		}
		s.slope = max(0, s.slope-g/h)
	}
	return s
}

// derive returns the derivatives by the slope of the mean over the right rows of -ln(e^s / (e^s + Σ e^s of the wrong rows)).
func (s start) derive(x *examples, from, to int) (first, second float64) {
	var wrong, mean, square float64 // Σ e^s, Σ e^s·v, Σ e^s·v² of the wrong rows
	value := func(i int) (v, e float64) {
		v = float64(x.row(i)[s.by])
		return v, numeric.Exp(min(30, float64(s.slope*v)))
	}
	for i := from; i < to; i++ {
		if v, e := value(i); x.Right[i] == 0 {
			e = float64(e * float64(x.times[i]))
			wrong, mean, square = wrong+e, mean+float64(e*v), square+float64(e*float64(v*v))
		}
	}
	right := 0.0
	for i := from; i < to; i++ {
		if v, e := value(i); x.Right[i] > 0 {
			m := (mean + float64(e*v)) / (wrong + e)
			first += m - v
			second += (square+float64(e*float64(v*v)))/(wrong+e) - float64(m*m)
			right++
		}
	}
	return first / max(1, right), second / max(1, right)
}
