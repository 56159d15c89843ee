package rank

import (
	"waymark/internal/numeric"
	"waymark/suggest/learn"
)

// A ranker compares tools within a question, so its scores do not show whether any of them fits. A logistic regression,
// fitted on held-out and foreign requests, decides that from the score of a tool, the share of known words and the best
// text match. The length of a request is not used: it distinguishes requests of the history from other ones, not
// requests that the catalog serves from those that it does not.
const (
	sureHold     = 10. // L2 penalty of the difference of the regression from surePrior
	sureForeign  = .5  // weight of all foreign requests relative to all others
	sureFeatures = 3
)

// surePrior is the regression without held-out data; histories of hundreds of tasks give about these values. The slope
// of the best text is negative since the score already includes that text.
var surePrior = learn.Logit{Bias: -1, Slope: []float64{.8, 1.3, -5}, Mean: make([]float64, sureFeatures)}

// surePlaces are the places in the ranking of a question that the regression is fitted on. If few kinds of requests
// recur, the first places are all right, and only the last ones are examples of wrong tools.
var surePlaces = [...]int{0, 1, 2, 5, 9}

// claim returns the features of the regression: the log-odds of a tool and two values of the question's rows.
func claim(score float64, row []float32) []float64 {
	return []float64{score, float64(row[Known]), float64(row[BestText])}
}

// fitSure fits the regression and its calibration. Each question is scored by the ranker that was not fitted on its
// half of the tasks, and weighted by its kind. Cold questions are left out.
func (r *ranker) fitSure(x *examples, halves [2]*ranker) {
	var cases []learn.Case
	var others float64
	var foreigners []int
	for q, fold := range x.folds {
		if x.kinds[q] == cold {
			continue
		}
		list, _ := halves[fold%2].ordered(x, q)
		for _, at := range surePlaces {
			if at >= len(list) {
				break
			}
			if x.kinds[q] == foreign {
				foreigners = append(foreigners, len(cases))
			} else {
				others += float64(x.Weight[q])
			}
			i := int(list[at].Tool)
			z := claim(list[at].Score, x.row(i))
			cases = append(cases, learn.Case{X: z, Y: float64(x.Right[i]), Weight: float64(x.Weight[q]), Z: surePrior.Z(z)})
		}
	}
	for _, i := range foreigners {
		cases[i].Weight = sureForeign * max(1, others) / float64(len(foreigners))
	}
	r.sure = surePrior.Plus(learn.FitLogit(cases, sureFeatures, sureHold))
	if zero := make([]float32, featureCount); r.sure.P(claim(1, zero)) <= r.sure.P(claim(0, zero)) {
		r.sure = nil // a better score must not give a lower chance: the data do not suffice
	}
	var claims []learn.Prediction
	for _, c := range cases {
		p := Chance(c.X[0])
		if r.sure != nil {
			p = r.sure.P(c.X)
		}
		claims = append(claims, learn.Prediction{P: p, Right: c.Y > 0, Age: -numeric.Log2(c.Weight)})
	}
	r.curves[0], r.curves[1] = learn.FitCurve(claims), &learn.Curve{}
}

// chance returns the calibrated chance of a score for a tool considered alone. row is any row of the question.
func (r *ranker) chance(score float64, row []float32) float64 {
	if r.sure != nil {
		return r.curves[0].At(r.sure.P(claim(score, row)))
	}
	return r.curves[0].At(Chance(score))
}

// ordered returns the rows of a question by falling score, and the sum of all odds relative to those of the first.
func (r *ranker) ordered(x *examples, q int) (list []Ranked, sum float64) {
	from, to := x.Question(q)
	for i := from; i < to; i++ {
		list = append(list, Ranked{int32(i), r.score(x.row(i))})
	}
	list = best(list, len(list))
	for _, c := range list {
		sum += float64(float64(x.times[c.Tool]) * numeric.Exp(c.Score-list[0].Score))
	}
	return list, sum
}
