package spectral

import (
	"math"
	"slices"

	"waymark/internal/numeric"
)

// An embedding has a row of k vector components for every row and column of H in a component that
// the vectors reach: those of component 0, rows first, then those of component 1 and so on.
type embedding struct {
	components
	reached []bool
	n, k    int
	x       []float64
	sigma   []float64
	root    []float64 // of each row, the inverse root of its raised degree
}

// embed takes the vectors of the first k triplets.
func (s *spectrum) embed(k int) embedding {
	e := embedding{components: s.components, reached: make([]bool, len(s.parts)), k: k}
	columns := make([][]int, len(s.parts))
	for t, l := range s.all[:k] {
		e.sigma = append(e.sigma, l.sigma)
		columns[l.part] = append(columns[l.part], t)
		if !e.reached[l.part] {
			e.reached[l.part] = true
			e.n += len(s.parts[l.part].rows) + len(s.parts[l.part].cols)
		}
	}
	at := 0
	for c, ts := range columns {
		if ts == nil {
			continue
		}
		e.root = append(append(e.root, s.parts[c].rowRoot...), s.parts[c].colRoot...)
		both := s.solvers[c].vectors(len(ts))
		if both.n == e.n { // the only component
			e.x = both.x
			break
		}
		if e.x == nil {
			e.x = make([]float64, e.n*k)
		}
		into := e.x[at*k : (at+both.n)*k]
		spread(both.n, 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				row := into[i*k : (i+1)*k]
				for j, x := range both.at(i) {
					row[ts[j]] = x
				}
			}
		})
		at += both.n
	}
	return e
}

// A scaling is how long the rows of an embedding are for k-means.
type scaling int

const (
	unit     scaling = iota // all of length 1: little used tools count as much as hubs
	half                    // the root of their length: rows that hardly belong anywhere pull less
	byDegree                // divided by the root of the degree (Shi and Malik 2000, Dhillon 2001)
)

// points are the first k components of each row. Where all rows are made as long, each vector is
// weighted by its singular value, so that those near the noise count less.
func (e embedding) points(k int, s scaling) points {
	p := points{n: e.n, dim: k, x: make([]float64, e.n*k), squares: make([]float64, e.n)}
	spread(e.n, 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := p.at(i)
			copy(x, e.x[i*e.k:])
			if s == unit {
				for j, sigma := range e.sigma[:k] {
					x[j] *= sigma
				}
			}
			length := numeric.Norm(x)
			switch {
			case length == 0:
			case s == unit:
				scale(1/length, x)
			case s == half:
				scale(1/math.Sqrt(length), x)
			case s == byDegree:
				scale(e.root[i], x)
			}
			p.squares[i] = numeric.Dot(x, x)
		}
	})
	if s != unit { // so that the mean square is 1
		mean := numeric.Sum(p.squares) / float64(max(p.n, 1))
		if mean > 0 {
			scale(1/math.Sqrt(mean), p.x)
			scale(1/mean, p.squares)
		}
	}
	return p
}

// label runs k-means on the rows of the first k vectors. The first vector of a component is
// positive everywhere, so a row is zero only where no vector reaches its component; all such rows
// are not one cluster, but one for each component.
func (e embedding) label(k int, s scaling, o Options, H Matrix) clustering {
	c := clustering{rows: unlabelled(H.Rows), cols: unlabelled(H.Cols)}
	var labels []int32
	if e.n > 0 {
		labels = kmeans(e.points(k, s), k, o.Seed)
	}
	next, own := 0, int32(k)
	for i, p := range e.parts {
		for _, side := range []struct{ of, label []int32 }{{p.rows, c.rows}, {p.cols, c.cols}} {
			for _, v := range side.of {
				if !e.reached[i] {
					side.label[v] = own
				} else {
					side.label[v] = labels[next]
					next++
				}
			}
		}
		if !e.reached[i] {
			own++
		}
	}
	c.k = canonicalBoth(c.rows, c.cols)
	c.quality = modularity(H, c.rows, c.cols)
	return c
}

// A clustering is one candidate for the answer.
type clustering struct {
	rows, cols []int32
	k          int
	quality    float64
}

// canonicalBoth numbers the labels of rows and columns together.
func canonicalBoth(rows, cols []int32) int {
	both := append(slices.Clone(rows), cols...)
	k := canonical(both)
	copy(rows, both)
	copy(cols, both[len(rows):])
	return k
}

func unlabelled(n int) []int32 { return slices.Repeat([]int32{-1}, n) }
