package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"waymark/internal/numeric"
)

// WhatIf is the order of candidates that other weights would give.
type WhatIf struct {
	Weights []WeightIf    `json:"weights" doc:"The weights of the terms as they are, by name."`
	Ranking []CandidateIf `json:"ranking"`
}

// WeightIf is a weight of a term.
type WeightIf struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// CandidateIf is a candidate in the new order.
type CandidateIf struct {
	ID       string  `json:"id"`
	Rank     int     `json:"rank"`
	WasRank  int     `json:"was_rank"`
	Score    float64 `json:"score"`
	WasScore float64 `json:"was_score"`
	Fixed    bool    `json:"fixed,omitempty" doc:"Its formula is no sum of weighted terms, so weights do not change it."`
}

// Reweigh orders the candidates of an answer by other weights of their terms.
func Reweigh(a NextAnswer, weights map[string]float64) (WhatIf, error) {
	out := WhatIf{Weights: []WeightIf{}, Ranking: []CandidateIf{}}
	known := map[string]float64{}
	for _, s := range a.Suggestions {
		for _, t := range s.Terms {
			if _, ok := known[t.Name]; !ok {
				known[t.Name] = t.Weight
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, ok := known[name]; !ok && len(a.Suggestions) > 0 {
			return out, &RequestError{Invalid, "weights", fmt.Sprintf("%q is no term of these candidates; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out.Weights = append(out.Weights, WeightIf{name, known[name]})
	}
	for i, s := range a.Suggestions {
		c := CandidateIf{ID: s.ID, WasRank: i + 1, WasScore: s.Score, Score: s.Score}
		c.Score, c.Fixed = reweighed(s, weights)
		out.Ranking = append(out.Ranking, c)
	}
	slices.SortStableFunc(out.Ranking, func(a, b CandidateIf) int { return cmp.Compare(b.Score, a.Score) })
	for i := range out.Ranking {
		out.Ranking[i].Rank = i + 1
	}
	return out, nil
}

// reweighed is the score of a candidate by other weights: fixed where its terms do not add up to it.
func reweighed(s Suggestion, weights map[string]float64) (score float64, fixed bool) {
	// Largest difference between a score and the sum of its terms: answers may be read back from JSON.
	const rounding = 1e-6
	var was, now float64
	for _, t := range s.Terms {
		was += t.Contribution
		if w, ok := weights[t.Name]; ok {
			now += float64(w * t.Value)
		} else {
			now += t.Contribution
		}
	}
	logistic := func(x float64) float64 { return 1 / (1 + numeric.Exp(-x)) }
	// The sum of the terms is the score itself (additive formulas) or its log-odds (learned ones). A product
	// of factors, as of MixedScore, is neither.
	switch {
	case math.Abs(was-s.Score) < rounding:
		return now, false
	case math.Abs(logistic(was)-s.Score) < rounding:
		return logistic(now), false
	}
	return s.Score, true
}
