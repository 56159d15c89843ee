package spectral

import (
	"math"
	"math/rand/v2"

	"waymark/numeric"
)

// A triplet is a singular value with its vectors, A·right = σ·left. residual bounds how far
// Aᵀ·left is from σ·right, and so how far σ is from a true singular value.
type triplet struct {
	sigma, residual float64
	left, right     []float64
}

// A lanczos is a Golub-Kahan bidiagonalisation of A with full reorthogonalisation (Golub and
// Kahan, "Calculating the singular values and pseudo-inverse of a matrix", 1965),
//
//	A·V = U·B      Aᵀ·U = V·Bᵀ + β·v·eᵀ      B upper bidiagonal with α on the diagonal, β above
//
// that can be continued. It begins with a random vector on the smaller side. Where the space
// closes (β = 0), a new random vector orthogonal to all before opens the next one, so that
// singular values that repeat are found as often as they occur.
type lanczos struct {
	a       *sparse
	flipped bool // a is transposed
	random  *rand.Rand

	alpha, beta []float64 // beta[j] couples step j to step j+1
	U, V        [][]float64
	next        []float64 // the v of the next step
	closed      bool      // some β was 0
	full        bool      // V fills its space: all singular values are there
}

func newLanczos(a *sparse, random *rand.Rand) *lanczos {
	l := &lanczos{a: a, random: random}
	if a.cols > a.rows { // so that V fills its space first and β then vanishes
		l.a, l.flipped = a.transposed(), true
	}
	l.next = fresh(l.a.cols, nil, random)
	return l
}

// run goes on until the first want triplets have a residual of at most tol or there are maxSteps
// steps. In a space that closed before, copies of a value may still be missing: then the steps are
// used to the end.
func (l *lanczos) run(want, maxSteps int, tol float64) {
	for !l.full && len(l.alpha) < maxSteps {
		if steps := len(l.alpha); !l.closed && steps >= want+8 && (steps-want)%8 == 0 && l.converged(want, tol) {
			return
		}
		l.step()
	}
}

func (l *lanczos) step() {
	const nothing = 1e-10 // σ ≤ 1, so this is absolute
	v := l.next
	l.V = append(l.V, v)
	u := make([]float64, l.a.rows)
	l.a.times(v, u)
	orthogonalise(u, l.U)
	alpha := numeric.Norm(u)
	if alpha > nothing {
		scale(1/alpha, u)
	} else {
		alpha, u = 0, fresh(l.a.rows, l.U, l.random)
	}
	l.alpha, l.U = append(l.alpha, alpha), append(l.U, u)
	if len(l.V) == l.a.cols {
		l.beta, l.next, l.full = append(l.beta, 0), nil, true
		return
	}
	v = make([]float64, l.a.cols)
	l.a.transposeTimes(u, v)
	orthogonalise(v, l.V)
	beta := numeric.Norm(v)
	if beta > nothing {
		scale(1/beta, v)
	} else {
		beta, v, l.closed = 0, fresh(l.a.cols, l.V, l.random), true
	}
	l.beta, l.next = append(l.beta, beta), v
}

func (l *lanczos) converged(want int, tol float64) bool {
	for _, t := range l.values(want) {
		if t.residual > tol {
			return false
		}
	}
	return true
}

// values returns the first want triplets without vectors: for the residuals, only the last
// components of the eigenvectors of B·Bᵀ are needed.
func (l *lanczos) values(want int) []triplet {
	m := len(l.alpha)
	d, e := l.product()
	last := make([]float64, m)
	last[m-1] = 1
	lambda := tridiagonal(d, e, [][]float64{last})
	found := make([]triplet, 0, want)
	for j := range min(want, m) {
		sigma := math.Sqrt(max(lambda[j], 0))
		if sigma < zero {
			break
		}
		found = append(found, triplet{sigma: sigma, residual: float64(l.beta[m-1] * math.Abs(last[j]))})
	}
	return found
}

// zero is the root of the rounding in σ²: a smaller σ has no right vector to speak of.
const zero = 1e-7

// product is the tridiagonal B·Bᵀ.
func (l *lanczos) product() (d, e []float64) {
	m := len(l.alpha)
	d, e = make([]float64, m), make([]float64, m-1)
	for j, alpha := range l.alpha {
		d[j] = float64(alpha * alpha)
		if j+1 < m {
			d[j] += float64(l.beta[j] * l.beta[j])
			e[j] = float64(l.beta[j] * l.alpha[j+1])
		}
	}
	return d, e
}

// vectors returns the first want triplets.
func (l *lanczos) vectors(want int) []triplet {
	found := l.values(want)
	m := len(l.alpha)
	d, e := l.product()
	rows := make([][]float64, m)
	for i := range rows {
		rows[i] = make([]float64, m)
		rows[i][i] = 1
	}
	tridiagonal(d, e, rows)
	p, q := make([]float64, m), make([]float64, m)
	for j := range found {
		t := &found[j]
		for i := range m {
			p[i] = rows[i][j]
			q[i] = float64(l.alpha[i] * p[i]) // (Bᵀp)[i]
			if i > 0 {
				q[i] += float64(l.beta[i-1] * p[i-1])
			}
			q[i] /= t.sigma
		}
		t.left, t.right = make([]float64, l.a.rows), make([]float64, l.a.cols)
		combine(t.left, p, l.U)
		combine(t.right, q, l.V)
		if l.flipped {
			t.left, t.right = t.right, t.left
		}
		canonicalSign(*t)
	}
	return found
}

func (a *sparse) transposed() *sparse {
	return &sparse{
		rows: a.cols, cols: a.rows,
		rowStart: a.colStart, colStart: a.rowStart, rowCol: a.colRow, colRow: a.rowCol, rowVal: a.colVal, colVal: a.rowVal,
	}
}

// canonicalSign makes the largest component of the left vector positive, the first of equals.
func canonicalSign(t triplet) {
	largest := 0.0
	for _, x := range t.left {
		if math.Abs(x) > math.Abs(largest)+1e-9 {
			largest = x
		}
	}
	if largest < 0 {
		scale(-1, t.left)
		scale(-1, t.right)
	}
}

// fresh returns a random unit vector orthogonal to the basis, which does not fill the space.
func fresh(n int, basis [][]float64, r *rand.Rand) []float64 {
	x := make([]float64, n)
	for {
		for i := range x {
			x[i] = r.Float64() - 0.5
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

// orthogonalise takes from x its components along the basis, a second time where the first took
// most of it and rounding would show ("twice is enough", Parlett, The Symmetric Eigenvalue
// Problem, 6.9). Four basis vectors are taken together: x is then read a quarter as often.
func orthogonalise(x []float64, basis [][]float64) {
	if len(basis) == 0 {
		return
	}
	before := numeric.Norm(x)
	for range 2 {
		i := 0
		for ; i+4 <= len(basis); i += 4 {
			takeFour(x, basis[i], basis[i+1], basis[i+2], basis[i+3])
		}
		for ; i < len(basis); i++ {
			numeric.Axpy(-numeric.Dot(basis[i], x), basis[i], x)
		}
		after := numeric.Norm(x)
		if after > 0.7*before {
			return
		}
		before = after
	}
}

// takeFour is x -= (a·x)a + (b·x)b + (c·x)c + (d·x)d.
func takeFour(x, a, b, c, d []float64) {
	n := len(x)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	var p, q, r, s float64
	for i, v := range x {
		p += float64(a[i] * v)
		q += float64(b[i] * v)
		r += float64(c[i] * v)
		s += float64(d[i] * v)
	}
	for i := range x {
		x[i] -= (float64(p*a[i]) + float64(q*b[i])) + (float64(r*c[i]) + float64(s*d[i]))
	}
}

// combine adds Σ p[i]·basis[i] to y.
func combine(y, p []float64, basis [][]float64) {
	i := 0
	for ; i+4 <= len(basis); i += 4 {
		a, b, c, d := basis[i][:len(y)], basis[i+1][:len(y)], basis[i+2][:len(y)], basis[i+3][:len(y)]
		pa, pb, pc, pd := p[i], p[i+1], p[i+2], p[i+3]
		for t := range y {
			y[t] += (float64(pa*a[t]) + float64(pb*b[t])) + (float64(pc*c[t]) + float64(pd*d[t]))
		}
	}
	for ; i < len(basis); i++ {
		numeric.Axpy(p[i], basis[i], y)
	}
}

func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}
