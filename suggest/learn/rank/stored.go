package rank

import (
	"waymark/internal/codec"
	"waymark/suggest/learn"
)

// Write writes f for [ReadFitted].
func (f *Fitted) Write(w *codec.Writer) {
	for _, r := range []*ranker{&f.find, &f.needs, &f.next} {
		w.Float(r.start.bias)
		w.Float(r.start.slope)
		w.Uint(uint64(r.start.by))
		w.Float(r.familiar)
		r.trees.Write(w)
		w.Bool(r.sure != nil)
		if r.sure != nil {
			r.sure.Write(w)
		}
		r.curves[0].Write(w)
		r.curves[1].Write(w)
	}
	for _, j := range f.planner.judges() {
		j.trees.Write(w)
	}
	f.planner.sure.Write(w)
}

// ReadFitted reads the output of [Fitted.Write]. Damaged input makes r fail.
func ReadFitted(r *codec.Reader) *Fitted {
	f := &Fitted{}
	for _, k := range []*ranker{&f.find, &f.needs, &f.next} {
		k.start = start{bias: r.Float(), slope: r.Float(), by: Column(min(r.Uint(), uint64(featureCount)-1))}
		k.familiar = r.Float()
		k.trees = learn.ReadTrees(r, int(featureCount))
		if r.Bool() {
			k.sure = learn.ReadLogit(r, sureFeatures)
		}
		k.curves[0], k.curves[1] = learn.ReadCurve(r), learn.ReadCurve(r)
	}
	f.planner = newPlanner()
	for i, j := range f.planner.judges() {
		j.trees = learn.ReadTrees(r, [...]int{setFeatures, setFeatures, pairFeatures, pairFeatures}[i])
	}
	f.planner.sure = learn.ReadCurve(r)
	f.planner.familiar = f.find.familiar
	return f
}
