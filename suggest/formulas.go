package suggest

import (
	"math"

	"waymark/episodic"
)

// What the reference has beside the scores of tools, which stand in learn/rank/reference.go, one function a row. Graph measures
// (density, alpha, Adamic-Adar, hops) stand in package graph, the episodic rule in package episodic.

// Cap is the most any confidence may be: nothing is certain.
const Cap = 0.95

// LowConfidence is the confidence below which an answer carries a warning.
const LowConfidence = 0.50

// Weights of capabilityScore (reference 3.0, its placeholder).
const wOverlap, wSuccess, wHypergraph, wSemantic = 0.40, 0.35, 0.15, 0.10

// ConfidenceWeights returns how much the hybrid score, PageRank and path strength count in the
// confidence of a DAG: a sparse graph trusts the text, a dense one its structure. The intervals are
// half-open: density .01 is growing, .10 is mature.
func ConfidenceWeights(density float64) (hybrid, pageRank, path float64) {
	switch {
	case density < 0.01:
		return 0.85, 0.05, 0.10
	case density < 0.10:
		return 0.65, 0.20, 0.15
	}
	return 0.55, 0.30, 0.15
}

// dagConfidence adds the confidence of a DAG and returns it, capped.
func (s *sum) dagConfidence(density, hybrid, pageRank, path float64) float64 {
	h, r, p := ConfidenceWeights(density)
	s.add("hybrid", hybrid, h)
	s.add("pagerank", pageRank, r)
	s.add("path", path, p)
	return s.close()
}

// capabilityScore adds the reference's additive placeholder for capabilities. Capabilities are ranked by MixedScore;
// explain shows this one beside it.
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

// StructuralBoost is what the spectral clusters say of a capability (reference 4.2): .5 + .5·share
// when the last step is in its cluster, .25·share when not. Share is the part of the context that
// is in the cluster.
func StructuralBoost(lastInCluster bool, share float64) float64 {
	if lastInCluster {
		return 0.5 + float64(0.5*share)
	}
	return float64(0.25 * share)
}

// Reliability is the factor for a track record (reference 4.2): below one half .1, above nine tenths
// 1.2, else 1. Fewer than 5 known outcomes say nothing yet.
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

// StopProbability is the share of the times a task ended with this step, drawn towards the overall
// share by one observation.
func StopProbability(ends, steps, episodes, allSteps uint64) float64 {
	if allSteps == 0 {
		return 0
	}
	overall := float64(episodes) / float64(allSteps)
	return (float64(ends) + overall) / (float64(steps) + 1)
}

// finite is x, or 0 where x is no number. Scores meet only finite input; this is the last gate.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// mostTerms is the number of terms of the longest score, with episodic, cap or floor, and exact match.
const mostTerms = 8

// sum builds an additive score term by term; it keeps the terms only if asked to.
type sum struct {
	keep  bool
	terms []Term
	total float64
}

// term keeps a term without adding it, for formulas that are products of factors.
func (s *sum) term(name string, value, weight, contribution float64) {
	if s.keep {
		if s.terms == nil {
			s.terms = make([]Term, 0, mostTerms)
		}
		s.terms = append(s.terms, Term{name, value, weight, contribution})
	}
}

// add adds value · weight. The product is rounded by itself, so that no compiler fuses it with the addition
// and the scores are the same bits on every platform.
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
