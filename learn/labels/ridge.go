package labels

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

	"waymark/internal/numeric"
	"waymark/internal/parallel"
)

// Label is how much of a label a row has, in [0, 1]: 1 for a request that used the tool, a half where
// one of two tasks with the same words did.
type Label struct {
	Label int32
	Value float64
}

// Ridge is one linear model a label with a common penalty,
//
//	ŷ(x) = ȳ + W·x,   W = argmin Σᵢ wᵢ·|yᵢ - ȳ - W·xᵢ|² + λ·|W|²,
//
// fitted through its dual: with K = X·Xᵀ and G = K + λ·diag(1/w) the rows get the weights α = G⁻¹·(Y - ȳ),
// and W = Xᵀ·α. What row i would have got from a model of all others is yᵢ - αᵢ/(G⁻¹)ᵢᵢ (Rasmussen and
// Williams, Gaussian Processes for Machine Learning, 2006, 5.12).
type Ridge struct {
	labels  int
	mean    []float64 // ȳ
	w       *weights  // W
	alpha   *weights  // α, rows × labels; nil after Forget
	inverse []float64 // diagonal of G⁻¹
	penalty []float64 // λ/wᵢ
	square  []float64 // |xᵢ|²
}

const (
	lanes          = numeric.Lanes // labels solved together: one pass over the rows serves all
	probes         = 64            // random signs that estimate the diagonal of G⁻¹
	tolerance      = 1e-4          // of a residual against its right-hand side
	scoreTolerance = 1e-3          // where scores alone are read; 1e-2 costs .003 of the reciprocal rank on ultratool
	iterations     = 100           // the most per label
)

// FitRidgeUntil fits labels 0 to n-1 to rows of features 0 to f-1. weight holds a positive weight a row, nil
// for 1 each; lambda must be positive. It calls stop from time to time, from several goroutines, and returns nil once
// that is true.
func FitRidgeUntil(rows []Vector, features int, y [][]Label, n int, weight []float64, lambda float64, stop func() bool) *Ridge {
	return newRidge(rows, features, y, n, weight, lambda, stop, tolerance)
}

// FitScores fits a model for [Ridge.Scores] alone, of rows of weight 1: residuals of scoreTolerance are enough, and what
// leaves a row out is not computed.
func FitScores(rows []Vector, features int, y [][]Label, n int, lambda float64, stop func() bool) *Ridge {
	r := newRidge(rows, features, y, n, nil, lambda, stop, scoreTolerance)
	if r != nil {
		r.Forget()
	}
	return r
}

func newRidge(rows []Vector, features int, y [][]Label, n int, weight []float64, lambda float64, stop func() bool,
	tolerance float64) *Ridge {
	r := &Ridge{labels: n, mean: make([]float64, n), w: newWeights(features, n), alpha: newWeights(len(rows), n)}
	if len(rows) == 0 {
		r.w.finish(features)
		r.alpha.finish(0)
		return r
	}
	s := &solver{rows: rows, features: features, ridge: make([]float64, len(rows)), square: make([]float64, len(rows)),
		stop: stop, tolerance: tolerance}
	total := 0.0
	for i := range rows {
		w := 1.0
		if weight != nil {
			w = weight[i]
		}
		total += w
		s.ridge[i], s.square[i] = lambda/w, Dot(rows[i], rows[i])
		for _, l := range y[i] {
			r.mean[l.Label] += float64(w * l.Value)
		}
	}
	for l := range r.mean {
		r.mean[l] /= total
	}
	if tolerance < scoreTolerance {
		r.inverse, r.penalty, r.square = s.diagonal(), s.ridge, s.square
	}
	has := make([][]Label, n) // label → rows that have it
	for i := range y {
		for _, l := range y[i] {
			has[l.Label] = append(has[l.Label], Label{int32(i), l.Value})
		}
	}
	parallel.Each((n+lanes-1)/lanes, func(block int) {
		from := block * lanes
		to := min(from+lanes, n)
		b := make([]float64, len(rows)*lanes)
		for i := range rows {
			for l := from; l < to; l++ {
				b[i*lanes+l-from] = -r.mean[l]
			}
		}
		for l := from; l < to; l++ {
			for _, c := range has[l] {
				b[int(c.Label)*lanes+l-from] += c.Value
			}
		}
		alpha := s.solve(b)
		if s.stopped.Load() {
			return
		}
		w := make([]float64, features*lanes)
		for i, x := range rows {
			numeric.Spread(x.I, x.V, (*[lanes]float64)(alpha[i*lanes:]), w)
		}
		for l := from; l < to; l++ {
			r.w.set(l, column(w, l-from))
			r.alpha.set(l, column(alpha, l-from))
		}
	})
	if s.stopped.Load() {
		return nil
	}
	r.w.finish(features)
	r.alpha.finish(len(rows))
	return r
}

// column is that of one lane.
func column(x []float64, lane int) []float32 {
	c := make([]float32, len(x)/lanes)
	for i := range c {
		c[i] = float32(x[i*lanes+lane])
	}
	return c
}

// Scores appends the score of every label for x to dst. Scores of a label that x speaks for are near 1,
// of others near 0; they are not bounded.
func (r *Ridge) Scores(dst []float64, x Vector) []float64 {
	at := len(dst)
	dst = append(dst, r.mean...)
	s := dst[at:]
	for k, f := range x.I {
		r.w.add(s, f, x.V[k])
	}
	return dst
}

// own is the share of αᵢ·x that leaves the weights with row i.
func (r *Ridge) own(row int) float64 {
	return (1/r.inverse[row] - r.penalty[row]) / max(r.square[row], 1e-9)
}

// LeaveOneOutScores appends the scores of z, which may be a part of a row's text, by a model of all other rows:
//
//	f₋ᵢ(z) ≈ f(z) - (xᵢ·z)/(xᵢ·xᵢ)·(1/(G⁻¹)ᵢᵢ - λ/wᵢ)·αᵢ,
//
// which is exact at z = xᵢ. x is the row's vector.
func (r *Ridge) LeaveOneOutScores(dst []float64, row int, x, z Vector) []float64 {
	at := len(dst)
	dst = r.Scores(dst, z)
	c := float64(Dot(x, z) * r.own(row))
	r.alpha.add(dst[at:], int32(row), -c)
	return dst
}

// LeaveOneOutWeight is [Ridge.Weight] in a model of all rows but one, likewise; x is the row's own component
// of the feature.
func (r *Ridge) LeaveOneOutWeight(feature, label int32, row int, x float64) float64 {
	return r.Weight(feature, label) - float64(float64(x*r.own(row))*r.alpha.at(int32(row), label))
}

// Weight is what one unit of a feature adds to the score of a label.
func (r *Ridge) Weight(feature, label int32) float64 {
	return r.w.at(feature, label)
}

// Forget drops what only [Ridge.LeaveOneOutScores] needs, and rounds W to what [Ridge.Write] keeps: the scores of a
// model that is fitted are those of the model that is read.
func (r *Ridge) Forget() {
	r.alpha = nil
	r.w.round()
}

// solver solves G·x = b with G = X·Xᵀ + diag(λ/wᵢ), which is rows × rows and never formed.
type solver struct {
	rows     []Vector
	features int
	ridge    []float64 // λ/wᵢ
	square   []float64 // |xᵢ|²
	stop     func() bool

	tolerance float64 // of a residual against its right-hand side
	stopped   atomic.Bool
}

// multiply computes q = G·p for all lanes; u is working memory of features × lanes.
func (s *solver) multiply(q, p, u []float64) {
	clear(u)
	for i, x := range s.rows {
		numeric.Spread(x.I, x.V, (*[lanes]float64)(p[i*lanes:]), u)
	}
	for i, x := range s.rows {
		sum := numeric.Gather(x.I, x.V, u)
		d := s.ridge[i]
		for l := range lanes {
			q[i*lanes+l] = sum[l] + float64(d*p[i*lanes+l])
		}
	}
}

// solve returns G⁻¹·b by conjugate gradients, each lane with steps of its own.
func (s *solver) solve(b []float64) []float64 {
	n := len(s.rows)
	x := make([]float64, len(b))
	r := append([]float64(nil), b...)
	p := append([]float64(nil), b...)
	q := make([]float64, len(b))
	u := make([]float64, s.features*lanes)
	var rr, goal [lanes]float64
	for i := range n {
		for l := range lanes {
			rr[l] += float64(r[i*lanes+l] * r[i*lanes+l])
		}
	}
	for l := range lanes {
		goal[l] = s.tolerance * s.tolerance * rr[l]
	}
	for range iterations {
		done := true
		for l := range lanes {
			done = done && rr[l] <= goal[l]
		}
		if done || s.stopped.Load() {
			break
		}
		if s.stop() {
			s.stopped.Store(true)
			break
		}
		s.multiply(q, p, u)
		var pq, a, next, beta [lanes]float64
		for i := range n {
			for l := range lanes {
				pq[l] += float64(p[i*lanes+l] * q[i*lanes+l])
			}
		}
		for l := range lanes {
			if rr[l] > goal[l] && pq[l] > 0 {
				a[l] = rr[l] / pq[l]
			}
		}
		for i := range n {
			for l := range lanes {
				k := i*lanes + l
				x[k] += float64(a[l] * p[k])
				r[k] -= float64(a[l] * q[k])
				next[l] += float64(r[k] * r[k])
			}
		}
		for l := range lanes {
			if a[l] > 0 {
				beta[l] = next[l] / rr[l]
				rr[l] = next[l]
			} else {
				rr[l] = 0
			}
		}
		for i := range n {
			for l := range lanes {
				k := i*lanes + l
				p[k] = r[k] + float64(beta[l]*p[k])
			}
		}
	}
	return x
}

// diagonal estimates that of G⁻¹ as the mean of z∘G⁻¹z over random signs z (Bekas, Kokiopoulou and
// Saad, "An estimator for the diagonal of a matrix", 2007). G⁻¹ is nearly diagonal, so few are enough.
// An entry is at least that of a row alone in the world and at most one that meets no other.
func (s *solver) diagonal() []float64 {
	n := len(s.rows)
	part := make([][]float64, probes/lanes)
	parallel.Each(len(part), func(block int) {
		random := rand.New(rand.NewPCG(uint64(block), 0x9e3779b97f4a7c15))
		z := make([]float64, n*lanes)
		for k := range z {
			z[k] = float64(int64(random.Uint64()>>63)*2 - 1)
		}
		x := s.solve(z)
		sum := make([]float64, n)
		for i := range n {
			for l := range lanes {
				sum[i] += float64(z[i*lanes+l] * x[i*lanes+l])
			}
		}
		part[block] = sum
	})
	d := make([]float64, n)
	for i := range d {
		for _, p := range part {
			d[i] += p[i]
		}
		d[i] /= probes
		d[i] = math.Min(math.Max(d[i], 1/(s.square[i]+s.ridge[i])), 1/s.ridge[i])
	}
	return d
}
