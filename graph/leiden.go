package graph

// leiden is the state of [Communities].
type leiden struct {
	gamma  float64
	member []int32 // community of each node of the first level

	// Room, of the size of the first level. acc is zero between uses.
	acc     []float64 // weight to each community
	touched []int32   // communities where acc is not zero
	sum     []float64 // degrees by community
	part    []int32   // parts of the refinement
	partSum []float64 // degrees by part
	ties    []float64 // weight between a part and the rest of its community
	single  []bool    // the part is one node still
	queue   []int32   // a ring
	waiting []bool    // the node is in the queue
	room    []int32
}

func newLeiden(base *level, gamma float64) *leiden {
	n := base.n
	return &leiden{
		gamma: gamma, member: make([]int32, n),
		acc: make([]float64, n), touched: make([]int32, 0, n), sum: make([]float64, n),
		part: make([]int32, n), partSum: make([]float64, n), ties: make([]float64, n), single: make([]bool, n),
		queue: make([]int32, n), waiting: make([]bool, n), room: make([]int32, n),
	}
}

// pass runs move, refine, aggregate from the communities in member until every community is one
// node, and leaves the result in member.
func (l *leiden) pass(base *level) {
	at := make([]int32, base.n) // node of the present level that holds a node of the first
	for v := range at {
		at[v] = int32(v)
	}
	community := append([]int32(nil), l.member...)
	for g := base; ; {
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
		above := make([]int32, parts) // the parts begin in the communities found
		for v, p := range part {
			above[p] = community[v]
		}
		g = aggregate(g, part, parts, l.acc, l.touched)
		for v, p := range at {
			at[v] = part[p]
		}
		community = above
	}
	for v, p := range at {
		l.member[v] = community[p]
	}
}

// move takes nodes from a queue and puts each into the community that gains most,
//
//	gain(v → c) = w(v, c) - γ·k(v)·k(c)/2m
//
// an empty one gaining nothing. Whoever moves sends its neighbours elsewhere to the queue.
func (l *leiden) move(g *level, community []int32) {
	n := int32(g.n)
	sum := l.sum[:n]
	clear(sum)
	size := l.room[:n]
	clear(size)
	for v, c := range community {
		sum[c] += g.degree[v]
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
	acc, touched := l.acc, l.touched
	for budget := 200 * int(n); length > 0 && budget > 0; budget-- { // the budget is for rounding that goes in circles
		v := queue[head]
		if head++; head == n {
			head = 0
		}
		length--
		waiting[v] = false

		row := g.to[g.start[v]:g.start[v+1]]
		ws := g.weight[g.start[v]:g.start[v+1]][:len(row)]
		touched = touched[:0]
		for i, u := range row {
			c := community[u]
			if acc[c] == 0 {
				touched = append(touched, c)
			}
			acc[c] += ws[i]
		}
		own, k := community[v], g.degree[v]
		ks := float64(k * scale)
		sum[own] -= k
		best := own
		stay := acc[own] - float64(ks*sum[own])
		most := stay + float64(1e-12*k) // what gains less may be rounding
		for _, c := range touched {
			if gain := acc[c] - float64(ks*sum[c]); gain > most {
				best, most = c, gain
			}
			acc[c] = 0
		}
		if most < 0 && size[own] > 1 {
			best = empty[len(empty)-1] // there is one: fewer communities than nodes
		}
		sum[best] += k
		if best == own {
			continue
		}
		if size[best] == 0 {
			empty = empty[:len(empty)-1]
		}
		size[best]++
		if size[own]--; size[own] == 0 {
			sum[own] = 0 // not what rounding left
			empty = append(empty, own)
		}
		community[v] = best
		for _, u := range row {
			if community[u] != best && !waiting[u] {
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
	l.touched = touched
}

// refine splits each community into parts: from single nodes, each node that is still alone joins
// the part of its own community that gains most, if the node and the part are both well connected
// to the rest of the community,
//
//	w(S, C - S) ≥ γ·k(S)·k(C - S)/2m
//
// It leaves the parts in l.part, numbered by first member, and returns how many there are.
func (l *leiden) refine(g *level, community []int32) int32 {
	n := int32(g.n)
	part, partSum, ties, single := l.part[:n], l.partSum[:n], l.ties[:n], l.single[:n]
	sum := l.sum[:n]
	clear(sum)
	scale := l.gamma / g.total
	for v := range n {
		part[v], partSum[v], single[v] = v, g.degree[v], true
		sum[community[v]] += g.degree[v]
		within := 0.0
		for i := g.start[v]; i < g.start[v+1]; i++ {
			if community[g.to[i]] == community[v] {
				within += g.weight[i]
			}
		}
		ties[v] = within
	}
	wellConnected := func(p int32, of float64) bool {
		return ties[p] >= float64(float64(scale*partSum[p])*(of-partSum[p]))
	}
	acc, touched := l.acc, l.touched
	for v := range n {
		of := sum[community[v]]
		if !single[v] || ties[v] == 0 || !wellConnected(v, of) {
			continue
		}
		touched = touched[:0]
		for i := g.start[v]; i < g.start[v+1]; i++ {
			u := g.to[i]
			if community[u] != community[v] {
				continue
			}
			p := part[u]
			if acc[p] == 0 {
				touched = append(touched, p)
			}
			acc[p] += g.weight[i]
		}
		k := g.degree[v]
		ks := float64(k * scale)
		best, most, to := v, 0.0, 0.0
		for _, p := range touched {
			if gain := acc[p] - float64(ks*partSum[p]); gain > most && wellConnected(p, of) {
				best, most, to = p, gain, acc[p]
			}
			acc[p] = 0
		}
		if best == v {
			continue
		}
		part[v], single[v], single[best] = best, false, false
		partSum[best] += k
		ties[best] += ties[v] - 2*to
	}
	l.touched = touched
	return compact(part, l.room[:n])
}
