package rank

import (
	"waymark/internal/codec"
	"waymark/learn/calibrate"
	"waymark/learn/logit"
	"waymark/learn/trees"
)

// Write writes what was fitted for [ReadFitted].
func (f *Fitted) Write(w *codec.Writer) {
	for _, r := range []*ranker{&f.find, &f.next} {
		w.Float(r.start.bias)
		w.Float(r.start.slope)
		r.trees.Write(w)
		w.Bool(r.sure != nil)
		if r.sure != nil {
			r.sure.Write(w)
		}
		r.curves[0].Write(w)
		r.curves[1].Write(w)
	}
}

// ReadFitted reads what [Fitted.Write] wrote. What is damaged fails r.
func ReadFitted(r *codec.Reader) *Fitted {
	f := &Fitted{}
	for _, k := range []*ranker{&f.find, &f.next} {
		k.start = start{r.Float(), r.Float()}
		k.trees = trees.Read(r, int(rows))
		if r.Bool() {
			k.sure = logit.Read(r, sureFeatures)
		}
		k.curves[0], k.curves[1] = calibrate.Read(r), calibrate.Read(r)
	}
	return f
}
