package spectral

import (
	"math"

	"waymark/internal/numeric"
)

// householder brings the symmetric matrix S to tridiagonal form Qᵀ·S·Q by reflections that begin
// at the last row (Martin, Reinsch, Wilkinson, "Householder's tridiagonalization of a symmetric
// matrix", 1968), so that the last row and column of Q are those of the identity. S is
// overwritten by Q; d is the diagonal and e beside it, len(d)-1 long.
func householder(S [][]float64) (d, e []float64) {
	n := len(S)
	d, e = make([]float64, n), make([]float64, max(n-1, 0))
	// H_i = I - u·uᵀ/h, u of length i, takes row i to its last component beside the diagonal.
	us, hs := make([][]float64, n), make([]float64, n)
	p := make([]float64, n)
	for i := n - 1; i >= 1; i-- {
		row := S[i][:i]
		d[i] = S[i][i]
		length := numeric.Norm(row)
		if length == 0 || numeric.Norm(row[:i-1]) == 0 {
			e[i-1] = row[i-1]
			continue
		}
		if row[i-1] > 0 {
			length = -length
		}
		e[i-1] = length
		u := append([]float64(nil), row...)
		u[i-1] -= length
		h := numeric.Dot(u, u) / 2
		us[i], hs[i] = u, h
		for j := range i {
			p[j] = numeric.Dot(u, S[j][:i]) / h
		}
		K := numeric.Dot(u, p[:i]) / (2 * h)
		for j := range i {
			p[j] -= float64(K * u[j])
		}
		for j := range i {
			s, pj, uj := S[j][:i], p[j], u[j]
			for t := range s {
				s[t] -= float64(uj*p[t]) + float64(pj*u[t])
			}
		}
	}
	if n > 0 {
		d[0] = S[0][0]
	}
	for i := range S {
		clear(S[i])
		S[i][i] = 1
	}
	for i := 1; i < n; i++ { // Q = H_n-1 … H_1; the factors on the right touch the first rows only
		if u := us[i]; u != nil {
			// Q ← H_i·Q on rows and columns below i
			clear(p[:i])
			for t := range i {
				numeric.Axpy(u[t], S[t][:i], p[:i])
			}
			for t := range i {
				numeric.Axpy(-u[t]/hs[i], p[:i], S[t][:i])
			}
		}
	}
	return d, e
}

// tridiagonal returns the eigenvalues of the symmetric matrix with diagonal d and off-diagonal e
// (len(d)-1), in falling order, and its eigenvectors as rows.
func tridiagonal(d, e []float64) (values []float64, vectors [][]float64) {
	vectors = make([][]float64, len(d))
	for i := range vectors {
		vectors[i] = make([]float64, len(d))
		vectors[i][i] = 1
	}
	return implicitQL(d, e, vectors)
}

// tridiagonalLast returns the eigenvalues in falling order and the last component of each
// eigenvector, for much less work.
func tridiagonalLast(d, e []float64) (values, last []float64) {
	component := make([][]float64, len(d))
	for i := range component {
		component[i] = []float64{0}
	}
	component[len(d)-1][0] = 1
	values, component = implicitQL(d, e, component)
	last = make([]float64, len(d))
	for j, c := range component {
		last[j] = math.Abs(c[0])
	}
	return values, last
}
