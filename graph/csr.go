package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxEdges keeps offsets within int32, also for the neighbour lists, which hold an edge twice.
const maxEdges = math.MaxInt32 / 2

// New builds the graph of n nodes with the given edges, in any order. Equal pairs are added up in
// increasing order of weight, so that the sum has the same bits whatever the order of the edges.
func New(n int, edges []Edge) (*Graph, error) {
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("graph of %d nodes: number out of range", n)
	}
	if len(edges) > maxEdges {
		return nil, fmt.Errorf("graph of %d edges: more than %d", len(edges), maxEdges)
	}
	g := &Graph{n: n}
	for i, e := range edges {
		if err := check(e, n); err != nil {
			return nil, fmt.Errorf("graph: edge %d (%d → %d, weight %v): %w", i, e.From, e.To, e.Weight, err)
		}
		if e.From == e.To {
			g.loops = append(g.loops, e)
		}
	}
	g.loops = merged(g.loops)
	g.outgoing(edges)
	g.incoming()
	g.undirected()
	return g, nil
}

func check(e Edge, n int) error {
	switch {
	case e.From < 0 || int(e.From) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.From, n)
	case e.To < 0 || int(e.To) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.To, n)
	}
	return checkWeight(e.Weight)
}

func checkWeight(w float64) error {
	switch {
	case math.IsNaN(w) || math.IsInf(w, 0):
		return fmt.Errorf("the weight is not a finite number")
	case w < 0:
		return fmt.Errorf("the weight is negative")
	}
	return nil
}

// outgoing fills the out lists. Two stable counting sorts, by target and then by source, order the
// edges in time O(n + E).
func (g *Graph) outgoing(edges []Edge) {
	m := len(edges) // the self loops among them come out last in each count and are skipped below
	order := make([]int32, 2*m)
	byTo, byFrom := order[:m], order[m:]
	count := make([]int32, g.n+1)
	for i := range edges {
		count[edges[i].To+1]++
	}
	accumulate(count)
	for i := range edges {
		t := edges[i].To
		byTo[count[t]] = int32(i)
		count[t]++
	}
	clear(count)
	for i := range edges {
		count[edges[i].From+1]++
	}
	accumulate(count)
	for _, i := range byTo {
		f := edges[i].From
		byFrom[count[f]] = i
		count[f]++
	}

	g.outStart = make([]int32, g.n+1)
	g.out = make([]int32, 0, m)
	g.outWeight = make([]float64, 0, m)
	g.outCount = make([]uint64, 0, m)
	var equal []Edge
	for a := 0; a < m; {
		e := edges[byFrom[a]]
		b := a + 1
		for b < m && edges[byFrom[b]].From == e.From && edges[byFrom[b]].To == e.To {
			b++
		}
		if b > a+1 && e.From != e.To {
			equal = equal[:0]
			for _, i := range byFrom[a:b] {
				equal = append(equal, edges[i])
			}
			e = merged(equal)[0]
		}
		a = b
		if e.From == e.To {
			continue
		}
		g.out = append(g.out, e.To)
		g.outWeight = append(g.outWeight, e.Weight)
		g.outCount = append(g.outCount, e.Count)
		g.outStart[e.From+1]++
	}
	accumulate(g.outStart)
	if len(g.out) < m/2 { // many duplicates: do not keep their room for the life of the graph
		g.out, g.outWeight, g.outCount = slices.Clip(slices.Clone(g.out)), slices.Clip(slices.Clone(g.outWeight)), slices.Clip(slices.Clone(g.outCount))
	}
}

// incoming transposes the out lists; sources come in increasing order, so the rows are sorted.
func (g *Graph) incoming() {
	m := len(g.out)
	g.inStart = make([]int32, g.n+1)
	g.in = make([]int32, m)
	g.inWeight = make([]float64, m)
	for _, v := range g.out {
		g.inStart[v+1]++
	}
	accumulate(g.inStart)
	next := slices.Clone(g.inStart)
	for u := range g.n {
		for i := g.outStart[u]; i < g.outStart[u+1]; i++ {
			v := g.out[i]
			g.in[next[v]] = int32(u)
			g.inWeight[next[v]] = g.outWeight[i]
			next[v]++
		}
	}
}

// undirected merges out and in rows into the neighbour lists.
func (g *Graph) undirected() {
	g.nbrStart = make([]int32, g.n+1)
	g.nbr = make([]int32, 0, 2*len(g.out))
	g.inverse = make([]float64, g.n)
	for u := range int32(g.n) {
		out, _ := g.Out(u)
		in, _ := g.In(u)
		for len(out) > 0 && len(in) > 0 {
			switch {
			case out[0] < in[0]:
				g.nbr = append(g.nbr, out[0])
				out = out[1:]
			case in[0] < out[0]:
				g.nbr = append(g.nbr, in[0])
				in = in[1:]
			default:
				g.nbr = append(g.nbr, out[0])
				out, in = out[1:], in[1:]
			}
		}
		g.nbr = append(append(g.nbr, out...), in...)
		g.nbrStart[u+1] = int32(len(g.nbr))
		degree := len(g.nbr) - int(g.nbrStart[u])
		if degree > 0 {
			g.active++
		}
		if degree > 1 {
			g.inverse[u] = inverseLog(degree)
		}
	}
}

// accumulate turns counts, shifted by one, into offsets.
func accumulate(count []int32) {
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
}

// merged sorts edges and adds up equal pairs, in place.
func merged(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Weight, b.Weight))
	})
	out := edges[:0]
	for _, e := range edges {
		if last := len(out) - 1; last >= 0 && out[last].From == e.From && out[last].To == e.To {
			out[last].Weight = min(out[last].Weight+e.Weight, math.MaxFloat64) // stays finite
			out[last].Count = saturating(out[last].Count, e.Count)
		} else {
			out = append(out, e)
		}
	}
	return out
}

func saturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
