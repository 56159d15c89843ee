package graph

// A BreadthFirst searches a graph along its directed edges. Its buffers are reused, so a search allocates nothing; one
// goroutine at a time may use it.
type BreadthFirst struct {
	g      outgoing
	stamp  []uint32 // by node, the number of the last search that reached it
	search uint32
	parent []int32
	depth  []int32
	queue  []int32
}

// outgoing is the part of a [Graph] or a [View] that a search reads.
type outgoing interface {
	Len() int
	Out(u int32) (targets []int32, weights []float64)
}

// Of prepares b for searches of g and returns it. The zero BreadthFirst is ready for use.
func (b *BreadthFirst) Of(g outgoing) *BreadthFirst {
	b.g = g
	if n := g.Len(); len(b.stamp) < n {
		n += n / 8
		b.stamp, b.parent, b.depth, b.queue = make([]uint32, n), make([]int32, n), make([]int32, n), make([]int32, 0, n)
	}
	return b
}

// Hops returns the length in edges of a shortest path from u to v, or -1 if none has at most
// maxHops.
func (b *BreadthFirst) Hops(u, v int32, maxHops int) int {
	if maxHops < 0 {
		return -1
	}
	b.begin(u)
	if u == v {
		return 0
	}
	for i := 0; i < len(b.queue); i++ {
		x := b.queue[i]
		if int(b.depth[x]) >= maxHops {
			break
		}
		if b.expand(x, v) {
			return int(b.depth[v])
		}
	}
	return -1
}

// Path appends to path the nodes of a shortest path from u to v, both ends included: Hops + 1
// nodes. Among equally short paths it is the one with the smallest node at the first difference. It
// appends nothing if no path has at most maxHops edges.
func (b *BreadthFirst) Path(u, v int32, maxHops int, path []int32) []int32 {
	hops := b.Hops(u, v, maxHops)
	if hops < 0 {
		return path
	}
	from := len(path)
	for range hops + 1 {
		path = append(path, 0)
	}
	for i := from + hops; i >= from; i-- {
		path[i] = v
		v = b.parent[v]
	}
	return path
}

// begin starts a search at u. The stamp saves clearing the arrays.
func (b *BreadthFirst) begin(u int32) {
	if b.search++; b.search == 0 { // wrapped around
		clear(b.stamp)
		b.search = 1
	}
	b.stamp[u], b.parent[u], b.depth[u] = b.search, u, 0
	b.queue = append(b.queue[:0], u)
}

// expand appends the unreached targets of v to the queue and reports whether goal is among them.
// Rows are sorted and the queue is in the order of paths, so the first path that reaches a node is
// the one that compares smallest.
func (b *BreadthFirst) expand(v, goal int32) bool {
	targets, _ := b.g.Out(v)
	for _, t := range targets {
		if b.stamp[t] == b.search {
			continue
		}
		b.stamp[t], b.parent[t], b.depth[t] = b.search, v, b.depth[v]+1
		if t == goal {
			return true
		}
		b.queue = append(b.queue, t)
	}
	return false
}
