package rank

import (
	"waymark/internal/numeric"
)

// start is the initial model of a ranker: log-odds = bias + slope·v, v being the value of the feature by. The slope is
// never negative, so without trees the order of the tools is that of the feature.
type start struct {
	bias, slope float64
	by          Column
	recalls     bool // v becomes 1 - (1 - v)·(1 - min(1, 3·Nearest)·Votes); a fit leaves near requests to the trees
}

func (s start) of(row []float32) float64 {
	v := float64(row[s.by])
	if s.recalls {
		v = 1 - float64((1-v)*(1-float64(min(1, recallTrust*float64(row[Nearest]))*float64(row[Votes]))))
	}
	return s.bias + float64(s.slope*v)
}

// recallTrust is the weight of Nearest: a similarity of ⅓ has full trust, since requests for the same thing share few
// words.
const recallTrust = 3

// The priors apply while nothing is known of a history: a text that matches well is right more often than not. The next
// tool starts from the reference; the tools that a request asks for start from the match, so that PageRank alone finds
// no tool. priorNeeds is only for fits and draws the start towards Found; before any fit, plans start from priorNext
// (see [Prior]).
var (
	priorNext  = start{bias: -4, slope: 8, by: Reference}
	priorFind  = start{bias: -4, slope: 8, by: Match}
	priorNeeds = start{bias: 1, slope: 1, by: Found}
)

const (
	newtonSteps = 25
	startHold   = 1. // L2 penalty of the difference of slope and bias from the prior
)

// calibrate fits the start by Newton's method. It minimises the same loss as the trees that follow.
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
		for q := range x.Questions {
			from, to := x.Question(q)
			first, second := s.derive(x, from, to)
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

// derive returns the first and second derivative, with respect to the slope, of the loss of a question: the mean over
// its right rows of -ln(e^s / (e^s + Σ e^s of the wrong rows)).
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
