package learn

import (
	"math"
	"slices"

	"waymark/internal/numeric"
)

// gradient packs both derivatives of the loss of a row with respect to its score: the first one times 2³² plus the
// second one, both as multiples of 1/unit, so that one addition adds both.
type gradient int64

// measure chooses unit: the largest power of two up to 2¹⁴ for which no sum of derivatives overflows 32 bits. The
// derivatives of rows that stand alone add up to at most their weights, those of a question to at most twice its
// weight, and each is rounded by at most half a unit.
func (f *fit) measure() {
	total := 0.0
	for i := range f.rows.questions() {
		total += 2 * weight(f.rows.Weight, i)
	}
	f.unit = 1 << 14
	for float64(total*f.unit)+float64(f.rows.Len()) >= 1<<31 {
		f.unit /= 2
	}
}

func (f *fit) gradient(first, second float64) gradient {
	return gradient(int64(math.Round(first*f.unit))<<32 + int64(math.Round(second*f.unit)))
}

// second returns the second derivative times unit, which is never negative.
func (g gradient) second() int64 { return int64(uint32(g)) }

func (f *fit) parts(g gradient) (first, second float64) {
	return float64(float64(int64(g)>>32) / f.unit), float64(float64(g.second()) / f.unit) // no fused multiplication with the inverse
}

// gain returns G²/(H + λ), twice the loss that a leaf with these rows removes.
func (f *fit) gain(g gradient) float64 {
	first, second := f.parts(g)
	return float64(first*first) / (second + penalty)
}

// fit is the state of one fit.
type fit struct {
	TreeOptions
	rows  *Rows
	held  []bool // by row, or by question if there are questions, whether it is held out; nil: none
	score []float64
	odds  []float64  // e^(score - largest score of the question)
	unit  float64    // number of steps per unit of a derivative
	slope []gradient // by row; only those of drawn rows are current
	order []int32    // the rows, node by node
	spare []int32    // see divide
}

// patience is the number of trees without a lower held-out loss after which a fit stops.
const patience = 30

// FitTrees fits gradient-boosted decision trees.
//
//	rows × features ──▶ 64 bins a feature ──▶ tree after tree on the gradients ──▶ Trees ──┬─▶ Score: Σ leaves
//	                                                                                       └─▶ Contributions (TreeSHAP)
//
// With questions the model is conditional: each right row of a question competes with the wrong ones. If one row is
// right, the chance of a row is exp(score)/Σ exp(scores of the question). Without questions, each row has a probability
// of its own, 1/(1 + exp(-score)). A fit may start from a margin, the score of an earlier model, and then learns only
// the correction.
//
// Example: with one feature x, two rows of a question, x = 0 and x = 1, and the second one right, the first tree has the
// split x ≤ 0 and gives the right side a higher score; more such questions make the difference larger.
//
// Gradients are integers, so sums do not depend on their order: the same rows give the same trees on any machine and at any
// number of processors.
//
// held marks the rows, or the questions if there are any, that are held out; nil: none. The model then has the number
// of trees, at most o.Trees and possibly 0, with the lowest held-out loss. FitTrees returns nil soon after stop, which
// may be nil, returns true.
func FitTrees(rows *Rows, held []bool, o TreeOptions, stop func() bool) *Trees {
	n := rows.Len()
	f := &fit{held: held, TreeOptions: o.orDefaults(), rows: rows, score: make([]float64, n), odds: make([]float64, n),
		slope: make([]gradient, n), order: make([]int32, n), spare: make([]int32, n)}
	for i := range rows.Margin {
		f.score[i] = float64(rows.Margin[i])
	}
	if rows.cuts == nil {
		rows.bin()
	}
	f.measure()
	m, best, lowest := &Trees{features: rows.Features}, 0, f.loss()
	for t := range f.Trees {
		if stop != nil && stop() {
			return nil
		}
		tree := f.grow(uint64(t))
		if len(tree) == 1 && tree[0].value == 0 {
			break // nothing is left to learn
		}
		m.trees = append(m.trees, tree)
		if held != nil {
			if loss := f.loss(); loss < lowest {
				lowest, best = loss, t+1
			} else if t+1 >= best+patience {
				break
			}
		}
	}
	if held != nil {
		m.trees = m.trees[:best:best]
	}
	m.expect()
	return m
}

// loss returns the sum of the held-out losses; 0 if nothing is held out.
func (f *fit) loss() (sum float64) {
	for i, held := range f.held {
		switch r := f.rows; {
		case !held:
		case r.Questions == nil:
			p := 1 / (1 + numeric.Exp(-max(-30, min(30, f.score[i]))))
			sum -= float64(weight(r.Weight, i) * numeric.Ln(max(1e-9, float64(p*float64(r.Right[i]))+float64((1-p)*(1-float64(r.Right[i]))))))
		default:
			sum += float64(weight(r.Weight, i) * f.lost(i))
		}
	}
	return sum
}

// inChunks calls f for consecutive parts of 0 … n-1, on all processors.
func inChunks(n int, f func(from, to int)) {
	const chunk = 512
	numeric.Each((n+chunk-1)/chunk, func(c int) { f(c*chunk, min(n, (c+1)*chunk)) })
}

// bin chooses the cuts of each feature, so that bins hold about the same number of rows, and finds the bin of each value.
func (r *Rows) bin() {
	n, features := r.Len(), r.Features
	r.cuts, r.binned = make([][]float32, features), make([]uint8, n*features)
	var some []int // a random sample: rows at equal distances may have equal places in their questions
	for i := range n {
		if float64(chance('b', 0, uint64(i))*float64(n)) < mostSorted {
			some = append(some, i)
		}
	}
	numeric.Each(features, func(j int) {
		sorted := make([]float32, 0, len(some))
		for _, i := range some {
			sorted = append(sorted, r.Values[i*features+j])
		}
		slices.Sort(sorted)
		distinct := slices.Compact(slices.Clone(sorted))
		if len(distinct) <= bins {
			r.cuts[j] = distinct[:max(0, len(distinct)-1)]
		} else {
			for b := 1; b < bins; b++ {
				r.cuts[j] = append(r.cuts[j], sorted[b*len(sorted)/bins])
			}
			r.cuts[j] = slices.Compact(r.cuts[j])
			if last := len(r.cuts[j]) - 1; last >= 0 && r.cuts[j][last] == distinct[len(distinct)-1] {
				r.cuts[j] = r.cuts[j][:last]
			}
		}
	})
	inChunks(n, func(from, to int) {
		for j := range features {
			column, at := r.column(j), 0
			for i := from; i < to; i++ {
				v := r.Values[i*features+j]
				if i == from || v != r.Values[(i-1)*features+j] {
					at, _ = slices.BinarySearch(r.cuts[j], v)
				}
				column[i] = uint8(at)
			}
		}
	})
}

// lost returns the loss of a question: the mean over its right rows of -ln(e^s / (e^s + W)), where W = Σ e^s of the
// wrong rows. Right rows do not compete with each other.
func (f *fit) lost(q int) (loss float64) {
	wrong, right := f.compete(q)
	for i, to := f.rows.Question(q); i < to; i++ {
		if e := f.odds[i]; f.rows.Right[i] > 0 {
			loss += numeric.Ln(max(1e-300, e+wrong)) - numeric.Ln(max(1e-300, e))
		}
	}
	return loss / right
}

// compete sets the odds of the rows of a question. It returns the sum of those of the wrong rows, and the number of
// right rows, at least 1.
func (f *fit) compete(q int) (wrong, right float64) {
	from, to := f.rows.Question(q)
	best := slices.Max(f.score[from:to])
	for i := from; i < to; i++ {
		f.odds[i] = numeric.Exp(f.score[i] - best)
		if f.rows.Right[i] > 0 {
			right++
		} else {
			wrong += f.odds[i]
		}
	}
	return wrong, max(1, right)
}

// derive sets the derivatives of the loss of a question, or of a row that stands alone, at the current scores.
func (f *fit) derive(q int) {
	r := f.rows
	if r.Questions == nil {
		p, w := 1/(1+numeric.Exp(-max(-30, min(30, f.score[q])))), weight(r.Weight, q)
		f.slope[q] = f.gradient(w*(p-float64(r.Right[q])), w*max(float64(p*(1-p)), leastBend))
		return
	}
	from, to := r.Question(q)
	wrong, right := f.compete(q)
	each := weight(r.Weight, q) / right
	var shares, squares float64 // Σ 1/(e^s + W) and Σ 1/(e^s + W)² of the right rows
	for i := from; i < to; i++ {
		if r.Right[i] > 0 {
			e := f.odds[i]
			p, share := e/(e+wrong), 1/(e+wrong)
			shares += share
			squares += float64(share * share)
			f.slope[i] = f.gradient(each*(p-1), each*max(float64(p*(1-p)), leastBend))
		}
	}
	for i := from; i < to; i++ {
		if e := f.odds[i]; r.Right[i] == 0 {
			first := float64(e * shares)
			f.slope[i] = f.gradient(each*first, each*max(first-float64(float64(e*e)*squares), leastBend))
		}
		if shares == 0 { // no row is right
			f.slope[i] = 0
		}
	}
}

func weight(w []float32, i int) float64 {
	if w == nil {
		return 1
	}
	return float64(w[i])
}

// chance returns a pseudo-random number in [0, 1) that depends on its arguments alone (the mixer of SplitMix64).
func chance(kind byte, tree, i uint64) float64 {
	x := i*0x9e3779b97f4a7c15 ^ tree*0xd1b54a32d192ed03 ^ uint64(kind)<<56
	for range 2 {
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

// part holds the rows in a node that may still be split.
type part struct {
	node  int32
	depth int
	rows  []int32    // those that the tree is fitted on
	rest  []int32    // the others
	sums  []gradient // of rows, by column and bin
	all   gradient

	least, most float64 // bounds of the values of the leaves below, before the learning rate
}

// draw draws the rows that a tree is fitted on and computes their derivatives.
func (f *fit) draw(tree uint64) (rows, rest []int32) {
	drawn := make([]bool, f.rows.questions())
	inChunks(len(drawn), func(from, to int) {
		for q := from; q < to; q++ {
			if drawn[q] = (f.held == nil || !f.held[q]) && chance('r', tree, uint64(q)) < rowShare; drawn[q] {
				f.derive(q)
			}
		}
	})
	rows, rest = f.order[:0], f.spare[:0]
	for q, drawn := range drawn {
		from, to := f.rows.Question(q)
		for i := from; i < to; i++ {
			if drawn && (f.rows.Questions == nil || f.slope[i] != 0) {
				rows = append(rows, int32(i))
			} else {
				rest = append(rest, int32(i))
			}
		}
	}
	return rows, append(rows, rest...)[len(rows):]
}

// grow fits one tree to the derivatives and adds its leaves to the scores of all rows.
func (f *fit) grow(tree uint64) []node {
	rows, rest := f.draw(tree)
	var columns []int
	for j := range f.rows.Features {
		if len(f.rows.cuts[j]) > 0 && chance('c', tree, uint64(j)) < colShare {
			columns = append(columns, j)
		}
	}
	root := part{rows: rows, rest: rest, sums: f.sum(rows, columns), least: math.Inf(-1), most: math.Inf(1)}
	for _, i := range rows {
		root.all += f.slope[i]
	}
	nodes := []node{f.leaf(root)}
	for open := []part{root}; len(open) > 0; open = open[1:] {
		p := open[0]
		feature, bin := -1, 0
		left, right := p, p
		if p.depth < f.Depth {
			feature, bin, left.all = f.split(p, columns)
		}
		if feature < 0 {
			for _, rows := range [][]int32{p.rows, p.rest} {
				for _, i := range rows {
					f.score[i] += float64(nodes[p.node].value)
				}
			}
			continue
		}
		left.depth, right.depth = p.depth+1, p.depth+1
		left.rows, right.rows = f.divide(p.rows, feature, bin)
		left.rest, right.rest = f.divide(p.rest, feature, bin)
		right.all = p.all - left.all
		if left.depth < f.Depth { // one side is summed, the other is the difference
			small, large := &left, &right
			if len(right.rows) < len(left.rows) {
				small, large = &right, &left
			}
			small.sums = f.sum(small.rows, columns)
			for k := range p.sums {
				p.sums[k] -= small.sums[k]
			}
			large.sums = p.sums
		}
		if f.rows.rises(feature) { // scores on the left stay below those on the right, whatever splits follow
			middle := (f.value(left) + f.value(right)) / 2
			left.most, right.least = middle, middle
		}
		left.node, right.node = int32(len(nodes)), int32(len(nodes)+1)
		nodes[p.node].feature, nodes[p.node].left = int32(feature), left.node
		nodes[p.node].threshold, nodes[p.node].value = f.rows.cuts[feature][bin], 0
		nodes = append(nodes, f.leaf(left), f.leaf(right))
		open = append(open, left, right)
	}
	return nodes
}

// leaf returns the node for rows that are not split.
func (f *fit) leaf(p part) node {
	return node{feature: -1, value: float32(rate * f.value(p)), cover: float32(len(p.rows))}
}

// value returns the leaf value that lowers the loss of the rows of a part most, within the bounds of the part.
func (f *fit) value(p part) float64 {
	return max(p.least, min(p.most, f.newton(p.all)))
}

func (f *fit) newton(g gradient) float64 {
	first, second := f.parts(g)
	return -first / (second + penalty)
}

const block = 4 // columns that one pass over the rows adds up

// sum adds up the derivatives of rows by column and bin.
func (f *fit) sum(rows []int32, columns []int) []gradient {
	blocks := (len(columns) + block - 1) / block
	sums := make([]gradient, blocks*block*bins)
	tasks := min(blocks, 1+len(rows)/2048)
	numeric.Each(tasks, func(task int) {
		for b := task; b < blocks; b += tasks {
			var bin [block][]uint8
			for k := range bin {
				bin[k] = f.rows.column(columns[min(b*block+k, len(columns)-1)])
			}
			add(sums[b*block*bins:], bin, f.slope, rows)
		}
	})
	return sums
}

// add adds the derivatives of rows to the sums of a block of columns.
func add(sums []gradient, columns [block][]uint8, slope []gradient, rows []int32) {
	to, n := (*[block * bins]gradient)(sums), len(slope)
	a, b, c, d := columns[0][:n], columns[1][:n], columns[2][:n], columns[3][:n]
	for _, i := range rows {
		g := slope[i]
		to[a[i]%bins] += g
		to[bins+int(b[i]%bins)] += g
		to[2*bins+int(c[i]%bins)] += g
		to[3*bins+int(d[i]%bins)] += g
	}
}

// split finds the split that lowers the loss most, the first one of equal ones, and the sum of its left side. The
// feature is -1 if there is none.
func (f *fit) split(p part, columns []int) (feature, bin int, side gradient) {
	least := int64(f.LeafWeight * f.unit)
	best := f.gain(p.all) + 1e-9
	feature = -1
	for k, j := range columns {
		left := gradient(0)
		for b := range f.rows.cuts[j] {
			left += p.sums[k*bins+b]
			right := p.all - left
			if left.second() < least {
				continue
			}
			if right.second() < least {
				break
			}
			if gain := f.gain(left) + f.gain(right); gain > best && !(f.rows.rises(j) && f.newton(left) > f.newton(right)) {
				best, feature, bin, side = gain, j, b, left
			}
		}
	}
	return feature, bin, side
}

// divide moves the rows above a split behind the others and keeps both orders.
func (f *fit) divide(rows []int32, feature, bin int) (left, right []int32) {
	n, column := 0, f.rows.column(feature)
	for k, i := range rows {
		rows[n], f.spare[k-n] = i, i
		if int(column[i]) <= bin { // compiled without a branch, which would often be predicted wrongly
			n++
		}
	}
	copy(rows[n:], f.spare)
	return rows[:n], rows[n:]
}
