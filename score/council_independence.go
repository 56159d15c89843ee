package score

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Votes states how many independent votes the reviewers amount to, and how far they agree beyond chance.
//
// The council ranks by the mean of n reviewers. If their scores correlate by r̄ in the mean of all pairs,
// the variance of that mean is the variance of one score times (1 + (n−1)·r̄) / n (design effect: Kish,
// Survey Sampling, 1965, sec. 8.2; for panels of models: Kohli, Nine Judges, Two Effective Votes, arXiv
// 2605.29800, 2026), the same as of
//
//	effective = n / (1 + (n−1)·max(0, r̄))
//
// independent votes: 1 for clones, n for reviewers who have nothing in common, n² / (k² + n − k) with k
// clones among them.
//
// The r̄ of one council is the correlation of scores, not of errors: without the right answer, agreement
// because answers differ in quality and agreement because reviewers err alike look the same. Subtracting the
// mean score of each answer would remove both, and leaves an r̄ of about −1/(n−1) whatever the reviewers do.
// Both kinds of agreement are therefore counted as dependence, and effective is a lower bound: with the
// variances q of quality, s of shared and e of own errors
//
//	r̄ = (q + s) / (q + s + e) ≥ s / (s + e), the correlation of errors
//
// Kappa is chance-corrected agreement on which of two answers is better, over all pairs of answers and of
// reviewers:
//
//	kappa = (observed − base_rate) / (1 − base_rate)      base_rate = mean of t·u + (1−t)·(1−u)/2
//
// with the shares t and u of pairs that two reviewers score equal (Cohen 1960; means over pairs of
// reviewers: Conger 1980). It stands beside its base rate, since the same kappa means little where equal
// scores (ceilings) make agreement likely.
type Votes struct {
	Reviewers int      `json:"reviewers"` // number that scored answers
	Effective *float64 `json:"effective"` // null unless two reviewers scored three answers in common, not all equal
	Kappa     *float64 `json:"kappa"`
	BaseRate  *float64 `json:"base_rate"` // agreement expected by chance
	Warning   string   `json:"warning,omitempty"`
}

// fewestCommon is the number of answers that two reviewers must both have scored. Few answers say little: five
// reviewers of correlation 0.6, 1.47 effective votes, are estimated within these bounds in 8 of 10 councils: 1.1 to 5
// with 3 answers, 1.2 to 2.8 with 5, 1.2 to 2.2 with 8, 1.3 to 1.8 with 20.
const fewestCommon = 3

func (p *panel) independence() Votes {
	var voters []*vote
	for _, v := range p.counted {
		if len(v.marks) > 0 {
			voters = append(voters, v)
		}
	}
	out := Votes{Reviewers: len(voters)}
	var correlation, observed, expected []float64 // by pair of reviewers
	for i, a := range voters {
		for _, b := range voters[:i] {
			var x, y []float64
			for _, id := range p.ids {
				if s, u := a.marks[id].score, b.marks[id].score; s != nil && u != nil {
					x, y = append(x, float(s)), append(y, float(u))
				}
			}
			if len(x) < fewestCommon {
				continue
			}
			if stat.StdDev(x, nil) > 1e-9 && stat.StdDev(y, nil) > 1e-9 {
				correlation = append(correlation, stat.Correlation(x, y, nil))
			}
			o, e := agreement(x, y)
			observed, expected = append(observed, o), append(expected, e)
		}
	}
	if r, n := meanOf(correlation), float64(len(voters)); len(correlation) > 0 {
		out.Effective = new(n / (1 + (n-1)*max(0, r)))
		if *out.Effective < 2 {
			out.Warning = fmt.Sprintf("the scores of %d reviewers may be worth only %.1f independent votes: "+
				"add reviewers of other model families", len(voters), *out.Effective)
		}
	}
	if o, e := meanOf(observed), meanOf(expected); e < 1 && len(observed) > 0 {
		out.Kappa, out.BaseRate = new((o-e)/(1-e)), new(e)
	}
	return out
}

// agreement is the share of pairs of answers that both score in the same order, and the share expected by
// chance.
func agreement(x, y []float64) (observed, expected float64) {
	var agree, equalX, equalY, pairs float64
	for i := range x {
		for j := range i {
			a, b := cmp.Compare(x[i], x[j]), cmp.Compare(y[i], y[j])
			pairs++
			if a == b {
				agree++
			}
			if a == 0 {
				equalX++
			}
			if b == 0 {
				equalY++
			}
		}
	}
	t, u := equalX/pairs, equalY/pairs
	return agree / pairs, t*u + (1-t)*(1-u)/2
}

// meanOf adds in a fixed order, so that the names of reviewers change no digit.
func meanOf(x []float64) float64 {
	slices.Sort(x)
	return stat.Mean(x, nil)
}
