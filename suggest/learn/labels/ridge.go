package labels

import (
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
//	ŷ(x) = ȳ + W·x,   W = argmin Σᵢ |yᵢ - ȳ - W·xᵢ|² + λ·|W|²,
//
// fitted through its dual: with G = X·Xᵀ + λI the rows get the weights α = G⁻¹·(Y - ȳ), and W = Xᵀ·α.
type Ridge struct {
	mean []float64 // ȳ
	w    *weights  // W
}

const (
	lanes      = numeric.Lanes // labels solved together: one pass over the rows serves all
	tolerance  = 1e-3          // of a residual against its right-hand side; 1e-2 costs .003 of MRR on ultratool
	iterations = 100           // the most per label
)

// FitScores fits labels 0 to n-1 to rows of features 0 to f-1; lambda must be positive. It calls stop from time to time,
// from several goroutines, and returns nil once that is true.
func FitScores(rows []Vector, features int, y [][]Label, n int, lambda float64, stop func() bool) *Ridge {
	r := &Ridge{mean: make([]float64, n), w: newWeights(features, n)}
	if len(rows) == 0 {
		r.w.finish(features)
		return r
	}
	s := &solver{rows: rows, features: features, lambda: lambda, stop: stop}
	for i := range rows {
		for _, l := range y[i] {
			r.mean[l.Label] += l.Value
		}
	}
	for l := range r.mean {
		r.mean[l] /= float64(len(rows))
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
		}
	})
	if s.stopped.Load() {
		return nil
	}
	r.w.finish(features)
	r.w.round()
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

// solver solves G·x = b with G = X·Xᵀ + λI, which is rows × rows and never formed.
type solver struct {
	rows     []Vector
	features int
	lambda   float64
	stop     func() bool
	stopped  atomic.Bool
}

// multiply computes q = G·p for all lanes; u is working memory of features × lanes.
func (s *solver) multiply(q, p, u []float64) {
	clear(u)
	for i, x := range s.rows {
		numeric.Spread(x.I, x.V, (*[lanes]float64)(p[i*lanes:]), u)
	}
	for i, x := range s.rows {
		sum := numeric.Gather(x.I, x.V, u)
		for l := range lanes {
			q[i*lanes+l] = sum[l] + float64(s.lambda*p[i*lanes+l])
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
		goal[l] = tolerance * tolerance * rr[l]
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
