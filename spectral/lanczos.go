package spectral

import (
	"math"
	"math/rand/v2"

	"waymark/internal/numeric"
)

// A triplet is a singular value of a matrix A. residual is how far Aᵀ·left is from σ·right for the
// vectors at hand, and so a bound for how far σ is from a true singular value.
type triplet struct{ sigma, residual float64 }

// A lanczos is the half of the Golub-Kahan bidiagonalisation of A on its smaller side: A·V = U·B
// with U never kept (Golub and Kahan, "Calculating the singular values and pseudo-inverse of a
// matrix", 1965; Simon and Zha, "Low-rank matrix approximation using the Lanczos
// bidiagonalization process", 2000),
//
//	AᵀA·V = V·T + β·next·eᵀ      T = BᵀB tridiagonal, α on the diagonal, β beside it
//
// It can be continued, and begins with a random vector. Where the space closes (β = 0), a new
// random vector orthogonal to all before opens the next one, so that singular values that repeat
// are found as often as they occur. V has a vector for each step, at most 64 + 8·64 of them: 230 MB
// where the smaller side is 50,000 long.
type lanczos struct {
	a       *twoSided
	flipped bool // a is transposed
	random  *rand.Rand

	alpha, beta []float64 // beta[j] couples V[j] to V[j+1], the last one V to next
	V           [][]float64
	next        []float64
	steps       int
	closed      bool // some β was 0
	full        bool // V fills its space: all singular values are there

	seen  []triplet // at the last check
	moved int       // step at which one was last found elsewhere

	u []float64 // of the longer side, for products
}

// newLanczos works on the shorter side of the matrix, where vectors are cheaper to keep orthogonal.
func newLanczos(a *twoSided, random *rand.Rand) *lanczos {
	l := &lanczos{a: a, random: random}
	if a.cols > a.rows {
		l.a, l.flipped = a.transposed(), true
	}
	l.u = make([]float64, l.a.rows)
	l.next = fresh(l.a.cols, nil, random)
	return l
}

// run goes on until the first want triplets have a residual of at most tol and have settled, there
// are maxSteps steps or stop says so. In a space that closed before, copies of a value may still
// be missing: then the steps are used to the end.
func (l *lanczos) run(want, maxSteps int, tol float64, stop func() bool) {
	for since := 0; !l.full && l.steps < maxSteps; since++ {
		if m := len(l.V); !l.closed && m > want+4 && since%8 == 0 && l.converged(want, tol) {
			return
		}
		if stop != nil && stop() && len(l.V) > 0 {
			return
		}
		l.step()
	}
}

// step adds one vector: w = AᵀA·v - β·v₋₁ - α·v. Rounding makes w lose orthogonality to earlier vectors over
// time, so it is made orthogonal to all of them.
func (l *lanczos) step() {
	const nothing = 1e-12 // σ² ≤ 1, so this is absolute
	v := l.next
	l.V = append(l.V, v)
	l.steps++
	j := len(l.V) - 1
	w := make([]float64, l.a.cols)
	l.a.times(v, l.u)
	l.a.transposeTimes(l.u, w)
	if j > 0 {
		numeric.Axpy(-l.beta[j-1], l.V[j-1], w)
	}
	alpha := numeric.Dot(w, v)
	numeric.Axpy(-alpha, v, w)
	l.alpha = append(l.alpha, alpha)
	if j+1 == l.a.cols {
		l.beta, l.next, l.full = append(l.beta, 0), nil, true
		return
	}
	orthogonalise(w, l.V)
	beta := numeric.Norm(w)
	if beta > nothing {
		scale(1/beta, w)
	} else {
		beta, w, l.closed = 0, fresh(l.a.cols, l.V, l.random), true
	}
	l.beta, l.next = append(l.beta, beta), w
}

// combine adds Σ_t basis[t][i]·S[t] to the row y[i-lo], for lo ≤ i < hi; rows are k long.
func combine(y []float64, basis [][]float64, S []float64, k, lo, hi int) {
	t := 0
	for ; t+4 <= len(basis); t += 4 {
		a, b, c, d := basis[t][lo:hi], basis[t+1][lo:hi], basis[t+2][lo:hi], basis[t+3][lo:hi]
		sa, sb, sc, sd := S[t*k:(t+1)*k], S[(t+1)*k:(t+2)*k], S[(t+2)*k:(t+3)*k], S[(t+3)*k:(t+4)*k]
		for i := range a {
			ai, bi, ci, di := a[i], b[i], c[i], d[i]
			row := y[i*k : (i+1)*k]
			sa, sb, sc, sd := sa[:len(row)], sb[:len(row)], sc[:len(row)], sd[:len(row)]
			for j := range row {
				row[j] += (float64(ai*sa[j]) + float64(bi*sb[j])) + (float64(ci*sc[j]) + float64(di*sd[j]))
			}
		}
	}
	for ; t < len(basis); t++ {
		for i, x := range basis[t][lo:hi] {
			numeric.Axpy(x, S[t*k:(t+1)*k], y[i*k:(i+1)*k])
		}
	}
}

// converged also asks that no value has moved for a while. Of many values close together, as k
// clusters of one kind have, a Lanczos finds one after another: those found and those behind the
// gap have small residuals while others in between have not shown up yet.
func (l *lanczos) converged(want int, tol float64) bool {
	now := l.values(want)
	moved := len(now) != len(l.seen)
	good := true
	for j, t := range now {
		moved = moved || math.Abs(t.sigma-l.seen[j].sigma) > tol/2
		good = good && t.residual <= tol
	}
	if moved {
		l.moved = l.steps
	}
	l.seen = now
	return good && l.steps-l.moved >= 8+l.steps/16
}

// zero is the root of the rounding in σ²: a smaller σ has no vector on the other side to speak of.
const zero = 1e-7

// values returns the first want triplets: for the residuals, only the last components of the
// eigenvectors of T are needed.
func (l *lanczos) values(want int) []triplet {
	m := len(l.alpha)
	if m == 0 {
		return nil
	}
	lambda, last := tridiagonalLast(l.alpha, l.beta[:m-1])
	found := make([]triplet, 0, want)
	for j := range min(want, m) {
		sigma := math.Sqrt(max(lambda[j], 0))
		if sigma < zero {
			break
		}
		found = append(found, triplet{sigma: sigma, residual: float64(l.beta[m-1]*last[j]) / sigma})
	}
	return found
}

// vectors returns the vectors of the first k triplets, left ones above right ones.
func (l *lanczos) vectors(k int) block {
	_, z := tridiagonal(l.alpha, l.beta[:len(l.alpha)-1])
	return vectors(l.a, l.flipped, l.values(k), l.V, z)
}

// vectors are the singular vectors V·z of A, z by rows, and their partners on the other side, as
// one block: the left ones above the right ones.
func vectors(a *twoSided, flipped bool, found []triplet, V, z [][]float64) block {
	k := len(found)
	S := make([]float64, len(V)*k)
	for t := range V {
		for j := range k {
			S[t*k+j] = z[j][t]
		}
	}
	both := newBlock(a.rows+a.cols, k)
	left, right := both.rows(0, a.rows), both.rows(a.rows, both.n)
	if flipped {
		right, left = both.rows(0, a.cols), both.rows(a.cols, both.n)
	}
	spread(a.cols, 256, func(lo, hi int) { combine(right.x[lo*k:hi*k], V, S, k, lo, hi) })
	a.timesBlock(right, left)
	spread(left.n, 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := left.at(i)
			for j, t := range found {
				row[j] /= t.sigma
			}
		}
	})
	if flipped {
		left = right
	}
	canonicalSign(both, left.n)
	return both
}
