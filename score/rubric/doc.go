// Package rubric scores things by named dimensions, exactly.
//
// A [Definition] is data: dimensions with weight, scale and anchors, and the rules around them. A [Card]
// holds the scores of one thing. The kernel puts them together in one direction,
//
//	scores ─▶ weighted mean or sum ─▶ ceilings ─▶ caps of failed gates ─▶ composite ─▶ band ─▶ verdict
//	   └────▶ floors ───────────────────────────────────────────────────────────────────────▶ fails
//
// and everything is compared before it is rounded. Scores and weights are decimals with at most four
// places, kept as integers, and a composite is a fraction of two integers: in floating point the scores
// 3, 2, 5, 2, 2 with the weights .25 .20 .25 .15 .15 add up to 2.9999999999999996, which is no 3.
//
// A score that is missing is an error that names it; it is never filled. A dimension that does not apply
// is something else: it leaves numerator and denominator. The order of dimensions, of cards and of map
// keys changes no result.
//
//	r, err := rubric.Load(data) // YAML or JSON, strictly read
//	res, err := r.Score(rubric.Card{Scores: map[string]rubric.Decimal{"clarity": rubric.Whole(4)}})
//	ranks := r.Rank(ids, results)
//
// The rubrics of the sub-packages are such definitions; so is one that a user brings.
package rubric
