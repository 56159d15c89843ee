package plan

import (
	"waymark/internal/numeric"
	"waymark/learn/calibrate"
)

// fitBounds fits how often the top-ranked tool of a past request was right, separately for requests like past ones and for
// foreign ones.
func (f *fit) fitBounds() {
	for kind := range f.sure {
		var claims []calibrate.Prediction
		for _, q := range f.all {
			mass := f.mass(q, kind)
			if len(q.table.order) == 0 || mass < 1e-3 { // hardly any
				continue
			}
			top := q.table.order[0]
			claims = append(claims, calibrate.Prediction{P: q.table.p2[top], Right: q.mine[q.table.cand[top]] >= .5, Age: -numeric.Ln(mass) / numeric.Ln(2)})
		}
		f.sure[kind] = calibrate.Fit(claims)
	}
}

// Low is a lower bound, in 90 % of cases, of the probability p that the answer gives to a tool: by the past requests for
// which as much was claimed, as far as they are as foreign as this one.
func (a *Answer) Low(p float64) float64 {
	q := a.q
	low := func(kind int) float64 { return q.m.sure[kind].Low(q.m.sure[kind].At(p)) }
	return min(p, float64((1-q.foreign)*low(known))+float64(q.foreign*low(foreign)))
}
