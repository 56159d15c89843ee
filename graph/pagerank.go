package graph

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"

	"waymark/internal/numeric"
)

// PageRankOptions are the options of [PageRank]. The zero value stands for the defaults.
type PageRankOptions struct {
	Damping   float64 // share of the rank that follows edges, in (0, 1); 0 stands for 0.85
	Tolerance float64 // stop when a sweep changes the ranks by at most this much, as L1 norm; 0 stands for 1e-10
	MaxSweeps int     // maximum number of sweeps; 0 stands for 200
}

// withDefaults replaces zeros by the defaults and then checks the values.
func (o PageRankOptions) withDefaults() (PageRankOptions, error) {
	o = PageRankOptions{cmp.Or(o.Damping, 0.85), cmp.Or(o.Tolerance, 1e-10), cmp.Or(o.MaxSweeps, 200)}
	if !(o.Damping > 0 && o.Damping < 1) || !(o.Tolerance > 0) || math.IsInf(o.Tolerance, 1) || o.MaxSweeps < 0 { // NaN too
		return o, fmt.Errorf("PageRank: damping %v is not between 0 and 1, or tolerance %v or %d sweeps not positive",
			o.Damping, o.Tolerance, o.MaxSweeps)
	}
	return o, nil
}

// A Ranking holds the PageRanks of all nodes, which add up to 1, and how the iteration ended.
type Ranking struct {
	Ranks  []float64
	Sweeps int
	// Residual is the L1 change of the last sweep. With damping d the L1 error of the ranks is at
	// most d/(1-d) times the residual, doubled by the division that makes them add up to 1.
	Residual float64
}

// PageRank returns the stationary distribution of a walk. With probability d the walk follows the
// edges of g in proportion to their weights; otherwise, or if no weight leads on, it jumps to any
// node with equal probability:
//
//	r(v) = (1-d)/n + d·(Σ_{u → v} r(u)·w(u, v)/w(u, ·) + Σ_{u dangling} r(u)/n)
//
// (Page, Brin, Motwani, Winograd, "The PageRank citation ranking", 1998). Both jumps spread evenly,
// so r is proportional to the solution of x = 1/n + d·Pᵀx over the edges alone. Gauss-Seidel sweeps
// over the nodes in order solve this system, and the solution is scaled to add up to 1 (Del Corso,
// Gullí, Romani, "Fast PageRank computation via a sparse linear system", 2005). Between the sweeps
// the ranks are extrapolated ([acceleration]), which saves a third of the sweeps; the last step is
// always a sweep, so the error bound of [Ranking] holds.
//
// A sweep reads 12 bytes per edge, and the ranks take 32 bytes per node.
func PageRank(g *Graph, o PageRankOptions) (Ranking, error) {
	scale := make([]float64, g.n)
	for u := range int32(g.n) {
		_, w := g.Out(u)
		s := sharesOf(w)
		if s.unit != 1 {
			return pageRank(g.n, g.inStart, g.in, transitions(g), nil, o)
		}
		scale[u] = s.inverse
	}
	return pageRank(g.n, g.inStart, g.in, g.inWeight, scale, o)
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

// leastOut and mostOut limit the sums of a row that leave room for quotients and products.
const leastOut, mostOut = 1e-280, 1e280

// shares divides the weights of a row by their sum. The unit is 1. If the sum or its inverse is
// near the limits of floating point, where digits are lost, the unit is the largest weight.
type shares struct{ unit, inverse float64 }

// sharesOf returns zero shares for a row without weight: its node counts as one without edges.
func sharesOf(w []float64) shares {
	if len(w) == 0 {
		return shares{1, 0}
	}
	if sum := numeric.Sum(w); sum >= leastOut && sum <= mostOut {
		return shares{1, 1 / sum}
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

// pageRank computes the ranks of n nodes. Row v, from start[v] to start[v+1], holds the nodes u
// with an edge to v and the weight of that edge; the weight times scale[u] is the probability of
// the edge. Without a scale the weights are probabilities.
func pageRank(n int, start, from []int32, weight, scale []float64, o PageRankOptions) (Ranking, error) {
	o, err := o.withDefaults()
	if err != nil || n == 0 {
		return Ranking{}, err
	}
	d, jump := o.Damping, (1-o.Damping)/float64(n)
	x := slices.Repeat([]float64{1 / float64(n)}, n)
	s := &solution{x: x, start: start, from: from, weight: weight, scale: scale, damping: d, jump: jump}
	s.faster = newAcceleration(n, d)
	s.iterate(o.Tolerance, o.MaxSweeps)
	r := Ranking{Ranks: x, Sweeps: s.sweeps, Residual: s.residual}
	sum := numeric.Sum(x)
	for v := range x {
		x[v] /= sum
	}
	return r, nil
}

// A solution is the state of the iteration.
type solution struct {
	x           []float64 // the ranks, not yet scaled to sum 1
	start, from []int32
	weight      []float64
	scale       []float64
	damping     float64
	jump        float64
	faster      *acceleration
	sweeps      int
	residual    float64
}

// iterate sweeps until the ranks change by no more than tolerance. y holds the ranks per unit of weight, which a sweep
// reads in the order of the edges.
func (s *solution) iterate(tolerance float64, mostSweeps int) {
	y := make([]float64, len(s.x))
	s.perUnit(y)
	for first := true; s.sweeps < mostSweeps; first = false {
		if !first && s.faster.carryOn(s.x, s.jump) {
			s.perUnit(y)
		}
		s.sweeps++
		runtime.Gosched()
		num, den := s.sweep(y)
		if s.residual <= tolerance {
			return
		}
		s.faster.judge(s.residual, num, den)
	}
}

// perUnit sets y to the ranks per unit of weight.
func (s *solution) perUnit(y []float64) {
	copy(y, s.x)
	for v, of := range s.scale {
		y[v] *= of
	}
}

// sweep makes one Gauss-Seidel sweep and returns the sums that [acceleration.judge] uses.
func (s *solution) sweep(y []float64) (num, den float64) {
	change, sum := 0.0, 0.0
	x, scale, before, y := s.x, s.scale, s.faster.step[:len(s.x)], y[:len(s.x)]
	a := s.start[0]
	for v, b := range s.start[1 : len(x)+1] {
		us := s.from[a:b]
		ws := s.weight[a:b:b][:len(us)]
		a = b
		s0, s1 := 0.0, 0.0
		i := 0
		for ; i < len(us)-1; i += 2 {
			s0 += float64(y[us[i]] * ws[i])
			s1 += float64(y[us[i+1]] * ws[i+1])
		}
		if i < len(us) {
			s0 += float64(y[us[i]] * ws[i])
		}
		next := s.jump + float64(s.damping*(s0+s1))
		step := next - x[v]
		change += math.Abs(step)
		sum += next
		x[v] = next
		y[v] = next
		if scale != nil {
			y[v] *= scale[v]
		}
		difference := step - float64(before[v])
		num += float64(step * difference)
		den += float64(difference * difference)
		before[v] = float32(step)
	}
	s.residual = change / sum // sum ≥ n·jump > 0
	return num, den
}

// An acceleration extrapolates an iteration that converges like a geometric series (Anderson,
// "Iterative procedures for nonlinear integral equations", 1965, of depth 1). Let f be the step of
// the last sweep and f' that of the sweep before. The ranks g after the last sweep are moved by
//
//	α·(g - g'),  α = -Σ f·(f - f') / Σ (f - f')²
//
// where g' are the ranks after the sweep before. For f = λ·f' this gives the limit, α = λ/(1-λ). As
// λ is within -1..d, α is within -1/2..d/(1-d). An extrapolation is a miss if the sweep after it
// changes more than the sweep before it; after 8 misses there are no more extrapolations, and plain
// sweeps always converge.
type acceleration struct {
	step      []float32 // f; single precision is enough, as sweeps correct the errors of an extrapolation
	shift     []float32 // the extrapolation before the current sweep
	least     float64
	most      float64
	alpha     float64
	change    float64
	misses    int
	remembers bool // an earlier step is known and was no miss
}

func newAcceleration(n int, d float64) *acceleration {
	return &acceleration{step: make([]float32, n), shift: make([]float32, n), least: -.5, most: d / (1 - d), change: math.Inf(1)}
}

// judge ends a sweep that changed the ranks by change and sets α for the next extrapolation; num
// and den are the sums in α.
func (a *acceleration) judge(change, num, den float64) {
	const mostMisses = 8
	if a.alpha != 0 && change > a.change {
		a.misses++
		a.remembers = false
	}
	a.alpha = 0
	if a.remembers && a.misses < mostMisses && den > 0 {
		a.alpha = max(a.least, min(-num/den, a.most))
	}
	a.change, a.remembers = change, true
}

// carryOn extrapolates and reports whether it did. No rank goes below jump, that of a node without incoming edges.
func (a *acceleration) carryOn(x []float64, jump float64) bool {
	alpha := a.alpha
	if alpha == 0 {
		clear(a.shift)
		return false
	}
	step, shift := a.step[:len(x)], a.shift[:len(x)]
	for v, r := range x {
		s := float64(alpha * (float64(step[v]) + float64(shift[v])))
		shift[v] = float32(s)
		x[v] = max(r+s, jump)
	}
	return true
}
