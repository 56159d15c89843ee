package graph

import (
	"math"

	"waymark/internal/numeric"
)

// Cap is the maximum of every confidence: nothing is certain (scoring reference 5.1).
const Cap = 0.95

// Density is the share of the possible edges that exist,
//
//	density = E / (n(n-1))
//
// with n the nodes that have an edge and E the distinct ordered pairs ([Graph.Active] and
// [Graph.Size]). It is 0 for fewer than two nodes.
func Density(n, e int) float64 {
	if n < 2 || e <= 0 {
		return 0
	}
	return min(float64(e)/(float64(n)*float64(n-1)), 1)
}

// Alpha returns the weight of text similarity in a hybrid score; the graph has the rest,
//
//	alpha = max(0.5, 1 - 2·density)
//
// (scoring reference 1.1): an empty graph has weight 0, a dense one half of the total.
func Alpha(density float64) float64 { return max(0.5, 1-2*finite(density)) }

// GraphScore returns the closeness of two nodes: 1 if there is an edge between them in either
// direction, else half their Adamic-Adar score, at most 1 (scoring reference 1.2).
func GraphScore(adjacent bool, aa float64) float64 {
	if adjacent {
		return 1
	}
	return min(finite(aa)/2, 1)
}

// PathConfidence returns the confidence in a dependency over a path of the given length in edges,
// not nodes (scoring reference 2.3). No path, given as 0 or less, counts as a long one.
func PathConfidence(hops int) float64 {
	switch hops {
	case 1:
		return 0.95
	case 2:
		return 0.80
	case 3:
		return 0.65
	}
	return 0.50
}

// CooccurrenceConfidence returns the confidence that a tool comes next because it has come next
// before (scoring reference 3.2),
//
//	weight + min(0.05·log2(count+1), 0.20)
//
// and at most 0.95. It only applies to pairs with an edge.
func CooccurrenceConfidence(weight float64, count uint64) float64 {
	const perDoubling, most = 0.05, 0.20
	boost := min(perDoubling*numeric.Log2(float64(count)+1), most)
	return min(finite(weight)+boost, Cap)
}

// CommunityConfidence returns the confidence that a member of the same community comes next
// (scoring reference 3.1),
//
//	0.40 + 0.20·pageRank + min(0.25·weight, 0.25) + min(0.10·AA, 0.10)
//
// and at most 0.95. The reference uses min(2·pageRank, 0.20) for a raw PageRank near 1/n; here
// pageRank is divided by the largest ([Normalised]), so its maximum 1 gives the whole 0.20.
func CommunityConfidence(pageRank, weight, aa float64) float64 {
	const base = 0.40
	const ofPageRank, ofWeight, ofAA = 0.20, 0.25, 0.10
	c := base + float64(ofPageRank*min(finite(pageRank), 1))
	c += float64(ofWeight * min(finite(weight), 1))
	c += float64(ofAA * min(finite(aa), 1))
	return min(c, Cap)
}

// Normalised divides the ranks by the largest. Raw PageRank is near 1/n and would vanish in a sum
// with numbers between 0 and 1.
func Normalised(ranks []float64) []float64 {
	largest := 0.0
	for _, r := range ranks {
		largest = max(largest, finite(r))
	}
	out := make([]float64, len(ranks))
	if largest > 0 {
		for i, r := range ranks {
			out[i] = finite(r) / largest
		}
	}
	return out
}

// finite returns 0 for NaN, infinite and negative numbers, which min and max could otherwise turn
// into certainty.
func finite(x float64) float64 {
	if x > 0 && x <= math.MaxFloat64 {
		return x
	}
	return 0
}
