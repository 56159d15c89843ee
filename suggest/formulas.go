package suggest

import (
	"math"

	"waymark/episodic"
)

// The formulas of the scoring reference, one function each, except the scores of tools, which are in
// learn/rank/reference.go. Graph measures (density, alpha, Adamic-Adar, hops) are in package graph, and the episodic
// rule is in package episodic. [derivation] shows the formulas as text, with their constants, and so do rank.Features
// and docs/formulas.md: they change with a formula.

// Cap is the maximum of any confidence, because nothing is certain.
const Cap = 0.95

// LowConfidence is the confidence below which an answer carries a warning.
const LowConfidence = 0.50

// Weights of capabilityScore (reference 3.0, its placeholder).
const wOverlap, wSuccess, wHypergraph, wSemantic = 0.40, 0.35, 0.15, 0.10

// ConfidenceWeights returns the weights of the hybrid score, PageRank and path strength in the confidence
// of a DAG. In a sparse graph the text counts most, in a dense one the structure counts more. The intervals
// are half-open: density .01 is growing, .10 is mature.
func ConfidenceWeights(density float64) (hybrid, pageRank, path float64) {
	switch {
	case density < 0.01:
		return 0.85, 0.05, 0.10
	case density < 0.10:
		return 0.65, 0.20, 0.15
	}
	return 0.55, 0.30, 0.15
}

// dagConfidence adds the terms of the confidence of a DAG and returns their capped sum.
func (s *sum) dagConfidence(density, hybrid, pageRank, path float64) float64 {
	h, r, p := ConfidenceWeights(density)
	s.add("hybrid", hybrid, h)
	s.add("pagerank", pageRank, r)
	s.add("path", path, p)
	return s.close()
}

// capabilityScore adds the terms of the reference's additive placeholder for capabilities. Capabilities are ranked by
// MixedScore; Explain also shows this score for comparison.
func (s *sum) capabilityScore(overlap, successRate, hypergraphPageRank, semantic float64) {
	s.add("overlap", overlap, wOverlap)
	s.add("success_rate", successRate, wSuccess)
	s.add("hypergraph_pagerank", hypergraphPageRank, wHypergraph)
	s.add("semantic", semantic, wSemantic)
}

// MixedScore is relevance · (1 + structuralBoost) · reliability (reference 4.1). It can exceed 1;
// Comparable maps it into the range of the additive scores.
func MixedScore(relevance, structuralBoost, reliability float64) float64 {
	return float64(float64(relevance*(1+structuralBoost)) * reliability)
}

// Comparable maps x ≥ 0 to x/(1+x) as x·(1/(1+x)), so that the factors reproduce it exactly.
func Comparable(x float64) float64 { return x * (1 / (1 + x)) }

// StructuralBoost is the boost of a capability by its spectral cluster (reference 4.2): .5 + .5·share
// if the last step is in the cluster, else .25·share. Share is the part of the context that is in the
// cluster.
func StructuralBoost(lastInCluster bool, share float64) float64 {
	if lastInCluster {
		return 0.5 + float64(0.5*share)
	}
	return float64(0.25 * share)
}

// Reliability is the factor for a success rate (reference 4.2): .1 below one half, 1.2 above nine tenths,
// else 1. It is 1 with fewer than 5 known outcomes, which are too few to judge.
func Reliability(successRate float64, known int) float64 {
	switch {
	case known < episodic.MinKnown:
		return 1
	case successRate < 0.5:
		return 0.1
	case successRate > 0.9:
		return 1.2
	}
	return 1
}

// Jaccard is |A ∩ B| / |A ∪ B| from the three sizes; empty sets give 0.
func Jaccard(both, a, b int) float64 {
	if a+b-both <= 0 {
		return 0
	}
	return float64(both) / float64(a+b-both)
}

// Containment is |A ∩ B| / |B|: how much of B is in A.
func Containment(both, b int) float64 {
	if b <= 0 {
		return 0
	}
	return float64(both) / float64(b)
}

// StopProbability is the share of the occurrences of a step that ended a task, shrunk towards the overall
// share with the weight of one observation.
func StopProbability(ends, steps, episodes, allSteps uint64) float64 {
	if allSteps == 0 {
		return 0
	}
	overall := float64(episodes) / float64(allSteps)
	return (float64(ends) + overall) / (float64(steps) + 1)
}

// finite returns x, or 0 if x is NaN or infinite. Scores get only finite input; this is a last check.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// mostTerms is the capacity for the terms of the longest score, including episodic, cap or floor, and exact match.
const mostTerms = 8

// sum builds an additive score term by term. It keeps the terms only if keep is true.
type sum struct {
	keep  bool
	terms []Term
	total float64
}

// term records a term without adding it to the total, for formulas that are products.
func (s *sum) term(name string, value, weight, contribution float64) {
	if s.keep {
		if s.terms == nil {
			s.terms = make([]Term, 0, mostTerms)
		}
		s.terms = append(s.terms, Term{name, value, weight, contribution})
	}
}

// add adds value · weight. The product is rounded separately, so that no compiler fuses it with the addition
// and scores are bit-identical on all platforms.
func (s *sum) add(name string, value, weight float64) {
	value, weight = finite(value), finite(weight)
	c := float64(value * weight)
	s.term(name, value, weight, c)
	s.total += c
}

// close applies the cap and the floor as terms of their own. Cap - total is exact for totals between
// .475 and 1.9 (Sterbenz), so adding it gives the cap exactly.
func (s *sum) close() float64 {
	if s.total > Cap {
		s.term("cap", Cap-s.total, 1, Cap-s.total)
		s.total = Cap
	}
	if s.total < 0 {
		s.term("floor", -s.total, 1, -s.total)
		s.total = 0
	}
	return s.total
}
