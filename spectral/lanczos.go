package spectral

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// A triplet is a singular value of a matrix A. residual is the distance between Aᵀ·left and σ·right
// for the current vectors, and so a bound on the distance of σ to a true singular value.
type triplet struct{ sigma, residual float64 }

// A lanczos is half of the Golub-Kahan bidiagonalisation A·V = U·B, on the smaller side of A; U is
// not kept (Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix",
// 1965; Simon and Zha, "Low-rank matrix approximation using the Lanczos bidiagonalization process",
// 2000),
//
//	AᵀA·V = V·T + β·next·eᵀ      T = BᵀB tridiagonal, α on the diagonal, β beside it
//
// It can be continued, and begins with a random vector. If the space closes (β = 0), a new random
// vector orthogonal to all before opens the next one, so that repeated singular values are found as
// often as they occur. V has one vector per step, at most 64 + 8·64 of them: 230 MB if the smaller
// side has length 50,000.
type lanczos struct {
	part
	random *rand.Rand

	alpha, beta []float64 // beta[j] couples V[j] to V[j+1], the last one V to next
	V           [][]float64
	next        []float64
	closed      bool // some β was 0
	full        bool // V fills its space: all singular values have been found

	seen  []triplet // at the last check
	moved int       // step of the last check at which a value had moved
}

func newLanczos(p part, random *rand.Rand) *lanczos {
	return &lanczos{part: p, random: random, next: fresh(p.byRow.Cols, nil, random)}
}

// run goes on until the first want triplets have a residual of at most tol and have settled, until
// there are maxSteps steps, or until stop returns true. In a space that closed before, copies of a
// value may still be missing, so all steps are used.
func (l *lanczos) run(want, maxSteps int, tol float64, stop func() bool) {
	for since := 0; !l.full && len(l.V) < maxSteps; since++ {
		if m := len(l.V); !l.closed && m > want+4 && since%8 == 0 && l.converged(want, tol) {
			return
		}
		if stop != nil && stop() && len(l.V) > 0 {
			return
		}
		l.step()
	}
}

// step adds one vector: w = AᵀA·v - β·v₋₁ - α·v. Rounding makes w lose orthogonality to earlier vectors over time, so
// step orthogonalises it against all of them.
func (l *lanczos) step() {
	const nothing = 1e-12 // σ² ≤ 1, so this is absolute
	v := l.next
	l.V = append(l.V, v)
	u, w := make([]float64, l.byRow.Rows), make([]float64, len(v))
	times(&l.byRow, v, u)
	times(&l.byCol, u, w)
	if j := len(l.V) - 1; j > 0 {
		numeric.Axpy(-l.beta[j-1], l.V[j-1], w)
	}
	alpha := numeric.Dot(w, v)
	numeric.Axpy(-alpha, v, w)
	l.alpha = append(l.alpha, alpha)
	if len(l.V) == len(v) {
		l.beta, l.next, l.full = append(l.beta, 0), nil, true
		return
	}
	orthogonalise(w, l.V)
	beta := numeric.Norm(w)
	if beta > nothing {
		scale(1/beta, w)
	} else {
		beta, w, l.closed = 0, fresh(len(v), l.V, l.random), true
	}
	l.beta, l.next = append(l.beta, beta), w
}

// converged also requires that no value has moved for a while. If many values are close together,
// as for k clusters of one kind, Lanczos finds them one after another: the values found and those
// behind the gap have small residuals while others in between have not appeared yet.
func (l *lanczos) converged(want int, tol float64) bool {
	now := l.values(want)
	moved := len(now) != len(l.seen)
	good := true
	for j, t := range now {
		moved = moved || math.Abs(t.sigma-l.seen[j].sigma) > tol/2
		good = good && t.residual <= tol
	}
	if moved {
		l.moved = len(l.V)
	}
	l.seen = now
	return good && len(l.V)-l.moved >= 8+len(l.V)/16
}

// values returns the first want triplets. Residuals only need the last components of the eigenvectors of T. A σ below
// zero, the root of the rounding error in σ², has no meaningful vector on the other side.
func (l *lanczos) values(want int) []triplet {
	const zero = 1e-7
	m := len(l.alpha)
	if m == 0 {
		return nil
	}
	lambda, last := tridiagonal(l.alpha, l.beta[:m-1], m-1)
	found := make([]triplet, 0, want)
	for j := range min(want, m) {
		sigma := math.Sqrt(max(lambda[j], 0))
		if sigma < zero {
			break
		}
		found = append(found, triplet{sigma, float64(l.beta[m-1]*math.Abs(last[j][0])) / sigma})
	}
	return found
}

// vectors returns the first k pairs of singular vectors of A, with σ·left = A·right, each pair as one vector: left,
// then right.
func (l *lanczos) vectors(k int) [][]float64 {
	_, z := tridiagonal(l.alpha, l.beta[:len(l.alpha)-1], 0)
	both := make([][]float64, k)
	for j := range both {
		both[j] = make([]float64, len(l.vertices))
	}
	spread(l.byRow.Cols, 512, func(lo, hi int) {
		for j, x := range both {
			combine(x[l.byRow.Rows:][lo:hi], l.V, z[j], lo)
		}
	})
	for j, t := range l.values(k) {
		left, right := both[j][:l.byRow.Rows], both[j][l.byRow.Rows:]
		times(&l.byRow, right, left)
		scale(1/t.sigma, left)
	}
	return both
}

// fresh returns a random unit vector orthogonal to the basis, which must not fill the space.
func fresh(n int, basis [][]float64, r *rand.Rand) []float64 {
	x := make([]float64, n)
	for {
		for i := range x {
			x[i] = float64(r.Float64()) - 0.5
		}
		scale(1/numeric.Norm(x), x)
		orthogonalise(x, basis)
		if length := numeric.Norm(x); length > 1e-6 {
			scale(1/length, x)
			orthogonalise(x, basis)
			scale(1/numeric.Norm(x), x)
			return x
		}
	}
}

// orthogonalise removes from x its components along the basis, a second time if the first one
// removed most of x, so that rounding would matter ("twice is enough", Parlett, The Symmetric
// Eigenvalue Problem, 6.9).
func orthogonalise(x []float64, basis [][]float64) {
	size := 32 // short vectors are not worth a second processor
	if len(x) >= 4096 {
		size = 4
	}
	var c [32]float64
	for range 2 {
		before := numeric.Norm(x)
		for group := range slices.Chunk(basis, len(c)) { // one group after another, each small enough for a cache
			spread(len(group), size, func(lo, hi int) {
				t := lo
				for ; t+4 <= hi; t += 4 {
					c[t], c[t+1], c[t+2], c[t+3] = dotFour(x, group[t], group[t+1], group[t+2], group[t+3])
				}
				for ; t < hi; t++ {
					c[t] = -numeric.Dot(group[t], x)
				}
			})
			spread(len(x), 4096, func(lo, hi int) { combine(x[lo:hi], group, c[:], lo) })
		}
		if numeric.Norm(x) > 0.7*before {
			return
		}
	}
}

// dotFour returns the negative products of x with four vectors, so that x is read a quarter as
// often.
func dotFour(x, a, b, c, d []float64) (p, q, r, s float64) {
	n := len(x)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	for i, v := range x {
		p -= float64(a[i] * v)
		q -= float64(b[i] * v)
		r -= float64(c[i] * v)
		s -= float64(d[i] * v)
	}
	return p, q, r, s
}

// combine adds Σ c[t]·basis[t][lo:] to y.
func combine(y []float64, basis [][]float64, c []float64, lo int) {
	for t, b := range basis {
		numeric.Axpy(c[t], b[lo:lo+len(y)], y)
	}
}

func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}
