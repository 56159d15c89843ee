package score

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// CouncilMetrics measure two aims of structured scoring.
type CouncilMetrics struct {
	DimensionVariance VarianceMetric    `json:"dimension_variance"`
	Conciseness       ConcisenessMetric `json:"conciseness_length"`
}

// VarianceMetric: do reviewers differ less on a dimension than on one holistic number? Each is the mean of
// the population variances over reviewers who gave both.
type VarianceMetric struct {
	Dimensions *float64 `json:"dimensions"`
	Holistic   *float64 `json:"holistic"`
	Lower      *bool    `json:"lower"` // the dimensions' is lower
	Responses  int      `json:"responses"`
}

// ConcisenessMetric: are longer answers scored less concise?
type ConcisenessMetric struct {
	R    *float64 `json:"r"` // Pearson's, of words and mean conciseness
	N    int      `json:"n"`
	Note string   `json:"note,omitempty"`
}

func (p *panel) metrics(ranking []RankedAnswer) CouncilMetrics {
	var m CouncilMetrics
	var dimensions, holistic []*big.Rat
	for _, id := range p.ids {
		x := map[string][]*big.Rat{} // scores by dimension, and holistic ones under ""
		for _, v := range p.counted {
			if h, ok := v.holistic[id]; ok && v.marks[id].dimensions != nil {
				x[""] = append(x[""], h.Rat())
				for name, s := range v.marks[id].dimensions {
					x[name] = append(x[name], s.Rat())
				}
			}
		}
		if len(x[""]) > 1 {
			m.DimensionVariance.Responses++
			holistic = append(holistic, variance(x[""]))
		}
		for name, scores := range x {
			if name != "" && len(scores) > 1 {
				dimensions = append(dimensions, variance(scores))
			}
		}
	}
	if len(holistic) > 0 && len(dimensions) > 0 {
		d, h := mean(dimensions), mean(holistic)
		m.DimensionVariance.Dimensions, m.DimensionVariance.Holistic = known(d), known(h)
		m.DimensionVariance.Lower = new(d.Cmp(h) < 0)
	}
	var lengths, scores []float64
	for _, r := range ranking {
		words := len(strings.Fields(p.answers[r.ID].Text))
		if s, ok := r.Dimensions["conciseness"]; ok && words > 0 {
			lengths, scores = append(lengths, float64(words)), append(scores, s.Mean)
		}
	}
	m.Conciseness.N = len(lengths)
	switch {
	case len(lengths) < 3:
		m.Conciseness.Note = "fewer than three answers with text and a score for conciseness"
	case stat.StdDev(lengths, nil)*stat.StdDev(scores, nil) < 1e-9:
		m.Conciseness.Note = "lengths or scores do not vary"
	default:
		m.Conciseness.R = new(max(-1, min(1, stat.Correlation(lengths, scores, nil))))
	}
	return m
}

// A HolisticRanking is the ranking by holistic scores, without ceilings and safety gate, to be set beside
// that by the rubric before one replaces the other.
type HolisticRanking struct {
	Ranking   []HolisticRank `json:"ranking"`
	SameFirst bool           `json:"same_first"` // both rankings agree on the first
	Reviews   int            `json:"reviews"`
}

// HolisticRank is one answer by the mean of its holistic scores.
type HolisticRank struct {
	ID    string  `json:"id"`
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
}

func (p *panel) holistic(first string) *HolisticRanking {
	h := &HolisticRanking{}
	scores := map[string][]*big.Rat{}
	for _, v := range p.counted {
		if len(v.holistic) > 0 {
			h.Reviews++
		}
		for id, s := range v.holistic {
			scores[id] = append(scores[id], s.Rat())
		}
	}
	if h.Reviews == 0 {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(mean(scores[b]).Cmp(mean(scores[a])), cmp.Compare(a, b))
	})
	for i, id := range ids {
		h.Ranking = append(h.Ranking, HolisticRank{id, i + 1, float(mean(scores[id]))})
	}
	h.SameFirst = ids[0] == first
	return h
}
