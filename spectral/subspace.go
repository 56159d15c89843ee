package spectral

import (
	"fmt"
	"math"
	"math/rand/v2"

	"waymark/internal/numeric"
)

// A subspace refines known vectors of AᵀA by Rayleigh-Ritz: in their space it takes the best
// values and vectors, and then adds the residuals of those that are not good yet to the space
// (Davidson, "The iterative calculation of a few of the lowest eigenvalues", 1975, without a
// preconditioner). When the matrix has changed a little, few are needed; a Lanczos has to find
// all vectors again from one.
type subspace struct {
	a          *sparse
	flipped    bool
	random     *rand.Rand
	want, room int
	V, W       [][]float64 // orthonormal, and W = AᵀA·V
	T          [][]float64 // VᵀW
	lambda     []float64
	z          [][]float64 // eigenvectors of T as rows
	residuals  []float64   // of the first want eigenvalues
	steps      int
	u          []float64
}

// newSubspace starts a component from earlier vectors, or is nil where they say too little of it.
func newSubspace(p part, want int, start *Vectors, random *rand.Rand) *subspace {
	n := min(len(p.rows), len(p.cols))
	if start == nil || n < 4*want {
		return nil
	}
	s := &subspace{a: p.a, random: random, want: want, room: 3*want + 8}
	ids, x := p.cols, start.Cols
	if p.a.cols > p.a.rows {
		s.a, s.flipped = p.a.transposed(), true
		ids, x = p.rows, start.Rows
	}
	s.u = make([]float64, s.a.rows)
	for t := range min(start.K, want) {
		v := make([]float64, s.a.cols)
		for i, id := range ids {
			if at := int(id)*start.K + t; at < len(x) {
				v[i] = x[at]
			}
		}
		s.add(v)
	}
	if len(s.V)+1 < want/2 || len(s.V) == 0 {
		return nil
	}
	return s
}

// check refuses vectors that do not fit together.
func (v *Vectors) check() error {
	if v == nil {
		return nil
	}
	if v.K < 1 || len(v.Rows)%v.K != 0 || len(v.Cols)%v.K != 0 {
		return fmt.Errorf("spectral clustering: %d and %d numbers are no rows and columns of %d start vectors", len(v.Rows), len(v.Cols), v.K)
	}
	for _, side := range [][]float64{v.Rows, v.Cols} {
		for _, x := range side {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("spectral clustering: a start vector has a component that is not a finite number")
			}
		}
	}
	return nil
}

// add takes into the space what v has outside it, if that is more than rounding.
func (s *subspace) add(v []float64) {
	const nothing = 1e-8
	before := numeric.Norm(v)
	if before == 0 {
		return
	}
	scale(1/before, v)
	for range 2 {
		orthogonalise(v, s.V)
		length := numeric.Norm(v)
		if length < nothing {
			return
		}
		scale(1/length, v)
	}
	w := make([]float64, len(v))
	s.a.times(v, s.u)
	s.a.transposeTimes(s.u, w)
	s.steps++
	s.V, s.W = append(s.V, v), append(s.W, w)
	row := make([]float64, len(s.V))
	products(w, s.V, row)
	for i := range s.T {
		s.T[i] = append(s.T[i], row[i])
	}
	s.T = append(s.T, row)
}

// project solves the problem within the space.
func (s *subspace) project() {
	T := make([][]float64, len(s.T))
	for i, row := range s.T {
		T[i] = append([]float64(nil), row...)
	}
	s.lambda, s.z = symmetric(T)
	n := min(s.want, len(s.lambda))
	s.residuals = s.residuals[:0]
	for j := range n {
		r := s.residual(j)
		s.residuals = append(s.residuals, numeric.Norm(r)/math.Sqrt(max(s.lambda[j], zero*zero)))
	}
}

// residual is AᵀA·y - λ·y of a Ritz vector y = V·z.
func (s *subspace) residual(j int) []float64 {
	r := make([]float64, s.a.cols)
	S := s.z[j]
	spread(len(r), 4096, func(lo, hi int) {
		for t, c := range S {
			numeric.Axpy(c, s.W[t][lo:hi], r[lo:hi])
			numeric.Axpy(float64(-s.lambda[j]*c), s.V[t][lo:hi], r[lo:hi])
		}
	})
	return r
}

func (s *subspace) run(want, maxSteps int, tol float64, stop func() bool) {
	want = min(want, s.want)
	if len(s.V) < want { // room for the value after the last
		s.add(fresh(s.a.cols, s.V, s.random))
	}
	s.project()
	for s.steps < maxSteps && !(stop != nil && stop()) {
		var more [][]float64
		for j := range min(want, len(s.residuals)) {
			if s.residuals[j] > tol {
				more = append(more, s.residual(j))
			}
		}
		if len(more) == 0 {
			return
		}
		if len(s.V)+len(more) > s.room {
			s.shrink()
		}
		before := len(s.V)
		for _, r := range more {
			if s.steps < maxSteps && len(s.V) < s.a.cols {
				s.add(r)
			}
		}
		if len(s.V) == before {
			return // the residuals are rounding
		}
		s.project()
	}
}

// shrink keeps the best vectors of the space only.
func (s *subspace) shrink() {
	m, keep := len(s.V), min(s.want, len(s.V))
	S := make([]float64, m*keep)
	for t := range m {
		for j := range keep {
			S[t*keep+j] = s.z[j][t]
		}
	}
	recombine(s.V, S, keep)
	recombine(s.W, S, keep)
	s.V, s.W = s.V[:keep], s.W[:keep]
	s.T = make([][]float64, keep)
	for j := range s.T {
		s.T[j] = make([]float64, keep)
		s.T[j][j] = s.lambda[j]
	}
}

func (s *subspace) values(want int) []triplet {
	var found []triplet
	for j := range min(want, len(s.residuals)) {
		sigma := math.Sqrt(max(s.lambda[j], 0))
		if sigma < zero {
			break
		}
		found = append(found, triplet{sigma, s.residuals[j]})
	}
	return found
}

func (s *subspace) vectors(k int) block {
	return vectors(s.a, s.flipped, s.values(k), s.V, s.z)
}

func (s *subspace) products() int { return s.steps }
