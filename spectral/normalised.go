package spectral

import (
	"math"

	"waymark/internal/numeric"
)

// A part is a connected component of H with its normalised matrix, transposed if needed so that it has at least as many
// rows as columns. vertices are the rows and then the columns of this matrix; column j of H is vertex H.Rows + j.
type part struct {
	vertices     []int32
	byRow, byCol numeric.Matrix
}

// normalised divides H by the square roots of its raised degrees, component by component. Rows and columns without
// weight are left out, also of the mean degrees, so they do not affect the result. As τ is added to degrees only, the
// components stay separate, and the singular vectors of the whole are those of the components. Since each component is
// solved by itself, equal singular values of different components cannot mix.
func normalised(H numeric.Matrix, tau float64) []part {
	largest := 0.0
	for _, w := range H.Weight {
		largest = max(largest, w)
	}
	// The largest weight becomes 1, so that no degree overflows; a weight that becomes 0 is no entry.
	each := func(row int32, use func(vertex int32, weight float64)) {
		cols, weights := H.Row(row)
		for e, c := range cols {
			if w := weights[e] / largest; w > 0 {
				use(int32(H.Rows)+c, w)
			}
		}
	}
	root, joined := make([]float64, H.Rows+H.Cols), make([]int32, H.Rows+H.Cols)
	for v := range joined {
		joined[v] = int32(v)
	}
	for i := range int32(H.Rows) {
		each(i, func(v int32, w float64) {
			root[i] += w
			root[v] += w
			joined[find(joined, v)] = find(joined, i)
		})
	}
	invert(root[:H.Rows], tau)
	invert(root[H.Rows:], tau)
	var parts []part
	var rows []int // number of rows of each part
	number, local := map[int32]int{}, make([]int32, len(joined))
	for v := range joined {
		if root[v] == 0 {
			continue
		}
		r := find(joined, int32(v))
		p, known := number[r]
		if !known {
			p, number[r] = len(parts), len(parts)
			parts, rows = append(parts, part{}), append(rows, 0)
		}
		local[v] = int32(len(parts[p].vertices))
		parts[p].vertices = append(parts[p].vertices, int32(v))
		if v < H.Rows {
			rows[p]++
		}
	}
	for i := range parts {
		p, n := &parts[i], rows[i]
		m := numeric.Matrix{Rows: n, Cols: len(p.vertices) - n, Start: []int32{0}}
		for _, r := range p.vertices[:n] {
			each(r, func(v int32, w float64) {
				m.Col = append(m.Col, local[v]-int32(n))
				m.Weight = append(m.Weight, float64(float64(w*root[r])*root[v]))
			})
			m.Start = append(m.Start, int32(len(m.Col)))
		}
		p.byRow, p.byCol = m, m.Transposed()
		if m.Cols > m.Rows {
			p.byRow, p.byCol = p.byCol, p.byRow
			p.vertices = append(p.vertices[n:len(p.vertices):len(p.vertices)], p.vertices[:n]...)
		}
	}
	return parts
}

// find returns the representative of a vertex, and halves the path to it.
func find(joined []int32, v int32) int32 {
	for joined[v] != v {
		joined[v] = joined[joined[v]]
		v = joined[v]
	}
	return v
}

// invert turns degrees d into (d + τ·mean)^-½; degrees of 0 stay 0.
func invert(degree []float64, tau float64) {
	sum, n := 0.0, 0
	for _, d := range degree {
		if d > 0 {
			sum += d
			n++
		}
	}
	more := float64(tau * (sum / float64(max(n, 1))))
	for i, d := range degree {
		if d > 0 {
			degree[i] = 1 / math.Sqrt(d+more)
		}
	}
}

// times computes y = M·x: each y[i] is one sum in the order of the row, whichever processor computes it.
func times(m *numeric.Matrix, x, y []float64) {
	spread(len(y), 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			cols, weights := m.Row(int32(i))
			weights = weights[:len(cols)]
			s := 0.0
			for e, c := range cols {
				s += float64(weights[e] * x[c])
			}
			y[i] = s
		}
	})
}

// spread calls work on [0,n) in pieces of the given size, on all processors. Every number is written by the one call
// whose piece it is in, and pieces do not depend on the number of processors, so results do not depend on it either.
func spread(n, size int, work func(lo, hi int)) {
	if n <= size {
		work(0, n)
		return
	}
	numeric.Each((n+size-1)/size, func(i int) { work(i*size, min((i+1)*size, n)) })
}
