package spectral

import (
	"math"

	"waymark/internal/sparse"
)

// normalised divides H by the square roots of its raised degrees, component by component. Rows and
// columns without weight stay out, also of the mean degrees: they change nothing.
func normalised(H Matrix, tau float64) components {
	largest := 0.0
	for _, w := range H.Weight {
		largest = max(largest, w)
	}
	if largest == 0 {
		return components{}
	}
	// The largest weight becomes 1, so that no degree overflows; what then is 0 is no entry.
	weight := make([]float64, len(H.Weight))
	rowDegree, colDegree := make([]float64, H.Rows), make([]float64, H.Cols)
	rowCount, colCount := make([]int32, H.Rows+1), make([]int32, H.Cols+1)
	for i := range H.Rows {
		for e := H.Start[i]; e < H.Start[i+1]; e++ {
			w := H.Weight[e] / largest
			weight[e] = w
			if w > 0 {
				rowDegree[i] += w
				colDegree[H.Col[e]] += w
				rowCount[i+1]++
				colCount[H.Col[e]+1]++
			}
		}
	}
	invert(rowDegree, tau)
	invert(colDegree, tau)
	sparse.Accumulate(rowCount)
	sparse.Accumulate(colCount)
	colRow := make([]int32, colCount[H.Cols])
	next := append([]int32(nil), colCount...)
	for i := range H.Rows {
		for e := H.Start[i]; e < H.Start[i+1]; e++ {
			if weight[e] > 0 {
				c := H.Col[e]
				colRow[next[c]] = int32(i)
				next[c]++
			}
		}
	}
	var g components
	local := make([]int32, H.Cols) // number of a column within its component
	for _, p := range connected(H, weight, rowDegree, colCount, colRow) {
		for j, c := range p.cols {
			local[c] = int32(j)
		}
		start := make([]int32, 1, len(p.rows)+1)
		var col []int32
		var val []float64
		for _, i := range p.rows {
			for e := H.Start[i]; e < H.Start[i+1]; e++ {
				if c := H.Col[e]; weight[e] > 0 {
					col = append(col, local[c])
					val = append(val, float64(float64(weight[e]*rowDegree[i])*colDegree[c]))
				}
			}
			start = append(start, int32(len(col)))
		}
		p.rowRoot, p.colRoot = members(rowDegree, p.rows), members(colDegree, p.cols)
		p.a = newTwoSided(Matrix{Rows: len(p.rows), Cols: len(p.cols), Start: start, Col: col, Weight: val})
		g.parts = append(g.parts, p)
	}
	return g
}

func members(of []float64, ids []int32) []float64 {
	out := make([]float64, len(ids))
	for i, id := range ids {
		out[i] = of[id]
	}
	return out
}

// invert turns degrees d into (d + τ·mean)^-½; those of 0 stay 0.
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

// connected returns the components in the order of their first rows, members in increasing order.
func connected(H Matrix, weight, rowDegree []float64, colStart, colRow []int32) []part {
	rowPart, colPart := unlabelled(H.Rows), unlabelled(H.Cols)
	n := int32(0)
	var stack []int32
	for first := range int32(H.Rows) {
		if rowPart[first] >= 0 || rowDegree[first] == 0 {
			continue
		}
		rowPart[first] = n
		for stack = append(stack[:0], first); len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for e := H.Start[i]; e < H.Start[i+1]; e++ {
				c := H.Col[e]
				if weight[e] == 0 || colPart[c] >= 0 {
					continue
				}
				colPart[c] = n
				for _, j := range colRow[colStart[c]:colStart[c+1]] {
					if rowPart[j] < 0 {
						rowPart[j] = n
						stack = append(stack, j)
					}
				}
			}
		}
		n++
	}
	parts := make([]part, n)
	for i, p := range rowPart {
		if p >= 0 {
			parts[p].rows = append(parts[p].rows, int32(i))
		}
	}
	for j, p := range colPart {
		if p >= 0 {
			parts[p].cols = append(parts[p].cols, int32(j))
		}
	}
	return parts
}
