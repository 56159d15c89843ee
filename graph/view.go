package graph

import "slices"

func (g *Graph) inverseOf(u int32) float64 { return g.inverse[u] }

// A View is an immutable snapshot of [Rows]. Any number of goroutines may read it.
type View struct {
	n, size, active int
	pages           []*page
}

func (v *View) at(u int32) *row {
	if r := v.pages[u/pageSize].rows[u%pageSize]; r != nil {
		return r
	}
	return &noRow
}

// Len is the number of nodes, isolated ones included.
func (v *View) Len() int { return v.n }

// Size is [Graph.Size].
func (v *View) Size() int { return v.size }

// Active is [Graph.Active].
func (v *View) Active() int { return v.active }

// Density is [Graph.Density].
func (v *View) Density() float64 { return Density(v.active, v.size) }

// Out is [Graph.Out].
func (v *View) Out(u int32) (targets []int32, weights []float64) {
	r := v.at(u)
	return slices.Clip(r.out), slices.Clip(r.weight)
}

// Counts is [Graph.Counts].
func (v *View) Counts(u int32) []uint64 { return slices.Clip(v.at(u).count) }

// Sources returns the sources of the edges to u in increasing order.
func (v *View) Sources(u int32) []int32 { return slices.Clip(v.at(u).in) }

// Neighbours is [Graph.Neighbours].
func (v *View) Neighbours(u int32) []int32 { return slices.Clip(v.at(u).nbr) }

// Degree is [Graph.Degree].
func (v *View) Degree(u int32) int { return len(v.at(u).nbr) }

func (v *View) inverseOf(u int32) float64 { return v.at(u).inverse }

// Transition is [Graph.Transition].
func (v *View) Transition(from, to int32) (weight float64, count uint64) {
	r := v.at(from)
	i, ok := slices.BinarySearch(r.out, to)
	if !ok {
		return 0, 0
	}
	return r.weight[i], r.count[i]
}

// Loop is [Graph.Loop].
func (v *View) Loop(u int32) (Edge, bool) {
	r := v.at(u)
	return r.loop, r.hasLoop
}

// Adjacent is [Graph.Adjacent].
func (v *View) Adjacent(a, b int32) bool {
	if v.Degree(b) < v.Degree(a) {
		a, b = b, a
	}
	_, ok := slices.BinarySearch(v.at(a).nbr, b)
	return ok
}

// Shared lists the common neighbours of two different nodes, each with its contribution to [AdamicAdar].
func (v *View) Shared(a, b int32) []Scored {
	var list []Scored
	for _, w := range v.Neighbours(a) {
		if a != b && v.Adjacent(w, b) {
			list = append(list, Scored{w, v.inverseOf(w)})
		}
	}
	return list
}

// Edges yields the edges and self loops in increasing order of (From, To).
func (v *View) Edges(yield func(e Edge) bool) {
	for u := range int32(v.n) {
		r := v.at(u)
		loop := r.hasLoop
		for i, to := range r.out {
			if loop && to > u {
				loop = false
				if !yield(r.loop) {
					return
				}
			}
			if !yield(Edge{u, to, r.weight[i], r.count[i]}) {
				return
			}
		}
		if loop && !yield(r.loop) {
			return
		}
	}
}

// Graph returns the view as a [Graph], equal to the one that [New] builds from the same edges, in a
// time proportional to nodes and edges.
func (v *View) Graph() *Graph {
	g := &Graph{n: v.n, outStart: make([]int32, v.n+1)}
	g.makeOut(v.size)
	at := 0
	for u := range int32(v.n) {
		r := v.at(u)
		copy(g.out[at:], r.out)
		copy(g.outWeight[at:], r.weight)
		at += copy(g.outCount[at:], r.count)
		g.outStart[u+1] = int32(at)
		if r.hasLoop {
			g.loops = append(g.loops, r.loop)
		}
	}
	g.incoming()
	g.undirected()
	return g
}
