package learn

import (
	"cmp"

	"waymark/internal/numeric"
)

// Neighbour is a row and its similarity: the cosine, in (0, 1].
type Neighbour struct {
	Row        int32
	Similarity float64
}

// Nearest finds the rows most similar to a vector. It is immutable and safe for concurrent use.
type Nearest struct {
	rows int
	post [][]posting // by feature
}

// posting is a row that has a feature, with its value there.
type posting struct {
	row   int32
	value float64
}

// NewNearest indexes rows whose features are below features.
func NewNearest(rows []Vector, features int) *Nearest {
	ix := &Nearest{rows: len(rows), post: make([][]posting, features)}
	for i, x := range rows {
		for k, f := range x.I {
			ix.post[f] = append(ix.post[f], posting{int32(i), x.V[k]})
		}
	}
	return ix
}

// Of returns the k rows most similar to x, by falling similarity and then by number. Rows without a common feature are
// left out.
func (ix *Nearest) Of(x Vector, k int) []Neighbour {
	score := make([]float64, ix.rows)
	var met []int32
	for j, f := range x.I {
		for _, p := range ix.post[f] {
			if score[p.row] == 0 {
				met = append(met, p.row)
			}
			score[p.row] += float64(x.V[j] * p.value)
		}
	}
	var top []Neighbour
	for _, row := range met {
		top = numeric.Keep(top, k, Neighbour{row, score[row]}, nearer)
	}
	return top
}

func nearer(a, b Neighbour) int {
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.Row, b.Row))
}
