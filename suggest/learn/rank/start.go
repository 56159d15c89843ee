package rank

import (
	"waymark/internal/numeric"
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
// reference, what a request asks for from the match, so that importance finds nothing. A fit draws the start of
// plans towards the share that the ranker of requests gives; while nothing is fitted they start as what comes next does.
var (
	priorNext  = start{bias: -4, slope: 8, by: Reference}
	priorFind  = start{bias: -4, slope: 8, by: Match}
	priorNeeds = start{bias: 1, slope: 1, by: Found}
)

const (
	newtonSteps = 25
	startHold   = 1. // L2 penalty of what the slope and the bias differ from the prior
)

// calibrate fits the start by Newton's method, on the loss that the trees go on with.
func (prior start) calibrate(x *examples) start {
	s := prior
	for range newtonSteps {
		var g, h [2]float64 // derivatives by bias and slope
		var cross float64
		if x.Questions == nil {
			for i, right := range x.Right {
				v := float64(x.row(i)[s.by])
				p := Chance(s.bias + float64(s.slope*v))
				w := float64(x.Weight[i])
				d, c := float64(w*(p-float64(right))), float64(float64(w*p)*(1-p))
				g[0], g[1] = g[0]+d, g[1]+float64(d*v)
				h[0], h[1], cross = h[0]+c, h[1]+float64(c*float64(v*v)), cross+float64(c*v)
			}
		}
		for q, from := range x.Questions {
			to := x.Len()
			if q+1 < len(x.Questions) {
				to = int(x.Questions[q+1])
			}
			first, second := s.derive(x, int(from), to)
			g[1] += float64(float64(x.Weight[q]) * first)
			h[1] += float64(float64(x.Weight[q]) * second)
		}
		g[0] += float64(startHold * (s.bias - prior.bias))
		g[1] += float64(startHold * (s.slope - prior.slope))
		h[0], h[1] = h[0]+startHold, h[1]+startHold
		det := float64(h[0]*h[1]) - float64(cross*cross)
		s.bias -= (float64(h[1]*g[0]) - float64(cross*g[1])) / det
		s.slope = max(0, s.slope-(float64(h[0]*g[1])-float64(cross*g[0]))/det)
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
