package main

import (
	"math"

	"waymark/suggest"
)

// constants are those of the seed's formulas. Two equal ones rank alike.
type constants struct {
	Hybrid, Rank                                  float64 // of RankScore
	AlphaFloor, AlphaSlope                        float64 // alpha = max(floor, 1 - slope·density)
	Cooccurrence, Community, AdamicAdar, PageRank float64 // of ToolScore
	Base                                          float64 // of CommunityConfidence
	OfRank, OfWeight, OfAlike                     capped  // what is added to it
	Norm                                          float64 // Adamic-Adar is divided by it
	OfCount                                       capped  // of CooccurrenceConfidence
	Boost, Penalty                                capped  // episodic
	Cap                                           float64 // of every confidence
	NoTool, NoHybrid, NoText, NoExclusion         bool    // what takes no part
}

// capped is min(Times·x, Most).
type capped struct{ Times, Most float64 }

func (c capped) of(x float64) float64 { return min(float64(c.Times*x), c.Most) }

// seed are the constants of the scoring reference, as the engine has them. The reference has
// min(2·pageRank, .20) for a raw PageRank near 1/n; divided by the largest it is .20·pageRank.
var seed = constants{
	Hybrid: .80, Rank: .20, AlphaFloor: .5, AlphaSlope: 2,
	Cooccurrence: .50, Community: .25, AdamicAdar: .15, PageRank: .10,
	Base: .40, OfRank: capped{.20, .20}, OfWeight: capped{.25, .25}, OfAlike: capped{.10, .10}, Norm: 2,
	OfCount: capped{.05, .20}, Boost: capped{.20, .15}, Penalty: capped{.25, .15}, Cap: .95,
}

// candidate is what speaks for one tool, small enough to keep those of thousands of situations.
type candidate struct {
	weight, doublings, alike, near, rank, semantic, success, failure float64
	seen, community, adjacent, excluded, known                       bool
}

func newCandidate(s *suggest.Signals) candidate {
	return candidate{
		weight: s.Weight, doublings: doublings(s.Count), alike: s.AdamicAdar, near: s.Alike, rank: s.PageRank, semantic: s.Semantic,
		success: s.After.SuccessRate(), failure: s.After.FailureRate(),
		seen: s.Count > 0, community: s.Community, adjacent: s.Adjacent, excluded: s.Excluded, known: s.After.N > 0,
	}
}

// score is the better of ToolScore and RankScore, as far as they apply; 0 where none does. active says that
// there is an intent, density is that of the graph.
func (k *constants) score(c *candidate, s *situation) float64 {
	best := 0.0
	if s.after && !k.NoTool {
		best = k.tool(c)
	}
	if s.active && !k.NoHybrid {
		best = max(best, k.hybrid(c, s))
	}
	return best
}

func (k *constants) tool(c *candidate) float64 {
	if !c.seen && !c.community && c.alike == 0 {
		return 0
	}
	cooccurrence, community := 0.0, 0.0
	if c.seen {
		cooccurrence = min(c.weight+k.OfCount.of(c.doublings), k.Cap)
	}
	if c.community {
		community = min(k.Base+k.OfRank.of(c.rank)+k.OfWeight.of(c.weight)+k.OfAlike.of(c.alike), k.Cap)
	}
	return k.close(c, float64(k.Cooccurrence*cooccurrence)+float64(k.Community*community)+
		float64(k.AdamicAdar*min(c.alike/k.Norm, 1))+float64(k.PageRank*c.rank))
}

func (k *constants) hybrid(c *candidate, s *situation) float64 {
	alpha, graph, semantic := 1.0, 0.0, c.semantic
	if k.NoText {
		semantic = 0
	}
	if s.after {
		alpha = k.alpha(s.density)
		if graph = min(c.near/k.Norm, 1); c.adjacent {
			graph = 1
		}
	}
	if semantic == 0 && graph == 0 {
		return 0
	}
	return k.close(c, float64(k.Hybrid*(float64(alpha*semantic)+float64((1-alpha)*graph)))+float64(k.Rank*c.rank))
}

func (k *constants) alpha(density float64) float64 {
	return max(k.AlphaFloor, 1-float64(k.AlphaSlope*density))
}

// out says that past outcomes exclude a tool.
func (k *constants) out(c *candidate) bool { return c.excluded && !k.NoExclusion }

// close adds what past outcomes say, and bounds.
func (k *constants) close(c *candidate, score float64) float64 {
	if c.known {
		score += k.Boost.of(c.success) - k.Penalty.of(c.failure)
	}
	return max(0, min(score, k.Cap))
}

// none bounds nothing.
var none = math.Inf(1)
