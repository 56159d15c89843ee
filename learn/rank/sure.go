package rank

import (
	"waymark/internal/numeric"
	"waymark/learn/calibrate"
	"waymark/learn/logit"
)

// A ranker compares tools within a question, so its scores do not say whether any of them fits. That is learned from what
// was held out and from foreign requests: a logistic regression on the score of a tool and how familiar the request is.
const (
	sureRows     = 3   // first rows of a question
	sureHold     = 1.  // L2 penalty
	sureForeign  = .25 // weight of foreign requests against all others
	sureFeatures = 5
)

// claim is what the chance of a tool is computed from: its log-odds and the rows of the question.
func claim(score float64, row []float32) []float64 {
	return []float64{score, float64(row[Known]), float64(row[Nearest]), float64(row[BestText]), float64(row[Length])}
}

// fitSure fits the chance of the first tools of held questions, and its calibration.
func (r *ranker) fitSure(x *examples) {
	d := logit.Data{P: sureFeatures}
	var others, foreigners float64
	var of []kind
	for q, held := range x.held {
		if !held || x.kinds[q] == cold {
			continue
		}
		list, _ := r.ordered(x, q)
		for _, c := range list[:min(sureRows, len(list))] {
			d.Add(claim(c.Score, x.row(int(c.Tool))), float64(x.Right[c.Tool]))
			if of = append(of, x.kinds[q]); x.kinds[q] == foreign {
				foreigners++
			} else {
				others++
			}
		}
	}
	for _, k := range of {
		w := 1.0
		if k == foreign {
			w = sureForeign * max(others, 1) / foreigners
		}
		d.W = append(d.W, float32(w))
	}
	r.sure = logit.Fit(d, sureHold)
	if zero := make([]float32, rows); r.sure.P(claim(1, zero)) <= r.sure.P(claim(0, zero)) {
		r.sure = nil // a better score must not be a lower chance: there is too little to learn it from
	}
	var claims []calibrate.Prediction
	for i, y := range d.Y {
		if of[i] != foreign {
			x := d.X[i*sureFeatures : (i+1)*sureFeatures]
			p := Chance(float64(x[0]))
			if r.sure != nil {
				p = logit.Sigmoid(r.sure.ZRow(x))
			}
			claims = append(claims, calibrate.Prediction{P: p, Right: y > 0})
		}
	}
	r.curves[0], r.curves[1] = calibrate.Fit(claims), &calibrate.Curve{}
}

// ordered returns the rows of a question by falling score, and the sum of all odds by those of the first.
func (r *ranker) ordered(x *examples, q int) (list []Ranked, sum float64) {
	from, to := x.question(q)
	for i := from; i < to; i++ {
		list = append(list, Ranked{int32(i), r.score(x.row(i))})
	}
	list = best(list, len(list))
	for _, c := range list {
		sum += float64(float64(x.times[c.Tool]) * numeric.Exp(c.Score-list[0].Score))
	}
	return list, sum
}
