package graph

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"waymark/internal/sparse"
)

// maxEdges keeps offsets within int32, also for the neighbour lists, which hold an edge twice.
const maxEdges = math.MaxInt32 / 2

// New builds the graph of n nodes with the given edges, in any order. Equal pairs are added up in
// increasing order of weight, so that the sum has the same bits whatever the order of the edges.
//
// Time is proportional to n and the edges, but for the sorting of each row; edges that are in
// increasing order of (From, To) and distinct are taken as they are. Large graphs are built by as
// many goroutines as there are processors: each makes the rows of its own nodes, so the result does
// not depend on how many they are. A graph takes 20 bytes per edge for the out lists, 12 for the in
// lists and up to 8 for the neighbours, and 20 per node.
func New(n int, edges []Edge) (*Graph, error) {
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("graph of %d nodes: number out of range", n)
	}
	if len(edges) > maxEdges {
		return nil, fmt.Errorf("graph of %d edges: more than %d", len(edges), maxEdges)
	}
	g := &Graph{n: n}
	inOrder, last := true, Edge{From: -1}
	for i := range edges {
		e := &edges[i]
		if err := check(*e, n); err != nil {
			return nil, fmt.Errorf("graph: edge %d (%d → %d, weight %v): %w", i, e.From, e.To, e.Weight, err)
		}
		if e.From == e.To {
			g.loops = append(g.loops, *e)
		}
		inOrder = inOrder && (last.From < e.From || last.From == e.From && last.To < e.To)
		last = *e
	}
	g.loops = merged(g.loops)
	if inOrder {
		g.take(edges)
	} else {
		g.outgoing(edges)
	}
	g.incoming()
	g.undirected()
	return g, nil
}

// check names the node or weight that makes an edge invalid.
func check(e Edge, n int) error {
	switch {
	case e.From < 0 || int(e.From) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.From, n)
	case e.To < 0 || int(e.To) >= n:
		return fmt.Errorf("node %d is not one of the %d nodes", e.To, n)
	}
	return sparse.CheckWeight(e.Weight)
}

// take fills the out lists from distinct edges in order.
func (g *Graph) take(edges []Edge) {
	m := len(edges) - len(g.loops)
	g.outStart = make([]int32, g.n+1)
	g.makeOut(m)
	i := 0
	for _, e := range edges {
		if e.From != e.To {
			g.out[i], g.outWeight[i], g.outCount[i] = e.To, e.Weight, e.Count
			g.outStart[e.From+1]++
			i++
		}
	}
	sparse.Accumulate(g.outStart)
}

func (g *Graph) makeOut(m int) {
	g.out, g.outWeight, g.outCount = make([]int32, m), make([]float64, m), make([]uint64, m)
}

// outgoing fills the out lists: edges are dealt out to the rows of their sources, in the order
// given, and each row is sorted and its equal pairs added up.
func (g *Graph) outgoing(edges []Edge) {
	start := make([]int32, g.n+1)
	for i := range edges {
		if edges[i].From != edges[i].To {
			start[edges[i].From+1]++
		}
	}
	sparse.Accumulate(start)
	g.makeOut(int(start[g.n]))
	next := slices.Clone(start[:g.n]) // ends as the ends of the rows, first as given, then as added up
	ranges := split(start)
	inParallel(ranges, func(_ int, lo, hi int32) {
		for i := range edges {
			e := &edges[i]
			if e.From < lo || e.From >= hi || e.From == e.To {
				continue
			}
			at := next[e.From]
			g.out[at], g.outWeight[at], g.outCount[at] = e.To, e.Weight, e.Count
			next[e.From] = at + 1
		}
		var room rowRoom
		for u := lo; u < hi; u++ {
			a, b := start[u], start[u+1]
			next[u] = a + room.tidy(u, g.out[a:b], g.outWeight[a:b], g.outCount[a:b])
		}
	})
	g.outStart = make([]int32, g.n+1)
	for u, end := range next {
		g.outStart[u+1] = g.outStart[u] + end - start[u]
	}
	if g.outStart[g.n] == start[g.n] {
		return
	}
	out, weight, count := g.out, g.outWeight, g.outCount
	g.makeOut(int(g.outStart[g.n])) // do not keep the room of duplicates for the life of the graph
	inParallel(ranges, func(_ int, lo, hi int32) {
		for u := lo; u < hi; u++ {
			a, b, to := start[u], next[u], g.outStart[u]
			copy(g.out[to:], out[a:b])
			copy(g.outWeight[to:], weight[a:b])
			copy(g.outCount[to:], count[a:b])
		}
	})
}

// A rowRoom is room to sort rows in.
type rowRoom struct {
	keys []uint64
	row  []Edge
}

// tidy sorts the row of u by target, adds up equal targets and returns how many there are.
func (r *rowRoom) tidy(u int32, to []int32, weight []float64, count []uint64) int32 {
	ordered := true
	for i := 1; i < len(to) && ordered; i++ {
		ordered = to[i-1] < to[i]
	}
	if ordered {
		return int32(len(to))
	}
	r.keys, r.row = r.keys[:0], r.row[:0]
	for i, v := range to {
		r.keys = append(r.keys, uint64(v)<<32|uint64(i)) // distinct, so that any sort gives one order
		r.row = append(r.row, Edge{u, v, weight[i], count[i]})
	}
	slices.Sort(r.keys)
	n := int32(0)
	for a := 0; a < len(r.keys); n++ {
		b := a + 1
		for b < len(r.keys) && r.keys[b]>>32 == r.keys[a]>>32 {
			b++
		}
		e := r.row[uint32(r.keys[a])]
		if b > a+1 {
			equal := make([]Edge, 0, b-a)
			for _, k := range r.keys[a:b] {
				equal = append(equal, r.row[uint32(k)])
			}
			e = merged(equal)[0]
		}
		to[n], weight[n], count[n] = e.To, e.Weight, e.Count
		a = b
	}
	return n
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
	sparse.Accumulate(g.inStart)
	next := slices.Clone(g.inStart)
	inParallel(split(g.inStart), func(_ int, lo, hi int32) {
		for u := range int32(g.n) {
			out, weight := g.Out(u)
			for i, v := range out {
				if v >= lo && v < hi {
					at := next[v]
					g.in[at], g.inWeight[at] = u, weight[i]
					next[v] = at + 1
				}
			}
		}
	})
}

// undirected merges out and in rows into the neighbour lists.
func (g *Graph) undirected() {
	g.nbrStart = make([]int32, g.n+1)
	g.inverse = make([]float64, g.n)
	ranges := split(g.outStart)
	parts, active := make([][]int32, len(ranges)), make([]int, len(ranges))
	inParallel(ranges, func(part int, lo, hi int32) {
		var nbr []int32
		if lo < hi {
			nbr = make([]int32, 0, g.outStart[hi]-g.outStart[lo]+g.inStart[hi]-g.inStart[lo])
		}
		for u := lo; u < hi; u++ {
			first := len(nbr)
			nbr = g.merge(u, nbr)
			degree := len(nbr) - first
			g.nbrStart[u+1] = int32(degree)
			if degree > 0 {
				active[part]++
			}
			g.inverse[u] = inverseOfDegree(degree)
		}
		parts[part] = nbr
	})
	sparse.Accumulate(g.nbrStart)
	g.nbr = slices.Concat(parts...)
	for _, a := range active {
		g.active += a
	}
}

// merge appends the distinct nodes of u's out and in rows to nbr, which has room for them. Which of
// two rows goes on cannot be foreseen, so it is counted rather than branched on.
func (g *Graph) merge(u int32, nbr []int32) []int32 {
	out, _ := g.Out(u)
	in, _ := g.In(u)
	room := nbr[len(nbr):cap(nbr)]
	i, j, k := 0, 0, 0
	for i < len(out) && j < len(in) {
		a, b := out[i], in[j]
		room[k] = min(a, b)
		if a <= b {
			i++
		}
		if b <= a {
			j++
		}
		k++
	}
	return append(append(nbr[:len(nbr)+k], out[i:]...), in[j:]...)
}

// split cuts the nodes into ranges [lo, hi) with about equally long lists, one for each processor,
// or one in all if the lists are so short that goroutines cost more than they bring.
func split(start []int32) [][2]int32 {
	const worthwhile = 1 << 15
	n, m := len(start)-1, int(start[len(start)-1])
	parts := max(1, min(runtime.GOMAXPROCS(0), m/worthwhile))
	ranges := make([][2]int32, parts)
	lo := 0
	for p := range ranges {
		hi, _ := slices.BinarySearch(start[:n], int32(int64(m)*int64(p+1)/int64(parts)))
		if p == parts-1 {
			hi = n
		}
		hi = max(hi, lo)
		ranges[p] = [2]int32{int32(lo), int32(hi)}
		lo = hi
	}
	return ranges
}

// inParallel calls f for every range, all at once, and waits.
func inParallel(ranges [][2]int32, f func(part int, lo, hi int32)) {
	if len(ranges) == 1 {
		f(0, ranges[0][0], ranges[0][1])
		return
	}
	var group sync.WaitGroup
	for part, r := range ranges {
		group.Go(func() { f(part, r[0], r[1]) })
	}
	group.Wait()
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
