package spectral

import (
	"math"
	"math/rand/v2"

	"waymark/internal/numeric"
)

// angles estimates how far the basis of a Lanczos has turned from orthogonal, by the recurrence
// that rounding errors follow (Simon, "The Lanczos algorithm with partial reorthogonalization",
// 1984). With ω(j,k) the cosine of the vectors j and k,
//
//	β_j·ω(j+1,k) = β_k·ω(j,k+1) + (α_k-α_j)·ω(j,k) + β_k-1·ω(j,k-1) - β_j-1·ω(j-1,k) ± rounding
//
// Only when some cosine is too large is the new vector orthogonalised, and the one after it, which
// cosines enter too. That is every tenth vector or so instead of each one.
type angles struct {
	now, before []float64 // ω(j,·) and ω(j-1,·)
	again       int       // so many more vectors are orthogonalised whatever the estimate
}

const (
	perStep = 1e-15
	turned  = 1e-6 // values are then right to its square, vectors to itself
	little  = 1 << 16
)

// grow adds the vector j+1 from α_0..α_j, β_0..β_j-1 and β_j and reports whether it has to be
// orthogonalised. A basis of few numbers always is.
func (a *angles) grow(alpha, beta []float64, betaJ float64, numbers int) bool {
	j := len(alpha) - 1
	if len(a.now) <= j { // the first step
		a.now = append(a.now, 1)
	}
	next := append(a.before[:0:0], make([]float64, j+2)...)
	most := 0.0
	for k := range j {
		w := float64((alpha[k]-alpha[j])*a.now[k]) + float64(beta[k]*a.now[k+1])
		if k > 0 {
			w += float64(beta[k-1] * a.now[k-1])
		}
		if k < len(a.before) {
			w -= float64(beta[j-1] * a.before[k])
		}
		if w >= 0 {
			w += perStep
		} else {
			w -= perStep
		}
		next[k] = w / betaJ
		most = max(most, math.Abs(next[k]))
	}
	next[j], next[j+1] = perStep, 1
	a.before, a.now = a.now, next
	if !(most <= turned) {
		a.again = 2
	}
	if numbers > little && a.again == 0 {
		return false
	}
	a.again = max(a.again-1, 0)
	a.clean()
	return true
}

// clean notes that the newest vector was made orthogonal to all others.
func (a *angles) clean() {
	for k := range len(a.now) - 1 {
		a.now[k] = perStep
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
// Problem, 6.9).
func orthogonalise(x []float64, basis [][]float64) {
	if len(basis) == 0 {
		return
	}
	c := make([]float64, len(basis))
	before := numeric.Norm(x)
	for range 2 {
		for lo := 0; lo < len(basis); lo += 32 { // by groups, each free of those before
			group := basis[lo:min(lo+32, len(basis))]
			take(x, group, c[:len(group)])
		}
		after := numeric.Norm(x)
		if after > 0.7*before {
			return
		}
		before = after
	}
}

// take is x -= Σ_t (basis[t]·x)·basis[t], four vectors at a time, all from the same x.
func take(x []float64, basis [][]float64, c []float64) {
	products(x, basis, c)
	spread(len(x), 4096, func(lo, hi int) {
		y := x[lo:hi]
		t := 0
		for ; t+4 <= len(basis); t += 4 {
			p, q, r, s := c[t], c[t+1], c[t+2], c[t+3]
			a, b, d, e := basis[t][lo:hi], basis[t+1][lo:hi], basis[t+2][lo:hi], basis[t+3][lo:hi]
			for i := range y {
				y[i] -= (float64(p*a[i]) + float64(q*b[i])) + (float64(r*d[i]) + float64(s*e[i]))
			}
		}
		for ; t < len(basis); t++ {
			numeric.Axpy(-c[t], basis[t][lo:hi], y)
		}
	})
}

// products are c[t] = basis[t]·x.
func products(x []float64, basis [][]float64, c []float64) {
	size := 4
	if len(x) < 4096 {
		size = len(basis) // not worth a second processor
	}
	spread(len(basis), max(size, 1), func(lo, hi int) {
		t := lo
		for ; t+4 <= hi; t += 4 {
			c[t], c[t+1], c[t+2], c[t+3] = dotFour(x, basis[t], basis[t+1], basis[t+2], basis[t+3])
		}
		for ; t < hi; t++ {
			c[t] = numeric.Dot(basis[t], x)
		}
	})
}

// dotFour are the products of x with four vectors: x is then read a quarter as often.
func dotFour(x, a, b, c, d []float64) (p, q, r, s float64) {
	n := len(x)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	for i, v := range x {
		p += float64(a[i] * v)
		q += float64(b[i] * v)
		r += float64(c[i] * v)
		s += float64(d[i] * v)
	}
	return p, q, r, s
}

func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}
