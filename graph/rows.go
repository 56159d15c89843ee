package graph

import (
	"fmt"
	"math"
	"slices"
)

// pageSize is the number of nodes in a page: with 256 a page is 2 KiB, and a graph of 100,000
// nodes has 391 of them.
const pageSize = 256

// Rows is a graph that grows, one row of edges at a time. A [View] shares all data with the rows. A
// change copies the rows that it changes and their pages, once per view, so that views never
// change:
//
//	Rows  pages ─┬─▶ page 0 ◀─┬─ pages  View       after an edge of node 300: page 1 and the
//	             ├─▶ page 1'  ├─▶ page 1            rows of its ends are new, the other pages
//	             └─▶ page 2 ◀─┘                     and rows belong to both
//
// A change costs the length of the rows at its ends, [Rows.Freeze] eight bytes per page. Only one
// goroutine at a time may use Rows.
type Rows struct {
	n, size, active int
	pages           []*page
	epoch           uint64 // incremented by each view; a page or row with another epoch is shared
}

// page holds the rows of consecutive nodes. If its epoch is not that of Rows, a view shares the page, and
// a change must copy it first.
type page struct {
	epoch uint64
	rows  [pageSize]*row // nil for a node without data
}

// A row holds all data of a node. Its slices are never written to.
type row struct {
	epoch   uint64
	out     []int32
	weight  []float64
	count   []uint64
	in      []int32
	nbr     []int32
	inverse float64
	loop    Edge
	hasLoop bool
}

var noRow row

// NewRows returns rows with the edges of g, whose lists they share.
func NewRows(g *Graph) *Rows {
	r := &Rows{epoch: 1}
	r.Grow(g.n)
	r.size, r.active = len(g.out), g.active
	rows := make([]row, g.n)
	for u := range rows {
		node := int32(u)
		loop, hasLoop := g.Loop(node)
		out, weight := g.Out(node)
		in, _ := g.In(node)
		rows[u] = row{0, out, weight, g.Counts(node), in, g.Neighbours(node), g.inverse[u], loop, hasLoop}
		r.pages[u/pageSize].rows[u%pageSize] = &rows[u]
	}
	return r
}

// Grow raises the number of nodes to n, if it is smaller.
func (r *Rows) Grow(n int) {
	r.n = max(r.n, min(n, math.MaxInt32))
	for len(r.pages)*pageSize < r.n {
		r.pages = append(r.pages, &page{epoch: r.epoch})
	}
}

// Freeze returns a view of the current graph.
func (r *Rows) Freeze() *View {
	r.epoch++
	return &View{n: r.n, size: r.size, active: r.active, pages: slices.Clone(r.pages)}
}

// own returns a writable row of u: it copies the page and the row if a view shares them.
func (r *Rows) own(u int32) *row {
	at := &r.pages[u/pageSize]
	if (*at).epoch != r.epoch {
		copied := **at
		copied.epoch = r.epoch
		*at = &copied
	}
	to := &(*at).rows[u%pageSize]
	switch {
	case *to == nil:
		*to = &row{epoch: r.epoch}
	case (*to).epoch != r.epoch:
		copied := **to
		copied.epoch = r.epoch
		*to = &copied
	}
	return *to
}

// SetRow replaces the edges of u by the given ones, which all start at u, in any order. Equal pairs
// are added as in [New]. It rewrites the row of u and of every node that becomes a target of u or
// is one no longer.
func (r *Rows) SetRow(u int32, edges []Edge) error {
	if u < 0 || int(u) >= r.n {
		return fmt.Errorf("graph: row of node %d, which is not one of the %d nodes", u, r.n)
	}
	for _, e := range edges {
		if err := check(e, r.n); err != nil {
			return fmt.Errorf("graph: edge %d → %d, weight %v: %w", e.From, e.To, e.Weight, err)
		}
		if e.From != u {
			return fmt.Errorf("graph: edge %d → %d in the row of node %d", e.From, e.To, u)
		}
	}
	row := r.own(u)
	old := row.out
	row.out, row.weight, row.count = make([]int32, 0, len(edges)), make([]float64, 0, len(edges)), make([]uint64, 0, len(edges))
	row.loop, row.hasLoop = Edge{}, false
	for _, e := range merged(slices.Clone(edges)) {
		if e.From == e.To {
			row.loop, row.hasLoop = e, true
			continue
		}
		row.out, row.weight, row.count = append(row.out, e.To), append(row.weight, e.Weight), append(row.count, e.Count)
	}
	r.size += len(row.out) - len(old)
	i, j := 0, 0
	for i < len(old) || j < len(row.out) {
		switch {
		case j == len(row.out) || i < len(old) && old[i] < row.out[j]: // removed
			gone := old[i]
			i++
			v := r.own(gone)
			at, _ := slices.BinarySearch(v.in, u)
			v.in = without(v.in, at)
			if _, back := slices.BinarySearch(v.out, u); !back {
				r.part(row, gone)
				r.part(v, u)
			}
		case i == len(old) || row.out[j] < old[i]: // added
			target := row.out[j]
			j++
			v := r.own(target)
			at, _ := slices.BinarySearch(v.in, u)
			v.in = with(v.in, at, u)
			r.meet(row, target)
			r.meet(v, u)
		default:
			i, j = i+1, j+1
		}
	}
	return nil
}

// meet adds v to the neighbours of u.
func (r *Rows) meet(u *row, v int32) {
	at, known := slices.BinarySearch(u.nbr, v)
	if known {
		return
	}
	if len(u.nbr) == 0 {
		r.active++
	}
	u.nbr = with(u.nbr, at, v)
	u.inverse = inverseOfDegree(len(u.nbr))
}

// part removes v from the neighbours of u.
func (r *Rows) part(u *row, v int32) {
	at, _ := slices.BinarySearch(u.nbr, v)
	u.nbr = without(u.nbr, at)
	if len(u.nbr) == 0 {
		r.active--
	}
	u.inverse = inverseOfDegree(len(u.nbr))
}

func inverseOfDegree(degree int) float64 {
	if degree < 2 {
		return 0
	}
	return inverseLog(degree)
}

// with returns a copy of list with x inserted before position i.
func with[T any](list []T, i int, x T) []T {
	grown := make([]T, len(list)+1)
	copy(grown, list[:i])
	grown[i] = x
	copy(grown[i+1:], list[i:])
	return grown
}

// without returns a copy of list without the element at position i.
func without[T any](list []T, i int) []T {
	return slices.Concat(list[:i], list[i+1:])
}
