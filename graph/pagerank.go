package graph

import (
	"fmt"
	"math"
	"slices"

	"waymark/numeric"
)

// PageRankOptions say how ranks are computed. The zero value stands for the defaults.
type PageRankOptions struct {
	Damping   float64   // share of the rank that follows edges, in (0, 1); 0 stands for 0.85
	Tolerance float64   // stop when a sweep changes the ranks by at most this much, as L1 norm; 0 stands for 1e-10
	MaxSweeps int       // stop after as many sweeps; 0 stands for 200
	Start     []float64 // ranks to begin from, as of a slightly older graph; nil is the uniform start
}

func (o PageRankOptions) withDefaults() (PageRankOptions, error) {
	if o.Damping == 0 {
		o.Damping = 0.85
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-10
	}
	if o.MaxSweeps == 0 {
		o.MaxSweeps = 200
	}
	switch {
	case !(o.Damping > 0 && o.Damping < 1): // NaN too
		return o, fmt.Errorf("PageRank: damping %v is not between 0 and 1", o.Damping)
	case !(o.Tolerance > 0) || math.IsInf(o.Tolerance, 1):
		return o, fmt.Errorf("PageRank: tolerance %v is not a positive number", o.Tolerance)
	case o.MaxSweeps < 0:
		return o, fmt.Errorf("PageRank: %d sweeps", o.MaxSweeps)
	}
	return o, nil
}

// A Ranking is the PageRanks of all nodes, which add up to 1, and how they were reached.
type Ranking struct {
	Ranks  []float64
	Sweeps int
	// Residual is the L1 change of the last sweep. With damping d the L1 error of the ranks is at
	// most d/(1-d) times the residual, doubled by the division that makes them add up to 1.
	Residual float64
}

// PageRank returns the stationary distribution of a walk that follows the edges of g in
// proportion to their weights with probability d and otherwise, or where no weight leads on,
// jumps to any node alike:
//
//	r(v) = (1-d)/n + d·(Σ_{u → v} r(u)·w(u, v)/w(u, ·) + Σ_{u dangling} r(u)/n)
//
// (Page, Brin, Motwani, Winograd, "The PageRank citation ranking", 1998). Both jumps spread
// evenly, so r is proportional to the solution of x = 1/n + d·Pᵀx over the edges alone: that is
// solved by Gauss-Seidel sweeps over the nodes in order, and made to add up to 1 (Del Corso,
// Gullí, Romani, "Fast PageRank computation via a sparse linear system", 2005).
func PageRank(g *Graph, o PageRankOptions) (Ranking, error) {
	return pageRank(g.n, g.inStart, g.in, transitions(g), o)
}

// transitions returns w(u, v)/w(u, ·) for every edge, in the order of the in lists.
func transitions(g *Graph) []float64 {
	to := make([]shares, g.n)
	for u := range int32(g.n) {
		_, w := g.Out(u)
		to[u] = sharesOf(w)
	}
	p := make([]float64, len(g.in))
	for i, u := range g.in {
		p[i] = to[u].of(g.inWeight[i])
	}
	return p
}

// shares turn the weights of a row into shares of their sum. The unit is 1; only where the sum or
// its inverse would leave the range of floating point it is the largest weight.
type shares struct{ unit, inverse float64 }

func sharesOf(w []float64) shares {
	inverse := 1 / numeric.Sum(w)
	if inverse > 0 && inverse <= math.MaxFloat64 || len(w) == 0 {
		return shares{1, inverse}
	}
	largest := slices.Max(w)
	if largest == 0 {
		return shares{1, 0}
	}
	sum := 0.0
	for _, x := range w {
		sum += x / largest
	}
	return shares{largest, 1 / sum}
}

func (s shares) of(w float64) float64 {
	if s.unit != 1 {
		w /= s.unit
	}
	return float64(w * s.inverse)
}

// pageRank solves for the ranks of n nodes where in row v, from start[v] to start[v+1], stand the
// nodes u with an edge to v and the probability p of that edge.
func pageRank(n int, start, from []int32, p []float64, o PageRankOptions) (Ranking, error) {
	o, err := o.withDefaults()
	if err != nil || n == 0 {
		return Ranking{}, err
	}
	d, jump := o.Damping, (1-o.Damping)/float64(n)
	x, err := startRanks(n, o.Start)
	if err != nil {
		return Ranking{}, err
	}
	r := Ranking{Ranks: x}
	for r.Sweeps < o.MaxSweeps {
		r.Sweeps++
		change, sum := 0.0, 0.0
		for v := range n {
			a, b := start[v], start[v+1]
			us := from[a:b]
			ps := p[a:b:b][:len(us)]
			s0, s1 := 0.0, 0.0
			i := 0
			for ; i+2 <= len(us); i += 2 {
				s0 += float64(x[us[i]] * ps[i])
				s1 += float64(x[us[i+1]] * ps[i+1])
			}
			if i < len(us) {
				s0 += float64(x[us[i]] * ps[i])
			}
			next := jump + float64(d*(s0+s1))
			change += math.Abs(next - x[v])
			sum += next
			x[v] = next
		}
		r.Residual = change / sum // sum ≥ n·jump > 0
		if r.Residual <= o.Tolerance {
			break
		}
	}
	sum := numeric.Sum(x)
	for v := range x {
		x[v] /= sum
	}
	return r, nil
}

func startRanks(n int, given []float64) ([]float64, error) {
	x := make([]float64, n)
	if given == nil {
		for v := range x {
			x[v] = 1 / float64(n)
		}
		return x, nil
	}
	if len(given) != n {
		return nil, fmt.Errorf("PageRank: %d ranks to start from for %d nodes", len(given), n)
	}
	for v, r := range given {
		if !(r >= 0 && r <= 1) {
			return nil, fmt.Errorf("PageRank: start rank %v of node %d is not between 0 and 1", r, v)
		}
		x[v] = r
	}
	return x, nil
}
