package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// An Entry says that row (tool) and column (capability) belong together, and how strongly.
type Entry struct {
	Row, Col int32
	Weight   float64
}

// An Incidence is the matrix of tools × capabilities, and with it the hypergraph whose hyperedges
// are the columns:
//
//	     A  B        A = {a, b, x}, B = {x, c, d}
//	a    1  ·
//	b    1  ·          a ─┐     ┌─ c
//	x    1  1             A ─ x ─ B
//	c    ·  1          b ─┘     └─ d
//	d    ·  1
//
// It is kept by rows and by columns, each in increasing order, and does not change.
type Incidence struct {
	rows, cols int

	rowStart  []int32
	rowCol    []int32
	rowWeight []float64

	colStart  []int32
	colRow    []int32
	colWeight []float64
}

// NewIncidence builds the incidence from entries in any order; equal pairs are added up in
// increasing order of weight.
func NewIncidence(rows, cols int, entries []Entry) (*Incidence, error) {
	if rows < 0 || cols < 0 || rows+cols > math.MaxInt32 || len(entries) > math.MaxInt32 {
		return nil, fmt.Errorf("incidence of %d × %d with %d entries: number out of range", rows, cols, len(entries))
	}
	for i, e := range entries {
		err := checkWeight(e.Weight)
		switch {
		case e.Row < 0 || int(e.Row) >= rows:
			err = fmt.Errorf("row %d is not one of the %d rows", e.Row, rows)
		case e.Col < 0 || int(e.Col) >= cols:
			err = fmt.Errorf("column %d is not one of the %d columns", e.Col, cols)
		}
		if err != nil {
			return nil, fmt.Errorf("incidence: entry %d (row %d, column %d, weight %v): %w", i, e.Row, e.Col, e.Weight, err)
		}
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Weight, b.Weight))
	})
	h := &Incidence{rows: rows, cols: cols, rowStart: make([]int32, rows+1), colStart: make([]int32, cols+1)}
	last := Entry{Row: -1}
	for _, e := range entries {
		if i := len(h.rowCol) - 1; e.Row == last.Row && e.Col == last.Col {
			h.rowWeight[i] = min(h.rowWeight[i]+e.Weight, math.MaxFloat64)
			continue
		}
		last = e
		h.rowCol = append(h.rowCol, e.Col)
		h.rowWeight = append(h.rowWeight, e.Weight)
		h.rowStart[e.Row+1]++
		h.colStart[e.Col+1]++
	}
	accumulate(h.rowStart)
	accumulate(h.colStart)
	h.colRow = make([]int32, len(h.rowCol))
	h.colWeight = make([]float64, len(h.rowCol))
	next := slices.Clone(h.colStart)
	for i := range int32(rows) {
		cs, ws := h.Row(i)
		for k, c := range cs {
			h.colRow[next[c]], h.colWeight[next[c]] = i, ws[k]
			next[c]++
		}
	}
	return h, nil
}

// Rows is the number of rows.
func (h *Incidence) Rows() int { return h.rows }

// Cols is the number of columns.
func (h *Incidence) Cols() int { return h.cols }

// Size is the number of distinct entries.
func (h *Incidence) Size() int { return len(h.rowCol) }

// Row returns the columns of row i in increasing order and the weights. The slices belong to the
// incidence and are not to be changed.
func (h *Incidence) Row(i int32) (cols []int32, weights []float64) {
	a, b := h.rowStart[i], h.rowStart[i+1]
	return h.rowCol[a:b:b], h.rowWeight[a:b:b]
}

// Col returns the rows of column j in increasing order and the weights. The slices belong to the
// incidence and are not to be changed.
func (h *Incidence) Col(j int32) (rows []int32, weights []float64) {
	a, b := h.colStart[j], h.colStart[j+1]
	return h.colRow[a:b:b], h.colWeight[a:b:b]
}

// Compressed returns the matrix by rows: row i is entries start[i] to start[i+1] of cols and
// weights. The slices belong to the incidence and are not to be changed.
func (h *Incidence) Compressed() (start, cols []int32, weights []float64) {
	return h.rowStart, h.rowCol, h.rowWeight
}

// HypergraphNeighbours calls visit for every other row that shares a column with row i, in
// increasing order, with the number of columns they share.
func (h *Incidence) HypergraphNeighbours(i int32, visit func(j int32, shared int)) {
	cols, _ := h.Row(i)
	size := 0
	for _, c := range cols {
		size += int(h.colStart[c+1] - h.colStart[c])
	}
	others := make([]int32, 0, size)
	for _, c := range cols {
		rows, _ := h.Col(c)
		others = append(others, rows...)
	}
	slices.Sort(others)
	for a := 0; a < len(others); {
		b := a + 1
		for b < len(others) && others[b] == others[a] {
			b++
		}
		if others[a] != i {
			visit(others[a], b-a)
		}
		a = b
	}
}

// IncidencePageRank is the PageRank of tools and capabilities on the undirected bipartite graph
// of the incidence. Rows and columns together add up to 1.
func IncidencePageRank(h *Incidence, o PageRankOptions) (rows, cols []float64, err error) {
	n := h.rows + h.cols
	start := make([]int32, n+1)
	copy(start, h.rowStart)
	for j, s := range h.colStart[1:] {
		start[h.rows+1+j] = h.rowStart[h.rows] + s
	}
	from := make([]int32, 0, 2*h.Size())
	for _, c := range h.rowCol {
		from = append(from, int32(h.rows)+c)
	}
	from = append(from, h.colRow...)

	ofRow, ofCol := make([]shares, h.rows), make([]shares, h.cols)
	for i := range ofRow {
		_, w := h.Row(int32(i))
		ofRow[i] = sharesOf(w)
	}
	for j := range ofCol {
		_, w := h.Col(int32(j))
		ofCol[j] = sharesOf(w)
	}
	p := make([]float64, 0, 2*h.Size())
	for k, c := range h.rowCol {
		p = append(p, ofCol[c].of(h.rowWeight[k]))
	}
	for k, r := range h.colRow {
		p = append(p, ofRow[r].of(h.colWeight[k]))
	}
	ranking, err := pageRank(n, start, from, p, nil, o)
	if err != nil {
		return nil, nil, fmt.Errorf("rank the incidence: %w", err)
	}
	return ranking.Ranks[:h.rows:h.rows], ranking.Ranks[h.rows:], nil
}
