package council

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"waymark/internal/numeric"
)

// Metrics measure aims of structured scoring.
type Metrics struct {
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
	R    *float64 `json:"r"` // Pearson's
	N    int      `json:"n"`
	Note string   `json:"note,omitempty"`
}

func (p *panel) metrics() Metrics { return Metrics{p.varianceMetric(), p.concisenessMetric()} }

func (p *panel) varianceMetric() VarianceMetric {
	var m VarianceMetric
	var dimensions, holistic []*big.Rat
	for _, id := range p.ids {
		var both []*vote
		for _, v := range p.counted {
			if _, ok := v.holistic[id]; ok && v.marks[id].dimensions != nil {
				both = append(both, v)
			}
		}
		if len(both) < 2 {
			continue
		}
		m.Responses++
		x := make([]*big.Rat, len(both))
		for i, v := range both {
			x[i] = v.holistic[id].Rat()
		}
		holistic = append(holistic, variance(x))
		for _, d := range p.dimensions {
			x = x[:0:0]
			for _, v := range both {
				if s, ok := v.marks[id].dimensions[d.Name]; ok {
					x = append(x, s.Rat())
				}
			}
			if len(x) > 1 {
				dimensions = append(dimensions, variance(x))
			}
		}
	}
	if len(holistic) > 0 && len(dimensions) > 0 {
		a, b := mean(dimensions), mean(holistic)
		m.Dimensions, m.Holistic, m.Lower = known(a), known(b), new(a.Cmp(b) < 0)
	}
	return m
}

// means are the mean holistic scores by answer, in the order of p.ids, nil for none.
func (p *panel) means(votes []*vote) []*big.Rat {
	means := make([]*big.Rat, len(p.ids))
	for i, id := range p.ids {
		var x []*big.Rat
		for _, v := range votes {
			if s, ok := v.holistic[id]; ok {
				x = append(x, s.Rat())
			}
		}
		if len(x) > 0 {
			means[i] = mean(x)
		}
	}
	return means
}

func (p *panel) concisenessMetric() ConcisenessMetric {
	var lengths, scores []float64
	for _, id := range p.ids {
		if x := p.spread(id, "conciseness"); len(x) > 0 && p.words[id] > 0 {
			lengths, scores = append(lengths, float64(p.words[id])), append(scores, float(mean(x)))
		}
	}
	m := ConcisenessMetric{N: len(lengths)}
	if len(lengths) < 3 {
		m.Note = "fewer than three answers with text and a score for conciseness"
		return m
	}
	lengths, scores = centred(lengths), centred(scores)
	norm := math.Sqrt(numeric.Dot(lengths, lengths) * numeric.Dot(scores, scores))
	if norm < 1e-9 {
		m.Note = "lengths or scores do not vary"
		return m
	}
	m.R = new(max(-1, min(1, numeric.Dot(lengths, scores)/norm)))
	return m
}

func centred(x []float64) []float64 {
	m := numeric.Sum(x) / float64(len(x))
	c := make([]float64, len(x))
	for i, v := range x {
		c[i] = v - m
	}
	return c
}

// Beside is the ranking by holistic scores, to be set beside that by the rubric: what changed, before one
// replaces the other.
type Beside struct {
	Ranking   []HolisticRank `json:"ranking"`
	SameFirst bool           `json:"same_first"` // both rankings agree on the first
	Reviews   int            `json:"reviews"`
}

// HolisticRank is one answer by the mean of its holistic scores, without ceilings and safety gate.
type HolisticRank struct {
	ID    string  `json:"id"`
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
}

func (p *panel) beside(standings []standing) *Beside {
	var votes []*vote
	for _, v := range p.counted {
		if len(v.holistic) > 0 {
			votes = append(votes, v)
		}
	}
	if len(votes) == 0 {
		return nil
	}
	means := p.means(votes)
	b := &Beside{Ranking: []HolisticRank{}, Reviews: len(votes)}
	var order []int
	for i, m := range means {
		if m != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(rats(means[j], means[i]), cmp.Compare(p.ids[i], p.ids[j]))
	})
	for n, i := range order {
		b.Ranking = append(b.Ranking, HolisticRank{p.ids[i], n + 1, float(means[i])})
	}
	b.SameFirst = standings[0].id == b.Ranking[0].ID
	return b
}
