package choice

import (
	"math"

	"waymark/internal/numeric"
)

const (
	memory    = 10   // pairs of steps and gradients kept
	decrease  = 1e-4 // of Armijo's rule
	shrink    = .4   // of a step that was too long
	tolerance = 1e-6 // relative decrease of the loss that is still worth a step
)

// minimise is L-BFGS (Liu and Nocedal, Mathematical Programming 45, 1989) with a backtracking search.
// f returns the value at w and fills the gradient g; stop is asked before every step.
func minimise(start []float64, steps int, stop func() bool, f func(w, g []float64) float64) Fitted {
	n := len(start)
	w, g := append([]float64(nil), start...), make([]float64, n)
	wNew, gNew := make([]float64, n), make([]float64, n)
	d := make([]float64, n)
	var pairs []pair
	loss := f(w, g)
	for it := range steps {
		if stop() {
			return Fitted{Weights: w, Loss: loss, Iterations: it}
		}
		direction(d, g, pairs)
		slope := numeric.Dot(g, d)
		if slope <= 0 || numeric.Norm(g) <= tolerance {
			return Fitted{Weights: w, Loss: loss, Iterations: it, Converged: true}
		}
		step, found := 1.0, false
		var lossNew float64
		for range 30 {
			copy(wNew, w)
			numeric.Axpy(-step, d, wNew)
			lossNew = f(wNew, gNew)
			if lossNew <= loss-float64(decrease*float64(step*slope)) {
				found = true
				break
			}
			step *= shrink
		}
		if !found { // no decrease left above rounding
			return Fitted{Weights: w, Loss: loss, Iterations: it, Converged: true}
		}
		p := pair{make([]float64, n), make([]float64, n), 0}
		copy(p.s, wNew)
		numeric.Axpy(-1, w, p.s)
		copy(p.y, gNew)
		numeric.Axpy(-1, g, p.y)
		if sy := numeric.Dot(p.s, p.y); sy > 1e-12 {
			p.rho = 1 / sy
			if pairs = append(pairs, p); len(pairs) > memory {
				pairs = pairs[1:]
			}
		}
		done := loss-lossNew <= float64(tolerance*math.Abs(loss))
		w, wNew, g, gNew, loss = wNew, w, gNew, g, lossNew
		if done {
			return Fitted{Weights: w, Loss: loss, Iterations: it + 1, Converged: true}
		}
	}
	return Fitted{Weights: w, Loss: loss, Iterations: steps}
}

// A pair is one step s = Δw, the change of the gradient y = Δg it made, and ρ = 1/(s·y).
type pair struct {
	s, y []float64
	rho  float64
}

// direction fills d with H·g, H the inverse Hessian that the pairs tell of (the two-loop recursion).
func direction(d, g []float64, pairs []pair) {
	copy(d, g)
	if len(pairs) == 0 { // a first step of length at most .3
		scale(.3/max(numeric.Norm(g), .3), d)
		return
	}
	var a [memory]float64
	for i := len(pairs) - 1; i >= 0; i-- {
		p := pairs[i]
		a[i] = p.rho * numeric.Dot(p.s, d)
		numeric.Axpy(-a[i], p.y, d)
	}
	last := pairs[len(pairs)-1]
	scale(1/(last.rho*numeric.Dot(last.y, last.y)), d)
	for i, p := range pairs {
		numeric.Axpy(a[i]-float64(p.rho*numeric.Dot(p.y, d)), p.s, d)
	}
}

func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}
