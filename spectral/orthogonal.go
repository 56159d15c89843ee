package spectral

import (
	"math/rand/v2"

	"waymark/internal/numeric"
)

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
