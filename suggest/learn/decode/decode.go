// Package decode turns probabilities into a plan: how many of the likeliest labels to take, in which
// order, and with which links between them.
//
//	p(label)      ──▶ Size    the number that maximises the expected F1
//	p(a before b) ──▶ Path    one chain through all
//	              └─▶ Links   a directed acyclic graph
//
// Everything is exact or greedy over fixed orders: equal inputs give equal bits.
package decode

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	distinguished = 60 // labels whose number is a distribution; what is less likely counts by its mean
	exactPath     = 10 // nodes up to which Path is exact: 2ⁿ·n entries
)

// Size returns the k ≤ most for which the k likeliest labels have the largest expected F1 with the true
// set, and that expectation. p holds the probability of each label, falling; labels are independent:
//
//	E F1(k) = Σ_{i≤k} p_i · Σ_s P(S₋ᵢ = s) · 2/(k + 1 + s),   S₋ᵢ = the number of true labels but i
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
	// before[i] is the distribution of the number of true labels among p[:i], after the one of p[i+1:n].
	before, after := make([][]float64, n+1), make([][]float64, n+1)
	before[0], after[n] = []float64{1}, []float64{1}
	for i := range n {
		before[i+1] = another(before[i], p[i])
	}
	for i := n; i > 0; i-- {
		after[i-1] = another(after[i], p[i-1])
	}
	gain := make([]float64, most+1)
	others := make([]float64, n)
	for i := range most {
		clear(others)
		for a, x := range before[i] {
			for b, y := range after[i+1] {
				others[a+b] += float64(x * y)
			}
		}
		for k := i + 1; k <= most; k++ {
			e := 0.0
			for s, v := range others {
				e += v / (float64(k+1+s) + rest)
			}
			gain[k] += float64(2 * float64(p[i]*e))
		}
	}
	k = 1
	for j := 2; j <= most; j++ {
		if gain[j] > gain[k] {
			k = j
		}
	}
	return k, gain[k]
}

// another is the distribution of a number to which one more is added with probability p.
func another(d []float64, p float64) []float64 {
	e := make([]float64, len(d)+1)
	for s, v := range d {
		e[s] += float64(v * (1 - p))
		e[s+1] += float64(v * p)
	}
	return e
}

// Path returns an order of nodes 0 to n-1 with a large sum of w over neighbours: w[a·n+b] is what b right
// after a is worth, at least 0. Up to ten nodes it is the largest (Held and Karp, 1962); above, links are
// taken from the best to the worst where they still fit into one path.
func Path(w []float64, n int) []int {
	if n > exactPath {
		return greedyPath(w, n)
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

// greedyPath joins pieces of a path by the likeliest link that neither branches nor closes a cycle, O(n² log
// n): what Kruskal's algorithm is for trees.
func greedyPath(w []float64, n int) []int {
	next, previous, end := make([]int, n), make([]int, n), make([]int, n) // end: the other end of a piece, at its ends
	for i := range n {
		next[i], previous[i], end[i] = -1, -1, i
	}
	for _, l := range falling(w, n) {
		if next[l.A] >= 0 || previous[l.B] >= 0 || end[l.A] == l.B {
			continue
		}
		next[l.A], previous[l.B] = l.B, l.A
		first, last := end[l.A], end[l.B]
		end[first], end[last] = last, first
	}
	order := make([]int, 0, n)
	for i := slices.Index(previous, -1); i >= 0; i = next[i] {
		order = append(order, i)
	}
	return order
}

// Links returns the likeliest links of nodes 0 to n-1 that make no cycle, as many as maximise the
// expected F1 2·Σ_{taken} p / (taken + Σ p / share); p[a·n+b] is the probability of a link from a to b, and
// share that of all true links which are between these nodes, more than 0.
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
	reach := make([]bool, n*n) // reach[a·n+b]: a path leads from a to b
	for i := range n {
		reach[i*n+i] = true
	}
	var links []Link
	for _, l := range all[:take] {
		if reach[l.B*n+l.A] {
			continue
		}
		links = append(links, l)
		for a := range n {
			if !reach[a*n+l.A] {
				continue
			}
			for b := range n {
				reach[a*n+b] = reach[a*n+b] || reach[l.B*n+b]
			}
		}
	}
	return links
}

// Order sorts nodes 0 to n-1 so that every link leads forward; of those that are free, the one with the
// smallest number stands first. The links must make no cycle.
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
