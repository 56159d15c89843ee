package rubric

import (
	"cmp"
	"slices"
)

// Compare orders two results, the better one first: by composite, then by the tie-breaking dimensions.
// 0 means that only the id can decide.
func (r *Rubric) Compare(a, b Result) int { return r.compare(&a, &b) }

func (r *Rubric) compare(a, b *Result) int {
	return cmp.Or(b.Composite.Cmp(a.Composite), r.compareTies(a, b))
}

func (r *Rubric) compareTies(a, b *Result) int {
	for _, i := range r.ties {
		if c := cmp.Compare(score(&b.Dimensions[i]), score(&a.Dimensions[i])); c != 0 {
			return c
		}
	}
	return 0
}

// score puts a dimension that does not apply below every score.
func score(s *Scored) Decimal {
	if !s.Applies {
		return -maxScore - 1
	}
	return s.Score
}

// Rank gives every result its rank from 1 on, and 0 to those that fail. Results that Compare takes for
// equal are told apart by id, the smaller one first, so ids should differ.
func (r *Rubric) Rank(ids []string, results []Result) []int {
	type place struct { // the composite lies beside, since most pairs differ there
		composite Ratio
		i         int
	}
	order := make([]place, 0, len(results))
	for i := range results {
		if !results[i].Fails {
			order = append(order, place{results[i].Composite, i})
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.composite != b.composite {
			if c := b.composite.Cmp(a.composite); c != 0 {
				return c
			}
		}
		if c := r.compareTies(&results[a.i], &results[b.i]); c != 0 {
			return c
		}
		return cmp.Compare(ids[a.i], ids[b.i])
	})
	ranks := make([]int, len(results))
	for n, p := range order {
		ranks[p.i] = n + 1
	}
	return ranks
}
