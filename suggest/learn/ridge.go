package learn

import (
	"math"
	"sync/atomic"

	"waymark/internal/numeric"
)

// Ridge holds one linear model per label, all with the same penalty,
//
//	ŷ(x) = ȳ + W·x,   W = argmin Σᵢ |yᵢ - ȳ - W·xᵢ|² + λ·|W|²,
//
// fitted through the dual problem: with G = X·Xᵀ + λI the rows get the weights α = G⁻¹·(Y - ȳ), and W = Xᵀ·α.
type Ridge struct {
	mean []float64       // ȳ
	w    [][]labelWeight // W, by feature
}

// labelWeight is the weight of a label.
type labelWeight struct {
	label int32
	value float32
}

// mostWeights is the maximum number of weights that are kept: 48 MB. If there are more, each label keeps its largest
// weights, because most are near 0 and their number grows with the product of words and tools (70 million for 10,000
// tools). A limit of 2,000,000 costs plans .014 Node-F1 on n8n, .005 on ultratool.
const mostWeights = 6_000_000

const (
	lanes      = numeric.Lanes // labels solved together: one pass over the rows serves all
	tolerance  = 1e-3          // maximum residual relative to the right-hand side; 1e-2 costs .003 of MRR on ultratool
	iterations = 100           // maximum number of iterations per label
)

// FitRidge fits labels 0 to n-1 to rows with features below features; y holds the labels of each row, and lambda must
// be positive. It calls stop repeatedly, from several goroutines, and returns nil once stop returns true.
func FitRidge(rows []Vector, features int, y [][]int32, n int, lambda float64, stop func() bool) *Ridge {
	r := &Ridge{mean: make([]float64, n), w: make([][]labelWeight, features)}
	if len(rows) == 0 {
		return r
	}
	s := &solver{rows: rows, features: features, lambda: lambda, stop: stop}
	has := make([][]int32, n) // label → rows that have it
	for i := range y {
		for _, l := range y[i] {
			has[l] = append(has[l], int32(i))
		}
	}
	for l := range has {
		r.mean[l] = float64(len(has[l])) / float64(len(rows))
	}
	columns := make([][]labelWeight, n) // by label, with features in place of labels
	numeric.Each((n+lanes-1)/lanes, func(block int) {
		from := block * lanes
		to := min(from+lanes, n)
		b := make([]float64, len(rows)*lanes)
		for l := from; l < to; l++ {
			for i := range rows {
				b[i*lanes+l-from] = -r.mean[l]
			}
			for _, i := range has[l] {
				b[int(i)*lanes+l-from]++
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
			columns[l] = largest(w, l-from, mostWeights/n)
		}
	})
	if s.stopped.Load() {
		return nil
	}
	for l, column := range columns {
		for _, w := range column {
			r.w[w.label] = append(r.w[w.label], labelWeight{int32(l), w.value})
		}
	}
	return r
}

// magnitudeShift leaves the exponent and four bits of the fraction of a float32: classes of magnitude 3 to 6 % apart.
const magnitudeShift = 19

// largest returns, by feature, the n weights of one lane with the largest magnitude, without zeros. If a class of
// magnitude does not fit into n as a whole, this class and all smaller ones are left out.
func largest(w []float64, lane, n int) (kept []labelWeight) {
	var count [1 << (31 - magnitudeShift)]int
	class := func(x float32) int { return int(math.Float32bits(x) &^ (1 << 31) >> magnitudeShift) }
	for f := lane; f < len(w); f += lanes {
		if w[f] != 0 {
			count[class(float32(w[f]))]++
		}
	}
	least, size := len(count), 0
	for least > 0 && size+count[least-1] <= n {
		least--
		size += count[least]
	}
	kept = make([]labelWeight, 0, size)
	for f := lane; f < len(w); f += lanes {
		if x := float32(w[f]); x != 0 && class(x) >= least {
			kept = append(kept, labelWeight{int32(f / lanes), x})
		}
	}
	return kept
}

// Scores appends the score of every label for x to dst. The score is near 1 for a label that x indicates and near 0 for
// other labels; it is not bounded.
func (r *Ridge) Scores(dst []float64, x Vector) []float64 {
	at := len(dst)
	dst = append(dst, r.mean...)
	for k, f := range x.I {
		for _, w := range r.w[f] {
			dst[at+int(w.label)] += float64(x.V[k] * float64(w.value))
		}
	}
	return dst
}

// solver solves G·x = b with G = X·Xᵀ + λI, a rows × rows matrix that is never formed.
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

// solve returns G⁻¹·b by conjugate gradients; each lane has its own step lengths.
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
