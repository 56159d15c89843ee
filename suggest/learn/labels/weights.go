package labels

import (
	"math"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

const (
	mostDense  = 10_000_000 // weights of a dense matrix: 40 MB. A bound of 4,000,000 costs plans .014 Node-F1 on n8n, .005 on ultratool
	mostSparse = 2_000_000  // weights of a sparse one, at most: 16 MB with their labels
)

// weights is a matrix of features × labels. One of more than mostDense entries is sparse: it keeps for each label the
// weights of largest magnitude, mostSparse/labels at most, because the memory of a dense one grows with the product of words
// and tools (290 MB for 10,000 tools) while most of its entries are near 0.
type weights struct {
	labels int
	dense  []float32 // row by row

	start  []int32 // of each feature's entries in label and value, one more at the end; nil: dense
	label  []int32 // increasing within a feature
	value  []float32
	column [][]entry // while fitting a sparse matrix: by label, increasing features
}

// entry is one weight of a label.
type entry struct {
	feature int32
	value   float32
}

// newWeights chooses the form by size alone, so that equal data have equal forms.
func newWeights(features, labels int) *weights {
	w := &weights{labels: labels}
	if features*labels <= mostDense {
		w.dense = make([]float32, features*labels)
	} else {
		w.column = make([][]entry, labels)
	}
	return w
}

// set stores the weights of a label, one per feature; labels may be set concurrently.
func (w *weights) set(label int, column []float32) {
	if w.dense != nil {
		for f, x := range column {
			w.dense[f*w.labels+label] = x
		}
		return
	}
	least := leastOf(column, max(mostSparse/w.labels, 1))
	var kept []entry
	for f, x := range column {
		if x != 0 && math.Float32bits(x)&^(1<<31)>>magnitudeShift >= least {
			kept = append(kept, entry{int32(f), x})
		}
	}
	w.column[label] = slices.Clip(kept)
}

// magnitudeShift leaves the exponent and four bits of the fraction of a float32: classes of magnitude 3 to 6 % apart.
const magnitudeShift = 19

// leastOf returns the smallest class of magnitude such that at most n values are in it or above.
func leastOf(x []float32, n int) uint32 {
	var count [1 << (31 - magnitudeShift)]int
	for _, v := range x {
		count[math.Float32bits(v)&^(1<<31)>>magnitudeShift]++
	}
	for class := len(count) - 1; class >= 0; class-- {
		if n -= count[class]; n < 0 {
			return uint32(class + 1)
		}
	}
	return 0
}

// finish turns the columns of a sparse matrix into rows.
func (w *weights) finish(features int) {
	if w.column == nil {
		return
	}
	w.start = make([]int32, features+1)
	for _, column := range w.column {
		for _, e := range column {
			w.start[e.feature+1]++
		}
	}
	for f := range features {
		w.start[f+1] += w.start[f]
	}
	next := slices.Clone(w.start)
	w.label, w.value = make([]int32, w.start[features]), make([]float32, w.start[features])
	for l, column := range w.column {
		for _, e := range column {
			at := next[e.feature]
			w.label[at], w.value[at] = int32(l), e.value
			next[e.feature]++
		}
	}
	w.column = nil
}

// round keeps eight bits of a weight where there are many.
func (w *weights) round() {
	codec.Round(w.value)
	codec.Round(w.dense)
}

// add adds x times the weights of a feature to s, which has an element a label.
func (w *weights) add(s []float64, feature int32, x float64) {
	if w.start == nil {
		numeric.Axpy32(x, w.dense[int(feature)*w.labels:(int(feature)+1)*w.labels], s)
		return
	}
	for k := w.start[feature]; k < w.start[feature+1]; k++ {
		s[w.label[k]] += float64(x * float64(w.value[k]))
	}
}
