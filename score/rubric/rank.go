package rubric

import (
	"cmp"
	"slices"
)

// Compare orders two results, the better one first: by composite, then by the tie-breaking dimensions.
// 0 means that only the id can decide.
func (r *Rubric) Compare(a, b *Result) int {
	if a.Composite != b.Composite {
		if c := b.Composite.Cmp(a.Composite); c != 0 {
			return c
		}
	}
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
	var order []int
	for i := range results {
		if !results[i].Fails {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(r.Compare(&results[a], &results[b]), cmp.Compare(ids[a], ids[b]))
	})
	ranks := make([]int, len(results))
	for n, i := range order {
		ranks[i] = n + 1
	}
	return ranks
}
