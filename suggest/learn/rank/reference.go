package rank

import (
	"waymark/graph"
)

// The scoring reference, from which every answer starts. Graph measures are those of package graph:
//
//	toolScore = .50·cooccurrence + .25·community + .15·min(AA/2, 1) + .10·pagerank     after a context, without a request
//	rankScore = .80·(alpha·text + (1-alpha)·graph) + .20·pagerank                      with a request
//
// alpha = max(.5, 1 - 2·density); without a context it is 1. pagerank is divided by the largest.

// structure is the graph of transitions of a history, with what the reference reads of it.
type structure struct {
	graph     *graph.Graph
	pageRank  []float64 // divided by the largest
	community []int32
	alpha     float64
}

// newStructure measures the graph in which a→b weighs n(a→b)/(n(a) + 1).
func newStructure(nodes int, next *counts) *structure {
	var edges []graph.Edge
	for t := range int32(nodes) {
		f := next.of(key(t))
		for i, to := range f.tools {
			edges = append(edges, graph.Edge{From: t, To: to, Weight: float64(f.n[i]) / (float64(f.total) + 1), Count: uint64(f.n[i])})
		}
	}
	g, err := graph.New(nodes, edges)
	if err != nil {
		panic(err) // edges join nodes that exist, by positive weights
	}
	s := &structure{graph: g, pageRank: make([]float64, nodes), community: graph.Communities(g, 1), alpha: graph.Alpha(g.Density())}
	if ranks, err := graph.PageRank(g, graph.PageRankOptions{}); err == nil {
		s.pageRank = graph.Normalised(ranks.Ranks)
	}
	return s
}

// reference computes the rows of the reference for a tool after a context and with a request, either of which may be
// missing.
func (s *structure) reference(context []int32, request bool, text float64, tool int32, c cells) {
	pageRank := s.pageRank[tool]
	if c.hidden {
		pageRank = 0
	}
	c.set(PageRank, pageRank)
	alpha, near := 1.0, 0.0
	if len(context) > 0 && !c.hidden {
		last := context[len(context)-1]
		weight, count := s.graph.Transition(last, tool)
		aa := s.graph.AdamicAdar(last, tool)
		var cooccurrence, community float64
		if count > 0 {
			cooccurrence = graph.CooccurrenceConfidence(weight, count)
		}
		if s.community[tool] >= 0 && s.community[tool] == s.community[last] {
			community = graph.CommunityConfidence(pageRank, weight, aa)
		}
		c.set(Cooccurrence, cooccurrence)
		c.set(Community, community)
		c.set(AdamicAdar, min(aa/2, 1))
		for _, t := range context[max(0, len(context)-mostUsed):] {
			near = max(near, graph.GraphScore(s.graph.Adjacent(t, tool), s.graph.AdamicAdar(t, tool)))
		}
		c.set(Graph, near)
		c.set(Reference, float64(.5*cooccurrence)+float64(.25*community)+float64(.15*min(aa/2, 1))+float64(.1*pageRank))
	}
	if len(context) > 0 {
		alpha = s.alpha
	}
	c.set(Alpha, alpha)
	if request {
		hybrid := float64(alpha*text) + float64((1-alpha)*near)
		c.set(Hybrid, hybrid)
		c.set(Reference, float64(.8*hybrid)+float64(.2*pageRank))
	}
}
