package spectral

import "math"

// A block holds k vectors of length n side by side: row i has component i of each.
type block struct {
	n, k int
	x    []float64
}

func newBlock(n, k int) block { return block{n, k, make([]float64, n*k)} }

func (b block) at(i int) []float64 { return b.x[i*b.k : (i+1)*b.k : (i+1)*b.k] }

func (b block) rows(from, to int) block { return block{to - from, b.k, b.x[from*b.k : to*b.k]} }

// canonicalSign makes the largest component among the first rows of each vector positive, the
// first of equals.
func canonicalSign(b block, rows int) {
	largest := make([]float64, b.k)
	for i := range rows {
		for j, x := range b.at(i) {
			if math.Abs(x) > math.Abs(largest[j])+1e-9 {
				largest[j] = x
			}
		}
	}
	for j, x := range largest {
		if x < 0 {
			for i := j; i < len(b.x); i += b.k {
				b.x[i] = -b.x[i]
			}
		}
	}
}

// timesBlock is Y = A·X.
func (a *twoSided) timesBlock(X, Y block) {
	spread(Y.n, 512, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := Y.at(i)
			clear(y)
			for e := a.byRow.Start[i]; e < a.byRow.Start[i+1]; e++ {
				w, x := a.byRow.Weight[e], X.at(int(a.byRow.Col[e]))[:len(y)]
				for j := range y {
					y[j] += float64(w * x[j])
				}
			}
		}
	})
}
