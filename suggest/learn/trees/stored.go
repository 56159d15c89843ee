package trees

import "waymark/internal/codec"

// Write writes the model for [Read].
func (m *Model) Write(w *codec.Writer) {
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

// mostDepth bounds the memory that explanations of a stored model take.
const mostDepth = 8

// Read reads what [Model.Write] wrote, of a model of so many features. What is damaged fails r.
func Read(r *codec.Reader, features int) *Model {
	m := &Model{features: features}
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
