package spectral

import "waymark/internal/sparse"

// An Entry is a number in a matrix.
type Entry = sparse.Entry

// A Matrix holds non-negative weights in compressed rows. A matrix that exists in this form elsewhere can be given
// without copying.
type Matrix = sparse.Matrix

// NewMatrix builds a matrix from entries in any order. Equal places are added up in increasing order of weight.
func NewMatrix(rows, cols int, entries []Entry) (Matrix, error) {
	return sparse.New(rows, cols, entries)
}

// A twoSided is a matrix by rows and by columns, for products from both sides. Each number of a product is a sum over a
// sorted row, in one order.
type twoSided struct {
	rows, cols   int
	byRow, byCol Matrix
}

func newTwoSided(byRow Matrix) *twoSided {
	return &twoSided{byRow.Rows, byRow.Cols, byRow, byRow.Transposed()}
}

func (a *twoSided) transposed() *twoSided { return &twoSided{a.cols, a.rows, a.byCol, a.byRow} }

// times is y = A·x.
func (a *twoSided) times(x, y []float64) { gather(&a.byRow, x, y) }

// transposeTimes is y = Aᵀ·x.
func (a *twoSided) transposeTimes(x, y []float64) { gather(&a.byCol, x, y) }

// gather is y = M·x: each y[i] is one sum in the order of the row, whichever processor computes it.
func gather(m *Matrix, x, y []float64) {
	start, index, val := m.Start, m.Col, m.Weight
	spread(len(y), 4096, func(lo, hi int) {
		from := start[lo]
		for i := lo; i < hi; i++ {
			to := start[i+1]
			ids := index[from:to]
			vs := val[from:to][:len(ids)]
			from = to
			s := 0.0
			for k, id := range ids {
				s += float64(vs[k] * x[id])
			}
			y[i] = s
		}
	})
}
