package learn

import (
	"math"
	"slices"
)

// Contributions adds to dst, by feature, the contribution of each value of a row to its score. Contributions are the
// Shapley values of a game in which the worth of a coalition of features is the mean score of the training rows that
// share their values, weighted by the number of rows on each branch (path-dependent TreeSHAP; Lundberg and others,
// Nature Machine Intelligence 2, 2020). It returns the expected score of any row; that and the contributions add up to
// [Trees.Score].
func (m *Trees) Contributions(dst []float64, row []float32) (expected float64) {
	m.Prepare()
	for _, l := range m.leaves {
		met := 0
		for i, f := range l.features {
			if x := row[f.feature]; x > f.above && x <= f.upTo {
				met |= 1 << i
			}
		}
		for i, x := range l.adds[met*len(l.features) : (met+1)*len(l.features)] {
			dst[l.features[i].feature] += x
		}
	}
	return m.expected
}

// leaf is a leaf with the features that decide whether a row reaches it. adds holds the contribution of each feature to
// the score of a row: one number per feature for each set of features whose values lead to the leaf, the set as bits.
type leaf struct {
	features []onPath
	adds     []float64
}

// onPath is a feature on the way to a leaf: the values that lead there, and the share of the rows that take this way,
// which applies if the value is unknown.
type onPath struct {
	feature     int32
	above, upTo float32
	share       float64
}

// Prepare does work in advance that the first explanation would wait for: 120 trees have up to 5 MB of leaves.
func (m *Trees) Prepare() { m.once.Do(m.readLeaves) }

// readLeaves lists the leaves of all trees.
func (m *Trees) readLeaves() {
	for _, t := range m.trees {
		m.leaves = appendLeaves(m.leaves, t, 0, nil)
	}
}

func appendLeaves(all []leaf, t []node, at int32, path []onPath) []leaf {
	n := &t[at]
	if n.feature < 0 {
		return append(all, leaf{path, shapley(path, float64(n.value))})
	}
	for side := range int32(2) {
		child, p := n.left+side, slices.Clone(path)
		i := slices.IndexFunc(p, func(f onPath) bool { return f.feature == n.feature })
		if i < 0 {
			i, p = len(p), append(p, onPath{n.feature, float32(math.Inf(-1)), float32(math.Inf(1)), 1})
		}
		if f := &p[i]; side == 0 {
			f.upTo = min(f.upTo, n.threshold)
		} else {
			f.above = max(f.above, n.threshold)
		}
		if p[i].share *= float64(t[child].cover); n.cover > 0 {
			p[i].share /= float64(n.cover)
		}
		all = appendLeaves(all, t, child, p)
	}
	return all
}

// shapley returns the contribution of each of d features to the score at a leaf, for each set met of features that lead
// to it:
//
//	Σ over S ⊆ met without i of |S|!·(d-1-|S|)!/d! · Π over j ∉ S, j ≠ i of share(j) · (1 - share(i) if i is met, else -share(i)) · value
//
// The sum over S is the sum over the powers |S| of the coefficients of Π (x + share(j)), in which x occurs only for j
// in met.
func shapley(path []onPath, value float64) []float64 {
	d := len(path)
	weight := make([]float64, d) // |S|!·(d-1-|S|)!/d!
	for k := range weight {
		if weight[k] = 1 / float64(d); k > 0 {
			weight[k] = weight[k-1] * float64(k) / float64(d-k)
		}
	}
	adds, sizes := make([]float64, d<<d), make([]float64, d)
	for met := range 1 << d {
		for i := range path {
			clear(sizes)
			sizes[0] = value
			for j, f := range path {
				for k := d - 1; j != i && k >= 0; k-- {
					if sizes[k] = float64(sizes[k] * f.share); k > 0 && met>>j&1 == 1 {
						sizes[k] += sizes[k-1]
					}
				}
			}
			sum := 0.0
			for k, w := range weight {
				sum += float64(w * sizes[k])
			}
			adds[met*d+i] = float64(sum * (float64(met>>i&1) - path[i].share))
		}
	}
	return adds
}
