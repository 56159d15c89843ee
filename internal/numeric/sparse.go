package numeric

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Matrices are stored by compressed rows, which the kernels read in one direction. Access by columns uses the
// transposed matrix, which has the same form.

// An Entry is a number in a [Matrix].
type Entry struct {
	Row, Col int32
	Weight   float64
}

// A Matrix holds non-negative weights in compressed rows: the columns of row i are Col[Start[i]:Start[i+1]], in
// increasing order, and its weights are at the same places in Weight.
type Matrix struct {
	Rows, Cols int
	Start      []int32 // Rows+1 offsets
	Col        []int32
	Weight     []float64
}

// NewMatrix builds a matrix from entries in any order. The weights of entries at the same place are added in increasing
// order, so that the sum has the same bits for any order of the entries.
func NewMatrix(rows, cols int, entries []Entry) (Matrix, error) {
	if rows < 0 || cols < 0 || rows > math.MaxInt32 || cols > math.MaxInt32-rows || len(entries) > math.MaxInt32 {
		return Matrix{}, fmt.Errorf("%d × %d with %d entries: number out of range", rows, cols, len(entries))
	}
	for i, e := range entries {
		err := CheckWeight(e.Weight)
		switch {
		case e.Row < 0 || int(e.Row) >= rows:
			err = fmt.Errorf("row %d is not one of the %d rows", e.Row, rows)
		case e.Col < 0 || int(e.Col) >= cols:
			err = fmt.Errorf("column %d is not one of the %d columns", e.Col, cols)
		}
		if err != nil {
			return Matrix{}, fmt.Errorf("entry %d (row %d, column %d, weight %v): %w", i, e.Row, e.Col, e.Weight, err)
		}
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Weight, b.Weight))
	})
	m := Matrix{Rows: rows, Cols: cols, Start: make([]int32, rows+1)}
	last := Entry{Row: -1}
	for _, e := range entries {
		if i := len(m.Col) - 1; e.Row == last.Row && e.Col == last.Col {
			m.Weight[i] = min(m.Weight[i]+e.Weight, math.MaxFloat64) // stays finite
			continue
		}
		last = e
		m.Col = append(m.Col, e.Col)
		m.Weight = append(m.Weight, e.Weight)
		m.Start[e.Row+1]++
	}
	Accumulate(m.Start)
	return m, nil
}

// Row returns the columns of row i in increasing order and the weights. The slices belong to the matrix.
func (m *Matrix) Row(i int32) (cols []int32, weights []float64) {
	a, b := m.Start[i], m.Start[i+1]
	return m.Col[a:b:b], m.Weight[a:b:b]
}

// Transposed returns the transposed matrix.
func (m *Matrix) Transposed() Matrix {
	t := Matrix{
		Rows: m.Cols, Cols: m.Rows,
		Start: make([]int32, m.Cols+1), Col: make([]int32, len(m.Col)), Weight: make([]float64, len(m.Col)),
	}
	for _, c := range m.Col {
		t.Start[c+1]++
	}
	Accumulate(t.Start)
	// next is the next free place of each column. Rows are visited in order, so they increase within a column.
	next := slices.Clone(t.Start)
	for i := range int32(m.Rows) {
		for k := m.Start[i]; k < m.Start[i+1]; k++ {
			at := &next[m.Col[k]]
			t.Col[*at], t.Weight[*at] = i, m.Weight[k]
			*at++
		}
	}
	return t
}

// CheckWeight returns an error unless w is finite and not negative.
func CheckWeight(w float64) error {
	switch {
	case math.IsNaN(w) || math.IsInf(w, 0):
		return errors.New("the weight is not a finite number")
	case w < 0:
		return errors.New("the weight is negative")
	}
	return nil
}

// Accumulate turns counts, which are shifted by one place, into offsets.
func Accumulate(count []int32) {
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
}
