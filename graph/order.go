package graph

import (
	"fmt"
	"slices"
)

// TopologicalOrder puts the nodes 0..n-1 in an order in which every edge leads forward; where the
// edges leave a choice, the smaller node comes first (Kahn, "Topological sorting of large
// networks", 1962). If there is none, order is nil and cycle names the nodes of one cycle, each
// with an edge to the next and the last with one to the first; its smallest node comes first.
// A node that is not in 0..n-1 is a bug of the caller and panics.
func TopologicalOrder(n int, edges []Edge) (order, cycle []int32) {
	start, to := targets(n, edges)
	waits := make([]int32, n) // edges in from nodes not yet placed
	for _, v := range to {
		waits[v]++
	}
	ready := make(minHeap, 0, n)
	for v := range int32(n) {
		if waits[v] == 0 {
			ready = append(ready, v) // increasing: already a heap
		}
	}
	order = make([]int32, 0, n)
	for len(ready) > 0 {
		u := ready.pop()
		order = append(order, u)
		for _, v := range to[start[u]:start[u+1]] {
			if waits[v]--; waits[v] == 0 {
				ready.push(v)
			}
		}
	}
	if len(order) == n {
		return order, nil
	}
	return nil, cycleAmong(waits, edges)
}

// cycleAmong finds a cycle among the nodes that still wait. Each of them waits for another one, so
// going back from any, always to the smallest, comes round.
func cycleAmong(waits []int32, edges []Edge) []int32 {
	before := make([]int32, len(waits))
	for i := range before {
		before[i] = -1
	}
	at := int32(-1)
	for _, e := range edges {
		if waits[e.From] > 0 && waits[e.To] > 0 && (before[e.To] < 0 || e.From < before[e.To]) {
			before[e.To] = e.From
		}
	}
	for v := range waits {
		if waits[v] > 0 {
			at = int32(v)
			break
		}
	}
	seen := make([]bool, len(waits))
	for !seen[at] {
		seen[at] = true
		at = before[at]
	}
	cycle := []int32{at}
	for v := before[at]; v != at; v = before[v] {
		cycle = append(cycle, v)
	}
	slices.Reverse(cycle) // it was walked backwards
	smallest := slices.Index(cycle, slices.Min(cycle))
	return append(cycle[smallest:len(cycle):len(cycle)], cycle[:smallest]...)
}

// TransitiveReduction returns the edges of an acyclic graph that no longer way implies, sorted and
// each once: the dependencies that are direct. A cycle is an error that names it.
func TransitiveReduction(n int, edges []Edge) ([]Edge, error) {
	order, cycle := TopologicalOrder(n, edges)
	if cycle != nil {
		return nil, fmt.Errorf("transitive reduction: the nodes %v form a cycle", cycle)
	}
	position := make([]int32, n)
	for i, v := range order {
		position[v] = int32(i)
	}
	sorted := merged(slices.Clone(edges))
	start, to := targets(n, sorted)
	reached := make([]int32, n) // by which node last
	for i := range reached {
		reached[i] = -1
	}
	var out []Edge
	var stack []int32
	for u := range int32(n) {
		row := slices.Clone(to[start[u]:start[u+1]])
		slices.SortFunc(row, func(a, b int32) int { return int(position[a]) - int(position[b]) })
		direct := row[:0]
		for _, v := range row { // nearest first: what implies v has been followed before v
			if reached[v] == u {
				continue
			}
			direct = append(direct, v)
			reached[v] = u
			for stack = append(stack[:0], v); len(stack) > 0; {
				x := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				for _, y := range to[start[x]:start[x+1]] {
					if reached[y] != u {
						reached[y] = u
						stack = append(stack, y)
					}
				}
			}
		}
		slices.Sort(direct)
		for i, e := range sorted[start[u]:start[u+1]] {
			if _, ok := slices.BinarySearch(direct, e.To); ok {
				out = append(out, sorted[int(start[u])+i])
			}
		}
	}
	return out, nil
}

// targets puts the edges into compressed rows, in the order given within each row.
func targets(n int, edges []Edge) (start, to []int32) {
	start = make([]int32, n+1)
	for _, e := range edges {
		start[e.From+1]++
	}
	accumulate(start)
	next := slices.Clone(start)
	to = make([]int32, len(edges))
	for _, e := range edges {
		to[next[e.From]] = e.To
		next[e.From]++
	}
	return start, to
}

// A minHeap gives back the smallest node first.
type minHeap []int32

func (h *minHeap) push(v int32) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		parent := (i - 1) / 2
		if a[parent] <= a[i] {
			return
		}
		a[parent], a[i] = a[i], a[parent]
		i = parent
	}
}

func (h *minHeap) pop() int32 {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && a[child+1] < a[child] {
			child++
		}
		if a[i] <= a[child] {
			return top
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
}
