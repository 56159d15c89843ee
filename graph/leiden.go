package graph

import "runtime"

// leiden is the state of [Communities].
type leiden struct {
	gamma  float64
	member []int32 // community of each node of the first level

	// Memory of the size of the first level. All weights in cells are zero between uses.
	cells   []cell
	touched []int32 // communities whose weight is not zero, and one place more
	part    []int32 // parts of the refinement
	inner   []inner
	queue   []int32 // a ring
	waiting []bool  // the node is in the queue
	room    []int32
	at      []int32    // node of the present level that holds a node of the first
	above   [2][]int32 // communities of the nodes of a level and of the next
	levels  []*level   // above the first, of the pass before
}

// A cell holds the data of a community while a node is placed: the weight between the two, and the
// sum of degrees of its members.
type cell struct{ weight, degree float64 }

// inner holds the data of a part of the refinement: the sum of its degrees, and the weight between
// it and the rest of its community.
type inner struct {
	degree, ties float64
	single       bool // the part still is one node
}

// newLeiden allocates once for the first level; later levels are smaller and use the front of the same
// arrays.
func newLeiden(base *level, gamma float64) *leiden {
	n := base.n
	l := &leiden{
		gamma: gamma, member: make([]int32, n), cells: make([]cell, n), touched: make([]int32, n+1), part: make([]int32, n),
		inner: make([]inner, n), queue: make([]int32, n), waiting: make([]bool, n), room: make([]int32, n), at: make([]int32, n),
	}
	l.above[0], l.above[1] = make([]int32, n), make([]int32, n)
	return l
}

// pass repeats move, refine and aggregate from the communities in member until every community is
// one node, and stores the result in member.
func (l *leiden) pass(base *level) {
	at := l.at
	for v := range at {
		at[v] = int32(v)
	}
	community := l.above[0]
	copy(community, l.member)
	g := base
	for depth := 0; ; depth++ {
		compact(community, l.room)
		l.move(g, community)
		communities := compact(community, l.room[:g.n])
		if int(communities) == g.n {
			break
		}
		parts := l.refine(g, community)
		if int(parts) == g.n {
			break
		}
		part := l.part[:g.n]
		above := l.above[(depth+1)%2][:parts] // the parts begin in the communities found
		for v, p := range part {
			above[p] = community[v]
		}
		if depth == len(l.levels) {
			l.levels = append(l.levels, new(level))
		}
		l.aggregate(g, part, parts, l.levels[depth])
		g = l.levels[depth]
		for v, p := range at {
			at[v] = part[p]
		}
		community = above
	}
	for v, p := range at {
		l.member[v] = community[p]
	}
}

// gather sums the weights of a row by the label of their ends, in the weights of cells, and returns
// the labels found.
func (l *leiden) gather(row []tie, label []int32) []int32 {
	cells, touched := l.cells, l.touched
	k := 0
	for _, t := range row {
		c := label[t.to]
		to := &cells[c]
		touched[k] = c
		if to.weight == 0 {
			k++
		}
		to.weight += float64(t.weight)
	}
	return touched[:k]
}

// move is the local moving phase with a queue (Traag, Waltman and van Eck, "From Louvain to Leiden",
// Scientific Reports 9, 2019): a node goes to the community with the largest gain
//
//	gain(c) = w(v, c) - γ·k(v)·K(c)/total
//
// where w is the weight between the node and c, k its degree and K the sum of degrees of c without the node. If every
// gain is negative, the node gets an empty community. Neighbours outside the new community are queued again.
func (l *leiden) move(g *level, community []int32) {
	n := int32(g.n)
	cells := l.cells[:n]
	clear(cells)
	size := l.room[:n]
	clear(size)
	for v, c := range community {
		cells[c].degree += g.degree[v]
		size[c]++
	}
	var empty []int32
	for c := n - 1; c >= 0; c-- {
		if size[c] == 0 {
			empty = append(empty, c)
		}
	}
	queue, waiting := l.queue[:n], l.waiting[:n]
	for v := range n {
		queue[v], waiting[v] = v, true
	}
	head, length := int32(0), n
	scale := l.gamma / g.total
	for budget := 200 * int(n); length > 0 && budget > 0; budget-- { // the budget stops cycles caused by rounding
		if budget%1024 == 0 {
			runtime.Gosched()
		}
		v := queue[head]
		if head++; head == n {
			head = 0
		}
		length--
		waiting[v] = false

		row := g.row(v)
		touched := l.gather(row, community)
		own, k := community[v], g.degree[v]
		ks := float64(k * scale)
		cells[own].degree -= k
		best := own
		stay := cells[own].weight - float64(ks*cells[own].degree)
		most := stay + float64(1e-12*k) // a smaller gain may be rounding
		for _, c := range touched {
			at := &cells[c]
			if gain := at.weight - float64(ks*at.degree); gain > most {
				best, most = c, gain
			}
			at.weight = 0
		}
		if most < 0 && size[own] > 1 {
			best = empty[len(empty)-1] // there is one: fewer communities than nodes
		}
		cells[best].degree += k
		if best == own {
			continue
		}
		if size[best] == 0 {
			empty = empty[:len(empty)-1]
		}
		size[best]++
		if size[own]--; size[own] == 0 {
			cells[own].degree = 0 // removes the rounding error
			empty = append(empty, own)
		}
		community[v] = best
		for _, t := range row {
			if u := t.to; community[u] != best && !waiting[u] {
				waiting[u] = true
				tail := head + length
				if tail >= n {
					tail -= n
				}
				queue[tail] = u
				length++
			}
		}
	}
}

// refine splits each community into parts. It starts from single nodes: each node that is still
// alone joins the part of its own community with the largest gain, if the node and the part are
// both well connected to the rest of the community,
//
//	w(S, C - S) ≥ γ·k(S)·k(C - S)/2m
//
// It stores the parts in l.part, numbered by first member, and returns their number.
func (l *leiden) refine(g *level, community []int32) int32 {
	n := int32(g.n)
	part, inside, cells := l.part[:n], l.inner[:n], l.cells[:n]
	clear(cells)
	scale := l.gamma / g.total
	for v := range n {
		c := community[v]
		part[v] = v
		cells[c].degree += g.degree[v]
		within := 0.0
		for _, t := range g.row(v) {
			if community[t.to] == c {
				within += float64(t.weight)
			}
		}
		inside[v] = inner{g.degree[v], within, true}
	}
	wellConnected := func(p inner, of float64) bool {
		return p.ties >= float64(float64(scale*p.degree)*(of-p.degree))
	}
	touched := l.touched
	for v := range n {
		of := cells[community[v]].degree
		if p := inside[v]; !p.single || p.ties == 0 || !wellConnected(p, of) {
			continue
		}
		c, k := community[v], 0
		for _, t := range g.row(v) {
			if community[t.to] != c {
				continue
			}
			p := part[t.to]
			to := &cells[p]
			touched[k] = p
			if to.weight == 0 {
				k++
			}
			to.weight += float64(t.weight)
		}
		ks := float64(g.degree[v] * scale)
		best, most, to := v, 0.0, 0.0
		for _, p := range touched[:k] {
			weight := cells[p].weight
			if gain := weight - float64(ks*inside[p].degree); gain > most && wellConnected(inside[p], of) {
				best, most, to = p, gain, weight
			}
			cells[p].weight = 0
		}
		if best == v {
			continue
		}
		part[v], inside[v].single, inside[best].single = best, false, false
		inside[best].degree += g.degree[v]
		inside[best].ties += inside[v].ties - 2*to
	}
	return compact(part, l.room[:n])
}

// aggregate stores in a, which may have been used before, a level with one node per part. Weights
// inside a part are not in its rows but in its degrees.
func (l *leiden) aggregate(g *level, part []int32, parts int32, a *level) {
	members, next := l.queue[:g.n], l.room[:parts]
	clear(next)
	for _, c := range part {
		next[c]++
	}
	sum := int32(0)
	for c, size := range next {
		next[c] = sum
		sum += size
	}
	for v, c := range part {
		members[next[c]] = int32(v)
		next[c]++ // finally the end of c
	}
	a.n, a.total = int(parts), g.total
	a.start = append(a.start[:0], 0)
	a.ties, a.degree = a.ties[:0], a.degree[:0]
	cells, touched := l.cells, l.touched
	first := int32(0)
	for c := range parts {
		degree, k := 0.0, 0
		for _, v := range members[first:next[c]] {
			degree += g.degree[v]
			for _, t := range g.row(v) {
				d := part[t.to]
				to := &cells[d]
				touched[k] = d
				if to.weight == 0 {
					k++
				}
				to.weight += float64(t.weight)
			}
		}
		first = next[c]
		for _, d := range touched[:k] {
			if d != c {
				a.ties = append(a.ties, tie{d, float32(cells[d].weight)})
			}
			cells[d].weight = 0
		}
		a.degree = append(a.degree, degree)
		a.start = append(a.start, int32(len(a.ties)))
	}
}
