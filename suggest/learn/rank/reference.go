package rank

import (
	"slices"
	"sync"

	"waymark/graph"
)

// The scoring reference is the start of every answer and the only score of profile seed. Its measures are those of
// package graph:
//
//	tool score = .50·cooccurrence + .25·community + .15·min(AA/2, 1) + .10·pagerank    after a context, without a request
//	rank score = .80·(alpha·text + (1 - alpha)·graph) + .20·pagerank                   with a request
//
// alpha = max(.5, 1 - 2·density); without a context it is 1. pagerank is divided by the largest rank.

// Weights of the tool score, which add up to 1, and of the rank score.
const (
	wCooccurrence, wCommunity, wAdamicAdar, wPageRank = .50, .25, .15, .10

	// HybridWeight and RankWeight are the weights of the rank score.
	HybridWeight, RankWeight = .80, .20
)

// Transitions is the part of a graph that the reference reads: a [graph.Graph] or a [graph.View].
type Transitions interface {
	graph.Adjacency
	Transition(from, to int32) (weight float64, count uint64)
	Out(u int32) (targets []int32, weights []float64)
	Loop(u int32) (graph.Edge, bool)
}

// Structure is the graph of the transitions of a history with the measures of its nodes.
type Structure struct {
	Transitions
	PageRank  []float64 // divided by the largest rank
	Community []int32   // -1: none
	Members   [][]int32 // by community, its most important nodes
	Alpha     float64

	Node, Tool []int32 // the node of each tool and the tool of each node, -1 for none; nil: both have the same numbers
}

// newStructure builds and measures the graph in which a→b weighs n(a→b)/(n(a) + 2): each transition counts
// half, since only the order of the tools is known, and one observation is added to the total.
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

// Signals holds the measures of a node after a context, all in [0, 1] but AA. Cooccurrence, Community and AA refer to
// the last step of the context; Graph is 1 if an edge joins the node with one of the last steps, else the largest
// min(AA/2, 1).
type Signals struct{ Cooccurrence, Community, AA, Graph, PageRank float64 }

// lastSteps returns the last [mostUsed] distinct steps of a context, the last one first.
func lastSteps(context []int32) []int32 {
	reversed := slices.Clone(context)
	slices.Reverse(reversed)
	reversed = distinct(reversed)
	return reversed[:min(mostUsed, len(reversed))]
}

// Around is a structure seen from the last steps of a context. Only one goroutine may use it, and it must be closed.
type Around struct {
	*Structure
	Steps []int32 // the last distinct steps, the last one first
	*buffers
}

// buffers are reused from one question to the next.
type buffers struct {
	graph.Marks
	graph.Scratch
	alike []graph.Scored
	known map[int32]Signals // signals computed so far, by node
}

var bufferPool = sync.Pool{New: func() any { return &buffers{known: map[int32]Signals{}} }}

// Around returns the structure as seen from a context of nodes.
func (g *Structure) Around(context []int32) *Around {
	a := &Around{g, lastSteps(context), bufferPool.Get().(*buffers)}
	a.Set(g, a.Steps)
	return a
}

// Close returns the buffers to the pool.
func (a *Around) Close() {
	a.Clear()
	clear(a.known)
	bufferPool.Put(a.buffers)
	a.buffers = nil
}

// Alpha is the weight of text against structure, 1 without a context.
func (a *Around) Alpha() float64 {
	if len(a.Steps) == 0 {
		return 1
	}
	return a.Structure.Alpha
}

// Signals returns the signals of a node, computed once and kept.
func (a *Around) Signals(node int32) (s Signals) {
	if s, ok := a.known[node]; ok {
		return s
	}
	defer func() { a.known[node] = s }()
	if s.PageRank = valueAt(a.PageRank, node, 0); len(a.Steps) == 0 {
		return s
	}
	last, aa := a.Steps[0], a.AdamicAdar(node)
	weight, count := a.Edge(last, node)
	if s.AA = aa[0]; count > 0 {
		s.Cooccurrence = graph.CooccurrenceConfidence(weight, count)
	}
	if c := valueAt(a.Community, node, -1); c >= 0 && c == valueAt(a.Community, last, -1) && (node != last || count > 0) {
		s.Community = graph.CommunityConfidence(s.PageRank, weight, s.AA)
	}
	for i, u := range a.Steps {
		adjacent := a.Neighbour(i, node)
		if u == node {
			_, adjacent = a.Loop(u)
		}
		s.Graph = max(s.Graph, graph.GraphScore(adjacent, aa[i]))
	}
	return s
}

// Edge returns the weight and count of the edge between two nodes, or of the loop of one node.
func (g *Structure) Edge(from, to int32) (weight float64, count uint64) {
	if from == to {
		loop, _ := g.Loop(from)
		return loop.Weight, loop.Count
	}
	return g.Transition(from, to)
}

// valueAt returns the value of a node, or none if the node is newer than the values.
func valueAt[T any](values []T, node int32, none T) T {
	if int(node) < len(values) {
		return values[node]
	}
	return none
}

// Near lists nodes near the steps: the followers of the last step, the most important nodes of its community, and the
// nodes that share most neighbours with it (at most mostOfAll). With a request it lists for every step the nodes that
// share most neighbours with it and, if there are at most mostOfAll, its neighbours.
func (a *Around) Near(request bool) (nodes []int32) {
	if len(a.Steps) == 0 {
		return nil
	}
	last := a.Steps[0]
	followers, _ := a.Out(last)
	if nodes = slices.Clone(followers); valueAt(a.Community, last, -1) >= 0 {
		nodes = append(nodes, a.Members[a.Community[last]]...)
	}
	if _, loop := a.Loop(last); loop {
		nodes = append(nodes, last)
	}
	for i, u := range a.Steps {
		if i > 0 && !request {
			break
		}
		a.alike = graph.AdamicAdarTop(a, u, mostOfAll, &a.Scratch, a.alike)
		for _, alike := range a.alike {
			nodes = append(nodes, alike.Node)
		}
		if neighbours := a.Neighbours(u); request && len(neighbours) <= mostOfAll {
			nodes = append(nodes, neighbours...)
		}
	}
	return nodes
}

// Term is a part of a score of the reference: Value·Weight.
type Term struct {
	Name          string
	Value, Weight float64
}

// ToolScore returns the score after a context, without a request. PageRank alone does not count: without any other
// signal the score is 0.
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

// RankScore returns the score with a request; text is the text match in [0, 1]. PageRank alone does not count here
// either.
func (s Signals) RankScore(alpha, text float64) (terms [3]Term, total float64) {
	if text == 0 && s.Graph == 0 {
		return terms, 0
	}
	terms = [3]Term{
		{"semantic", text, HybridWeight * alpha}, {"graph", s.Graph, HybridWeight * (1 - alpha)}, {"pagerank", s.PageRank, RankWeight},
	}
	return terms, sum(terms[:])
}

// sum adds the products, each of them rounded by itself.
func sum(terms []Term) (total float64) {
	for _, t := range terms {
		total += float64(t.Value * t.Weight)
	}
	return total
}

// rows computes the features of the reference for a tool, with a request or without.
func (a *Around) rows(request bool, tool int32, c cells) {
	s := Signals{}
	if !c.hidden {
		s = a.Signals(a.node(tool))
	}
	c.set(PageRank, s.PageRank)
	c.set(Cooccurrence, s.Cooccurrence)
	c.set(Community, s.Community)
	c.set(AdamicAdar, min(s.AA/2, 1))
	c.set(Graph, s.Graph)
	alpha := a.Alpha()
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
