package graph

import (
	"math"
	"slices"
)

// Communities divides the nodes into groups that are dense within and sparse between, by the
// Leiden algorithm (Traag, Waltman, van Eck, "From Louvain to Leiden: guaranteeing well-connected
// communities", Scientific Reports 9, 2019) on the undirected graph in which the weights of both
// directions are added. It seeks the largest modularity Q ([Modularity]); a higher resolution
// gives smaller communities.
//
//	move       every node to the neighbouring community that gains most, while any gains
//	refine     split each community into parts that hang together well
//	aggregate  every part becomes a node; begin again, from the communities found
//
// The whole is run twice, the second time from the first result. Every community is connected.
// label[v] is the community of v: communities are numbered by their smallest member, from 0, and
// a node without an edge is in none, -1. A resolution that is not a positive number counts as 1.
func Communities(g *Graph, resolution float64) (label []int32) {
	if !(resolution > 0) || math.IsInf(resolution, 1) {
		resolution = 1
	}
	base, nodes := weighted(g)
	l := newLeiden(base, resolution)
	for v := range l.member {
		l.member[v] = int32(v)
	}
	const passes = 2
	for range passes {
		if base.total > 0 {
			l.pass(base)
		}
	}
	label = make([]int32, g.n)
	for v := range label {
		label[v] = -1
	}
	for i, c := range connectedParts(base, l.member) {
		label[nodes[i]] = c
	}
	return label
}

// Modularity is the share of the weight that falls within communities, less what would be
// expected if the same degrees were joined at random,
//
//	Q = Σ_c ( w(c)/m - γ·(k(c)/2m)² )
//
// with w(c) the weight within c, k(c) its sum of degrees, m all weight and γ the resolution
// (Newman and Girvan, 2004; Reichardt and Bornholdt, 2006). Directions are added up, self loops
// left out. Nodes labelled below 0 are communities of their own. Q of no weight is 0.
func Modularity(g *Graph, label []int32, resolution float64) float64 {
	base, nodes := weighted(g)
	if base.total == 0 {
		return 0
	}
	number, community := make(map[int32]int32), make([]int32, base.n) // in order of first occurrence
	next := int32(0)
	for v, u := range nodes {
		c, known := number[label[u]]
		if !known || label[u] < 0 {
			c = next
			next++
			number[label[u]] = c
		}
		community[v] = c
	}
	within, degree := make([]float64, next), make([]float64, next)
	for v, c := range community {
		degree[c] += base.degree[v]
		for i := base.start[v]; i < base.start[v+1]; i++ {
			if community[base.to[i]] == c {
				within[c] += base.weight[i] // each edge from both ends
			}
		}
	}
	q := 0.0
	for c := range degree {
		k := degree[c] / base.total
		q += within[c]/base.total - float64(resolution*float64(k*k))
	}
	return q
}

// A level is an undirected graph without self loops in compressed rows, with the degrees its nodes
// have in the original graph: in an aggregated graph they count the weight inside a node too.
type level struct {
	n      int
	start  []int32
	to     []int32
	weight []float64
	degree []float64
	total  float64 // sum of degrees, 2m
}

// weighted is the first level: the nodes of g that have an edge, and which nodes of g they are.
// Isolated nodes stay out from the beginning, so that they can change nothing. The largest weight
// is 1, so that no sum overflows; edges without weight are left out.
func weighted(g *Graph) (*level, []int32) {
	largest := 0.0
	for _, w := range g.outWeight {
		largest = max(largest, w)
	}
	index, nodes := make([]int32, g.n), make([]int32, 0, g.active)
	for u := range int32(g.n) {
		if g.Degree(u) > 0 {
			index[u] = int32(len(nodes))
			nodes = append(nodes, u)
		}
	}
	l := &level{n: len(nodes), start: make([]int32, len(nodes)+1), degree: make([]float64, len(nodes))}
	l.to = make([]int32, 0, len(g.nbr))
	l.weight = make([]float64, 0, len(g.nbr))
	for i, u := range nodes {
		out, outWeight := g.Out(u)
		in, inWeight := g.In(u)
		for _, v := range g.Neighbours(u) {
			w := 0.0
			if len(out) > 0 && out[0] == v {
				w, out, outWeight = outWeight[0]/largest, out[1:], outWeight[1:]
			}
			if len(in) > 0 && in[0] == v {
				w, in, inWeight = w+inWeight[0]/largest, in[1:], inWeight[1:]
			}
			if w > 0 { // false for NaN, which 0/0 gives when no edge has weight
				l.to = append(l.to, index[v])
				l.weight = append(l.weight, w)
				l.degree[i] += w
			}
		}
		l.start[i+1] = int32(len(l.to))
		l.total += l.degree[i]
	}
	return l, nodes
}

// connectedParts numbers the connected parts of the communities by their smallest node.
func connectedParts(l *level, member []int32) []int32 {
	part := make([]int32, l.n)
	for v := range part {
		part[v] = -1
	}
	next := int32(0)
	var stack []int32
	for v := range int32(l.n) {
		if part[v] >= 0 {
			continue
		}
		part[v] = next
		for stack = append(stack[:0], v); len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, t := range l.to[l.start[u]:l.start[u+1]] {
				if part[t] < 0 && member[t] == member[u] {
					part[t] = next
					stack = append(stack, t)
				}
			}
		}
		next++
	}
	return part
}

// compact renumbers labels in order of first occurrence and returns how many there are.
func compact(label []int32, room []int32) int32 {
	for i := range room {
		room[i] = -1
	}
	next := int32(0)
	for i, c := range label {
		if room[c] < 0 {
			room[c] = next
			next++
		}
		label[i] = room[c]
	}
	return next
}

// aggregate makes one node of each part. Weights inside a part vanish from the rows and stay in
// the degrees.
func aggregate(l *level, part []int32, parts int32, acc []float64, touched []int32) *level {
	count := make([]int32, parts+1)
	for _, c := range part {
		count[c+1]++
	}
	accumulate(count)
	next := slices.Clone(count)
	members := make([]int32, l.n)
	for v, c := range part {
		members[next[c]] = int32(v)
		next[c]++
	}
	a := &level{n: int(parts), start: make([]int32, parts+1), degree: make([]float64, parts), total: l.total}
	a.to = make([]int32, 0, len(l.to)/2)
	a.weight = make([]float64, 0, len(l.to)/2)
	for c := range parts {
		touched = touched[:0]
		for _, v := range members[count[c]:count[c+1]] {
			a.degree[c] += l.degree[v]
			row := l.to[l.start[v]:l.start[v+1]]
			ws := l.weight[l.start[v]:l.start[v+1]][:len(row)]
			for i, t := range row {
				d := part[t]
				if acc[d] == 0 {
					touched = append(touched, d)
				}
				acc[d] += ws[i]
			}
		}
		for _, d := range touched {
			if d != c {
				a.to = append(a.to, d)
				a.weight = append(a.weight, acc[d])
			}
			acc[d] = 0
		}
		a.start[c+1] = int32(len(a.to))
	}
	return a
}
