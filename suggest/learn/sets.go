package learn

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	distinguished = 60 // labels whose number has an exact distribution; the less likely ones count by their mean
	exactPath     = 10 // maximum number of nodes for which Path is exact: 2ⁿ·n entries
)

// A plan is decoded from probabilities: how many of the likeliest labels to take, in which order, and with which links.
//
//	p(label)      ──▶ Size    the number that maximises the expected F1
//	p(a before b) ──▶ Path    one chain through all
//	              └─▶ Links   a directed acyclic graph
//

// Size returns the k ≤ most for which the k likeliest labels have the largest expected F1 with the true set, and that
// expectation. p holds the probability of each label, in falling order; labels are independent:
//
//	E F1(k) = Σ_a Σ_b P(A = a) · P(B = b) · 2a/(k + a + b),   A, B = true labels among the first k, among the others
//
// (Ye, Chai, Lee and Chieu, "Optimizing F-measures", ICML 2012). It is 0 without labels, else at least 1.
func Size(p []float64, most int) (k int, f1 float64) {
	n := min(len(p), distinguished)
	most = min(most, n)
	if most < 1 {
		return 0, 0
	}
	rest := 0.0
	for _, v := range p[n:] {
		rest += v
	}
	// before[i] is the distribution of the number of true labels among p[:i], after[i] the one of p[i:n].
	before, after := make([][]float64, n+1), make([][]float64, n+1)
	before[0], after[n] = []float64{1}, []float64{1}
	for i := range n {
		before[i+1] = another(before[i], p[i])
	}
	for i := n; i > 0; i-- {
		after[i-1] = another(after[i], p[i-1])
	}
	for j := 1; j <= most; j++ {
		e := 0.0
		for a, x := range before[j] {
			for b, y := range after[j] {
				e += float64(2*a) * x * y / (float64(j+a+b) + rest)
			}
		}
		if e > f1 {
			k, f1 = j, e
		}
	}
	return max(k, 1), f1
}

// another returns the distribution of a number to which one more is added with probability p.
func another(d []float64, p float64) []float64 {
	e := make([]float64, len(d)+1)
	for s, v := range d {
		e[s] += float64(v * (1 - p))
		e[s+1] += float64(v * p)
	}
	return e
}

// Link is an edge from node A to node B and its probability.
type Link struct {
	A, B int
	P    float64
}

// falling lists the links of w, n × n without the diagonal, the likeliest first.
func falling(w []float64, n int) []Link {
	ls := make([]Link, 0, n*n)
	for a := range n {
		for b := range n {
			if a != b {
				ls = append(ls, Link{a, b, w[a*n+b]})
			}
		}
	}
	slices.SortFunc(ls, func(x, y Link) int {
		return cmp.Or(cmp.Compare(y.P, x.P), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return ls
}

// acyclic takes links of nodes 0 to n-1 in their order. It skips a link that closes a cycle and, in a chain, a second
// link that leaves or enters a node: Kruskal's algorithm for trees, with directions.
func acyclic(all []Link, n int, chain bool) (links []Link) {
	reach := make([]bool, n*n) // reach[a·n+b]: a path leads from a to b
	for i := range n {
		reach[i*n+i] = true
	}
	for _, l := range all {
		taken := func(o Link) bool { return chain && (o.A == l.A || o.B == l.B) }
		if reach[l.B*n+l.A] || slices.ContainsFunc(links, taken) {
			continue
		}
		links = append(links, l)
		for a := range n {
			for b := range n {
				reach[a*n+b] = reach[a*n+b] || reach[a*n+l.A] && reach[l.B*n+b]
			}
		}
	}
	return links
}

// Path returns an order of nodes 0 to n-1 with a large sum of w over neighbours: w[a·n+b] ≥ 0 is the value of b right
// after a. Up to ten nodes the sum is the largest (Held and Karp, 1962); with more, links are taken from the best to
// the worst if they still fit into one path.
func Path(w []float64, n int) []int {
	if n > exactPath {
		return Order(acyclic(falling(w, n), n, true), n)
	}
	if n == 0 {
		return nil
	}
	best, from := make([]float64, n<<n), make([]int8, n<<n)
	for set := 1; set < 1<<n; set++ {
		for b := range n {
			if set>>b&1 == 0 {
				continue
			}
			others := set &^ (1 << b)
			at := set*n + b
			from[at] = -1
			for a := range n {
				if others>>a&1 == 0 {
					continue
				}
				if v := best[others*n+a] + w[a*n+b]; from[at] < 0 || v > best[at] {
					best[at], from[at] = v, int8(a)
				}
			}
		}
	}
	set := 1<<n - 1
	last := 0
	for b := range n {
		if best[set*n+b] > best[set*n+last] {
			last = b
		}
	}
	order := make([]int, n)
	for last >= 0 {
		order[bits.OnesCount(uint(set))-1] = last
		set, last = set&^(1<<last), int(from[set*n+last])
	}
	return order
}

// Links returns the likeliest links of nodes 0 to n-1 that form no cycle, as many as maximise the expected F1
// 2·Σ_{taken} p / (taken + Σ p / share); p[a·n+b] is the probability of a link from a to b, and share, more than 0, is
// the share of all true links that are between these nodes.
func Links(p []float64, n int, share float64) []Link {
	all := falling(p, n)
	total := 0.0
	for _, l := range all {
		total += l.P
	}
	total /= share
	take, best, sum := 0, 0.0, 0.0
	for i, l := range all {
		sum += l.P
		if f1 := 2 * sum / (float64(i+1) + total); f1 > best {
			take, best = i+1, f1
		}
	}
	return acyclic(all[:take], n, false)
}

// Order sorts nodes 0 to n-1 so that every link leads forward; among the nodes that may come next, the smallest number
// comes first. The links must form no cycle.
func Order(links []Link, n int) []int {
	order := make([]int, 0, n)
	done := make([]bool, n)
	for len(order) < n {
		for i := range n {
			free := !done[i]
			for _, l := range links {
				free = free && (l.B != i || done[l.A])
			}
			if free {
				done[i] = true
				order = append(order, i)
				break
			}
		}
	}
	return order
}
