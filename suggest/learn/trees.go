// Package learn holds the models that package rank is built from. Requests become vectors of words ([Vocabulary]).
// [Nearest] finds the nearest of them, and [Ridge], one linear model per label, predicts from them the tools that a
// task uses. Boosted trees ([FitTrees]) and logistic regression ([FitLogit]) combine features, curves ([FitCurve])
// calibrate probabilities, and [Size], [Path], [Links] and [Order] turn probabilities into a plan:
//
//	texts ──▶ Vocabulary ──▶ Vector ──┬─▶ Ridge     one linear model a label, all fitted at once
//	                                  └─▶ Nearest   the texts most like a new one
//
// Everything is exact or greedy over fixed orders: equal inputs give equal bits at any number of processors.
package learn

import (
	"cmp"
	"sync"

	"waymark/internal/codec"
)

// Rows holds the training data of a model. It must not change after the first fit. Feature f of row i is
// Values[i·Features + f]; no value may be NaN.
type Rows struct {
	Features int
	Values   []float32
	Right    []float32 // by row, the target in [0, 1]: the share of the row that is right
	Weight   []float32 // by row, or by question if there are questions; nil: 1 each
	Rising   []bool    // by feature, whether a higher value must never lower the score; nil: none
	Margin   []float32 // by row, the score that the fit starts from, in log-odds; nil: 0
	// Questions holds the index of the first row of each question, in increasing order from 0. nil: each row stands alone.
	// A question without a right row teaches nothing.
	Questions []int32

	cuts   [][]float32 // by feature, the upper ends of all bins but the last; nil before the first fit
	binned []uint8     // by feature and row
}

// column returns the bins of a feature, by row.
func (r *Rows) column(feature int) []uint8 { return r.binned[feature*r.Len() : (feature+1)*r.Len()] }

func (r *Rows) rises(feature int) bool { return r.Rising != nil && r.Rising[feature] }

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Right) }

// TreeOptions are the options of a fit. The defaults were chosen by cross-validation on training data.
type TreeOptions struct {
	Trees      int     // number of trees, default 120
	Depth      int     // maximum number of splits on the way to a leaf, default 5
	LeafWeight float64 // minimum sum of second derivatives in a leaf, default 6
}

const (
	rate     = .1 // learning rate: each tree counts by this factor
	penalty  = 3. // λ: L2 penalty of the values of leaves
	rowShare = .8 // share of rows or questions that a tree is fitted on
	colShare = .7 // share of features that a tree may use
)

func (o TreeOptions) orDefaults() TreeOptions {
	return TreeOptions{cmp.Or(max(o.Trees, 0), 120), cmp.Or(max(o.Depth, 0), 5), cmp.Or(max(o.LeafWeight, 0), 6)}
}

// node is a split, or a leaf if feature is negative. The children of a split are the nodes left and left + 1: a row
// goes to left if its value is at most the threshold.
type node struct {
	feature   int32
	left      int32
	threshold float32
	value     float32 // of a leaf, in log-odds
	cover     float32 // number of training rows that reached the node
}

// Trees is a sum of trees. It is immutable and safe for concurrent use.
type Trees struct {
	features int
	trees    [][]node
	expected float64 // mean score of the training rows

	once   sync.Once
	leaves []leaf // see readLeaves
}

// expect sets the mean score of the training rows.
func (m *Trees) expect() {
	m.expected = 0
	for _, t := range m.trees {
		sum := 0.0
		for i := range t {
			if t[i].feature < 0 {
				sum += float64(float64(t[i].cover) * float64(t[i].value))
			}
		}
		if t[0].cover > 0 {
			m.expected += sum / float64(t[0].cover)
		}
	}
}

// Score returns the sum of the leaves that a row reaches, in log-odds.
func (m *Trees) Score(row []float32) float64 {
	sum := 0.0
	for _, t := range m.trees {
		sum += float64(reached(t, row))
	}
	return sum
}

// reached returns the value of the leaf that a row reaches.
func reached(t []node, row []float32) float32 {
	i := int32(0)
	for t[i].feature >= 0 {
		right := int32(0)
		if row[t[i].feature] > t[i].threshold {
			right = 1
		}
		i = t[i].left + right
	}
	return t[i].value
}

const (
	bins       = 64
	mostSorted = 20_000 // approximate number of rows that the bins of a feature are chosen from
	leastBend  = 1e-4   // minimum second derivative of a row
)

// Len returns the number of trees.
func (m *Trees) Len() int { return len(m.trees) }

// questions returns the number of questions. A row that stands alone counts as one.
func (r *Rows) questions() int {
	if r.Questions == nil {
		return r.Len()
	}
	return len(r.Questions)
}

// Question returns the range of the rows of question q.
func (r *Rows) Question(q int) (from, to int) {
	if r.Questions == nil {
		return q, q + 1
	}
	to = r.Len()
	if q+1 < len(r.Questions) {
		to = int(r.Questions[q+1])
	}
	return int(r.Questions[q]), to
}

// Write writes the model for [ReadTrees].
func (m *Trees) Write(w *codec.Writer) {
	w.Uint(uint64(m.features))
	w.Uint(uint64(len(m.trees)))
	for _, t := range m.trees {
		w.Uint(uint64(len(t)))
		for _, n := range t {
			w.Int(int64(n.feature))
			w.Uint(uint64(n.left))
			w.Float(float64(n.threshold))
			w.Float(float64(n.value))
			w.Float(float64(n.cover))
		}
	}
}

// mostDepth limits the depth of a stored tree, and with it the memory that explanations take.
const mostDepth = 8

// ReadTrees reads the output of [Trees.Write] for a model of the given number of features. Damaged input makes r fail.
func ReadTrees(r *codec.Reader, features int) *Trees {
	m := &Trees{features: features}
	if n := r.Uint(); n != uint64(features) {
		r.Fail("trees of %d features, where there are %d", n, features)
	}
	for range r.Len(1) {
		t := make([]node, r.Len(5))
		above := make([]int, len(t)) // by node, the splits above it
		for i := range t {
			n := node{feature: int32(r.Int()), left: int32(r.Uint()), threshold: float32(r.Float()), value: float32(r.Float()), cover: float32(r.Float())}
			if int(n.feature) >= features || n.feature >= 0 && (int(n.left) <= i || int(n.left)+1 >= len(t)) {
				r.Fail("node %d of a tree of %d splits by feature %d into node %d", i, len(t), n.feature, n.left)
				return m
			}
			if t[i] = n; n.feature >= 0 {
				above[n.left], above[n.left+1] = above[i]+1, above[i]+1
			}
			if above[i] > mostDepth {
				r.Fail("a tree of more than %d splits on the way to a leaf", mostDepth)
				return m
			}
		}
		if len(t) == 0 {
			r.Fail("a tree without nodes")
			return m
		}
		m.trees = append(m.trees, t)
	}
	m.expect()
	return m
}
