package rank

import (
	"slices"
	"sync"

	"waymark/graph"
)

// The scoring reference, from which every answer starts, and which is all of profile seed. Its measures are those of
// package graph:
//
//	tool score = .50·cooccurrence + .25·community + .15·min(AA/2, 1) + .10·pagerank    after a context, without a request
//	rank score = .80·(alpha·text + (1 - alpha)·graph) + .20·pagerank                   with a request
//
// alpha = max(.5, 1 - 2·density); without a context it is 1. pagerank is divided by the largest.

// Weights of the tool score, which add up to 1, and of the rank score.
const (
	wCooccurrence, wCommunity, wAdamicAdar, wPageRank = .50, .25, .15, .10

	// HybridWeight and RankWeight are those of the rank score.
	HybridWeight, RankWeight = .80, .20
)

// Transitions are what the reference reads of a graph: a [graph.Graph], or a [graph.View] of one that grows.
type Transitions interface {
	Transition(from, to int32) (weight float64, count uint64)
	Out(u int32) (targets []int32, weights []float64)
	Neighbours(u int32) []int32
	Adjacent(u, v int32) bool
	Loop(u int32) (graph.Edge, bool)
	AdamicAdar(u, v int32) float64
	AdamicAdarTop(u int32, k int, s *graph.Scratch, dst []graph.Scored) []graph.Scored
}

// Structure is the graph of transitions of a history and what was measured of it, by node.
type Structure struct {
	Transitions
	PageRank  []float64 // divided by the largest
	Community []int32   // -1: none
	Members   [][]int32 // by community, the most important nodes
	Alpha     float64

	Node, Tool []int32 // by tool its node, and by node its tool, -1 for none; nil: they have the same numbers
}

// newStructure measures the graph in which a→b weighs n(a→b)/(n(a) + 2): what is known of the order alone counts half, and one
// observation is added.
func newStructure(nodes int, next *counts) *Structure {
	var edges []graph.Edge
	for t := range int32(nodes) {
		f := next.of(key(t))
		for i, to := range f.tools {
			edges = append(edges, graph.Edge{From: t, To: to, Weight: float64(f.n[i]) / (float64(f.total) + 2), Count: uint64(f.n[i])})
		}
	}
	g, err := graph.New(nodes, edges)
	if err != nil {
		panic(err) // edges join nodes that exist, by positive weights
	}
	s := &Structure{Transitions: g, PageRank: make([]float64, nodes), Community: graph.Communities(g, 1), Alpha: graph.Alpha(g.Density())}
	if ranks, err := graph.PageRank(g, graph.PageRankOptions{}); err == nil && g.Size() > 0 {
		s.PageRank = graph.Normalised(ranks.Ranks)
	}
	return s
}

// Signals are the measures of a node after a context, all in [0, 1] but AA. Those of the last step of the context are
// Cooccurrence, Community and AA; Graph is 1 if an edge joins the node with one of the last steps, else the largest
// min(AA/2, 1).
type Signals struct{ Cooccurrence, Community, AA, Graph, PageRank float64 }

// LastSteps are the last [mostUsed] different steps of a context, the last one first.
func LastSteps(context []int32) []int32 {
	reversed := slices.Clone(context)
	slices.Reverse(reversed)
	reversed = distinct(reversed)
	return reversed[:min(mostUsed, len(reversed))]
}

// Signals returns those of a node after the steps that [LastSteps] returns, which are nodes, too, and may be none.
func (g *Structure) Signals(steps []int32, node int32) (s Signals) {
	if s.PageRank = valueAt(g.PageRank, node, 0); len(steps) == 0 {
		return s
	}
	last := steps[0]
	weight, count := g.Edge(last, node)
	if s.AA = g.AdamicAdar(last, node); count > 0 {
		s.Cooccurrence = graph.CooccurrenceConfidence(weight, count)
	}
	if c := valueAt(g.Community, node, -1); c >= 0 && c == valueAt(g.Community, last, -1) && (node != last || count > 0) {
		s.Community = graph.CommunityConfidence(s.PageRank, weight, s.AA)
	}
	for i, u := range steps {
		aa, adjacent := s.AA, g.adjacent(u, node)
		if i > 0 && !adjacent {
			aa = g.AdamicAdar(u, node)
		}
		s.Graph = max(s.Graph, graph.GraphScore(adjacent, aa))
	}
	return s
}

// Edge is the edge from one node to another, or to itself.
func (g *Structure) Edge(from, to int32) (weight float64, count uint64) {
	if from == to {
		loop, _ := g.Loop(from)
		return loop.Weight, loop.Count
	}
	return g.Transition(from, to)
}

// adjacent reports whether an edge joins two nodes, or a node with itself.
func (g *Structure) adjacent(u, v int32) bool {
	if u == v {
		_, loop := g.Loop(u)
		return loop
	}
	return g.Adjacent(u, v)
}

// valueAt is a value by node; what is newer than the measures has none.
func valueAt[T any](values []T, node int32, none T) T {
	if int(node) < len(values) {
		return values[node]
	}
	return none
}

// Near lists the nodes that the graph has near steps: what followed the last one and the most important of its community and,
// with a request, the neighbours of each step; with them those that share most neighbours. Of each at most mostOfAll.
func (g *Structure) Near(steps []int32, request bool) (nodes []int32) {
	followers, _ := g.Out(steps[0])
	if nodes = slices.Clone(followers); g.adjacent(steps[0], steps[0]) {
		nodes = append(nodes, steps[0])
	}
	if c := valueAt(g.Community, steps[0], -1); c >= 0 {
		nodes = append(nodes, g.Members[c]...)
	}
	scratch := scratches.Get().(*graph.Scratch)
	defer scratches.Put(scratch)
	for i, u := range steps {
		if i > 0 && !request {
			break
		}
		for _, alike := range g.AdamicAdarTop(u, mostOfAll, scratch, nil) {
			nodes = append(nodes, alike.Node)
		}
		if neighbours := g.Neighbours(u); request && len(neighbours) <= mostOfAll {
			nodes = append(nodes, neighbours...)
		}
	}
	return nodes
}

var scratches = sync.Pool{New: func() any { return &graph.Scratch{} }}

// Term is a part of a score of the reference: value·weight.
type Term struct {
	Name          string
	Value, Weight float64
}

// ToolScore is the score after a context, without a request. Importance alone is none: without any other signal it is 0.
func (s Signals) ToolScore() (terms [4]Term, total float64) {
	if s.Cooccurrence == 0 && s.Community == 0 && s.AA == 0 {
		return terms, 0
	}
	terms = [4]Term{
		{"cooccurrence", s.Cooccurrence, wCooccurrence}, {"community", s.Community, wCommunity},
		{"adamic_adar", min(s.AA/2, 1), wAdamicAdar}, {"pagerank", s.PageRank, wPageRank},
	}
	return terms, sum(terms[:])
}

// RankScore is the score with a request, whose match with the text is in [0, 1]. Importance alone is none, either.
func (s Signals) RankScore(alpha, text float64) (terms [3]Term, total float64) {
	if text == 0 && s.Graph == 0 {
		return terms, 0
	}
	terms = [3]Term{
		{"semantic", text, HybridWeight * alpha}, {"graph", s.Graph, HybridWeight * (1 - alpha)}, {"pagerank", s.PageRank, RankWeight},
	}
	return terms, sum(terms[:])
}

// sum adds the products, each rounded by itself.
func sum(terms []Term) (total float64) {
	for _, t := range terms {
		total += float64(t.Value * t.Weight)
	}
	return total
}

// reference computes the rows of the reference for a tool after steps, which are nodes, and with a request, either of which
// may be missing.
func (g *Structure) reference(steps []int32, request bool, tool int32, c cells) {
	s := Signals{}
	if !c.hidden {
		s = g.Signals(steps, g.node(tool))
	}
	c.set(PageRank, s.PageRank)
	c.set(Cooccurrence, s.Cooccurrence)
	c.set(Community, s.Community)
	c.set(AdamicAdar, min(s.AA/2, 1))
	c.set(Graph, s.Graph)
	alpha := 1.0
	if len(steps) > 0 {
		alpha = g.Alpha
	}
	c.set(Alpha, alpha)
	if !request {
		_, score := s.ToolScore()
		c.set(Reference, score)
		return
	}
	text := float64(c.values[Match])
	_, score := s.RankScore(alpha, text)
	c.set(Hybrid, float64(alpha*text)+float64((1-alpha)*s.Graph))
	c.set(Reference, score)
}

func (g *Structure) node(tool int32) int32 {
	if g.Node == nil {
		return tool
	}
	return g.Node[tool]
}

// steps are the last steps of a context of tools, as nodes.
func (g *Structure) steps(context []int32) []int32 {
	steps := LastSteps(context)
	for i, t := range steps {
		steps[i] = g.node(t)
	}
	return steps
}
