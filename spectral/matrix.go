package spectral

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// An Entry is a number in a matrix.
type Entry struct {
	Row, Col int32
	Weight   float64
}

// A Matrix holds non-negative weights in compressed rows: row i is Col[Start[i]:Start[i+1]], in
// increasing order, with the weights beside. A matrix that exists in this form elsewhere can be
// given without copying.
type Matrix struct {
	Rows, Cols int
	Start      []int32 // Rows+1 offsets
	Col        []int32
	Weight     []float64
}

// NewMatrix builds a matrix from entries in any order. Equal places are added up in increasing
// order of weight.
func NewMatrix(rows, cols int, entries []Entry) (Matrix, error) {
	if rows < 0 || cols < 0 || rows > math.MaxInt32 || cols > math.MaxInt32 || len(entries) > math.MaxInt32 {
		return Matrix{}, fmt.Errorf("matrix of %d × %d with %d entries: number out of range", rows, cols, len(entries))
	}
	for i, e := range entries {
		if e.Row < 0 || int(e.Row) >= rows || e.Col < 0 || int(e.Col) >= cols {
			return Matrix{}, fmt.Errorf("matrix: entry %d (row %d, column %d) is outside %d × %d", i, e.Row, e.Col, rows, cols)
		}
		if err := checkWeight(e.Weight); err != nil {
			return Matrix{}, fmt.Errorf("matrix: entry %d (row %d, column %d, weight %v): %w", i, e.Row, e.Col, e.Weight, err)
		}
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Weight, b.Weight))
	})
	h := Matrix{Rows: rows, Cols: cols, Start: make([]int32, rows+1)}
	last := Entry{Row: -1}
	for _, e := range entries {
		if i := len(h.Col) - 1; e.Row == last.Row && e.Col == last.Col {
			h.Weight[i] = min(h.Weight[i]+e.Weight, math.MaxFloat64)
			continue
		}
		last = e
		h.Col = append(h.Col, e.Col)
		h.Weight = append(h.Weight, e.Weight)
		h.Start[e.Row+1]++
	}
	accumulate(h.Start)
	return h, nil
}

func checkWeight(w float64) error {
	switch {
	case math.IsNaN(w) || math.IsInf(w, 0):
		return fmt.Errorf("the weight is not a finite number")
	case w < 0:
		return fmt.Errorf("the weight is negative")
	}
	return nil
}

// check refuses a matrix that would make the algorithm run out of bounds or answer with garbage.
func (h Matrix) check() error {
	if h.Rows == 0 && len(h.Start) == 0 { // the zero Matrix
		h.Start = []int32{0}
	}
	if h.Rows < 0 || h.Cols < 0 || len(h.Start) != h.Rows+1 || len(h.Col) != len(h.Weight) ||
		h.Start[0] != 0 || int(h.Start[h.Rows]) != len(h.Col) {
		return fmt.Errorf("matrix of %d × %d: %d offsets for %d columns and %d weights do not fit together",
			h.Rows, h.Cols, len(h.Start), len(h.Col), len(h.Weight))
	}
	if !slices.IsSorted(h.Start) {
		return fmt.Errorf("matrix: the offsets of the rows fall")
	}
	for i := range h.Rows {
		for k := h.Start[i]; k < h.Start[i+1]; k++ {
			c := h.Col[k]
			if c < 0 || int(c) >= h.Cols || k > h.Start[i] && c <= h.Col[k-1] {
				return fmt.Errorf("matrix: column %d in row %d is out of range or out of order", c, i)
			}
			if err := checkWeight(h.Weight[k]); err != nil {
				return fmt.Errorf("matrix: row %d, column %d: %w", i, c, err)
			}
		}
	}
	return nil
}

func accumulate(count []int32) {
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
}

// A sparse is a matrix by rows and by columns, for products from both sides. Each number of a
// product is a sum over a sorted row, in one order.
type sparse struct {
	rows, cols         int
	rowStart, colStart []int32
	rowCol, colRow     []int32
	rowVal, colVal     []float64
}

func newSparse(rows, cols int, start, col []int32, val []float64) *sparse {
	a := &sparse{rows: rows, cols: cols, rowStart: start, rowCol: col, rowVal: val}
	a.colStart = make([]int32, cols+1)
	a.colRow = make([]int32, len(col))
	a.colVal = make([]float64, len(col))
	for _, c := range col {
		a.colStart[c+1]++
	}
	accumulate(a.colStart)
	next := slices.Clone(a.colStart)
	for i := range rows {
		for k := start[i]; k < start[i+1]; k++ {
			c := col[k]
			a.colRow[next[c]], a.colVal[next[c]] = int32(i), val[k]
			next[c]++
		}
	}
	return a
}

// times is y = A·x.
func (a *sparse) times(x, y []float64) { gather(a.rowStart, a.rowCol, a.rowVal, x, y) }

// transposeTimes is y = Aᵀ·x.
func (a *sparse) transposeTimes(x, y []float64) { gather(a.colStart, a.colRow, a.colVal, x, y) }

func gather(start, index []int32, val, x, y []float64) {
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
