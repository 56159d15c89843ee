package graph

import (
	"fmt"
	"slices"

	"waymark/internal/numeric"
)

// An Entry is a pair of row (tool) and column (capability) that belong together, with a weight.
type Entry = numeric.Entry

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
// It is stored by rows and by columns, each in increasing order, and is immutable.
type Incidence struct{ byRow, byCol numeric.Matrix }

// NewIncidence builds the incidence from entries in any order; equal pairs are added up in
// increasing order of weight.
func NewIncidence(rows, cols int, entries []Entry) (*Incidence, error) {
	byRow, err := numeric.NewMatrix(rows, cols, entries)
	if err != nil {
		return nil, fmt.Errorf("incidence: %w", err)
	}
	return &Incidence{byRow, byRow.Transposed()}, nil
}

// Rows is the number of rows.
func (h *Incidence) Rows() int { return h.byRow.Rows }

// Cols is the number of columns.
func (h *Incidence) Cols() int { return h.byRow.Cols }

// Size is the number of distinct entries.
func (h *Incidence) Size() int { return len(h.byRow.Col) }

// Row returns the columns of row i in increasing order and the weights. The slices belong to the
// incidence and are not to be changed.
func (h *Incidence) Row(i int32) (cols []int32, weights []float64) { return h.byRow.Row(i) }

// Col returns the rows of column j in increasing order and the weights. The slices belong to the
// incidence and are not to be changed.
func (h *Incidence) Col(j int32) (rows []int32, weights []float64) { return h.byCol.Row(j) }

// Matrix is the incidence by rows. Its slices belong to the incidence and are not to be changed.
func (h *Incidence) Matrix() numeric.Matrix { return h.byRow }

// HypergraphNeighbours calls visit for every other row that shares a column with row i, in
// increasing order, with the number of columns they share.
func (h *Incidence) HypergraphNeighbours(i int32, visit func(j int32, shared int)) {
	cols, _ := h.Row(i)
	var others []int32
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

// IncidencePageRank returns the PageRank of tools and capabilities on the undirected bipartite
// graph of the incidence. Rows and columns together add up to 1.
func IncidencePageRank(h *Incidence, o PageRankOptions) (rows, cols []float64, err error) {
	tools, capabilities := h.byRow.Rows, h.byRow.Cols
	start := slices.Clone(h.byRow.Start)
	for _, s := range h.byCol.Start[1:] {
		start = append(start, h.byRow.Start[tools]+s)
	}
	from := make([]int32, 0, 2*h.Size())
	for _, c := range h.byRow.Col {
		from = append(from, int32(tools)+c)
	}
	from = append(from, h.byCol.Col...)
	p := append(arriving(&h.byRow, &h.byCol), arriving(&h.byCol, &h.byRow)...)
	ranking, err := pageRank(tools+capabilities, start, from, p, nil, o)
	if err != nil {
		return nil, nil, fmt.Errorf("rank the incidence: %w", err)
	}
	return ranking.Ranks[:tools:tools], ranking.Ranks[tools:], nil
}

// arriving returns the weights of m, each as a share of the weights of its column; other is m by columns.
func arriving(m, other *numeric.Matrix) []float64 {
	of := make([]shares, other.Rows)
	for i := range of {
		_, w := other.Row(int32(i))
		of[i] = sharesOf(w)
	}
	p := make([]float64, len(m.Col))
	for k, c := range m.Col {
		p[k] = of[c].of(m.Weight[k])
	}
	return p
}
