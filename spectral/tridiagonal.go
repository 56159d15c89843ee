package spectral

import (
	"cmp"
	"math"
	"slices"
)

// implicitQL diagonalises the symmetric matrix with diagonal d and off-diagonal e (len(d)-1) by the
// implicit QL method (Bowdler, Martin, Reinsch, Wilkinson, "The QR and QL algorithms for symmetric
// matrices", 1968). It uses only additions, rounded products, quotients and square roots, so the
// bits are the same on every machine.
//
// vectors[j] holds the needed components of column j of the identity, and becomes those of the
// eigenvector of d[j]. Eigenvalues and vectors are returned in falling order.
func implicitQL(d, e []float64, vectors [][]float64) ([]float64, [][]float64) {
	m := len(d)
	d = slices.Clone(d)
	e = append(slices.Clone(e), 0)
	for l := range m {
		for range 60 { // two or three are usual
			// The first off-diagonal element at or after l that is negligible ends the block.
			end := l
			for ; end < m-1; end++ {
				if scale := math.Abs(d[end]) + math.Abs(d[end+1]); math.Abs(e[end]) <= 0x1p-52*scale {
					break
				}
			}
			if end == l {
				break
			}
			sweep(d, e, l, end, vectors)
		}
	}
	type pair struct {
		value  float64
		vector []float64
	}
	pairs := make([]pair, m)
	for i := range pairs {
		pairs[i] = pair{d[i], vectors[i]}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.value, a.value) })
	for i, p := range pairs {
		d[i], vectors[i] = p.value, p.vector
	}
	return d, vectors
}

// sweep chases one implicit shift through the block l..end.
func sweep(d, e []float64, l, end int, vectors [][]float64) {
	g := (d[l+1] - d[l]) / (2 * e[l])
	r := hypotenuse(g, 1)
	if g < 0 {
		r = -r
	}
	g = d[end] - d[l] + e[l]/(g+r) // Wilkinson's shift
	s, c, p := 1.0, 1.0, 0.0
	for i := end - 1; i >= l; i-- {
		f, b := float64(s*e[i]), float64(c*e[i])
		r = hypotenuse(f, g)
		e[i+1] = r
		if r == 0 { // an eigenvalue was split off early
			d[i+1] -= p
			e[end] = 0
			return
		}
		s, c = f/r, g/r
		g = d[i+1] - p
		r = float64((d[i]-g)*s) + float64(float64(2*c)*b)
		p = float64(s * r)
		d[i+1] = g + p
		g = float64(c*r) - b
		x, y := vectors[i], vectors[i+1][:len(vectors[i])]
		for t, xt := range x {
			yt := y[t]
			y[t] = float64(s*xt) + float64(c*yt)
			x[t] = float64(c*xt) - float64(s*yt)
		}
	}
	d[l] -= p
	e[l] = g
	e[end] = 0
}

// tridiagonal returns the eigenvalues of the symmetric matrix with diagonal d and off-diagonal e (len(d)-1), in falling
// order, and its eigenvectors as rows, from component first on: the last components alone take much less time.
func tridiagonal(d, e []float64, first int) (values []float64, vectors [][]float64) {
	vectors = make([][]float64, len(d))
	for i := range vectors {
		vectors[i] = make([]float64, len(d)-first)
		if i >= first {
			vectors[i][i-first] = 1
		}
	}
	return implicitQL(d, e, vectors)
}

// hypotenuse is √(x²+y²). Eigenvalues are at most 1, so that no square overflows.
func hypotenuse(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }
