package graph

import (
	"fmt"
	"math"
	"slices"

	"waymark/numeric"
)

// RanksOptions say how [Ranks] are kept up to date. The zero value stands for the defaults.
type RanksOptions struct {
	Damping  float64 // as in [PageRankOptions]; 0 stands for 0.85
	Epsilon  float64 // residuals above Epsilon/n are pushed on; 0 stands for 1e-3
	MaxEdges int     // edges walked in one update before the rest is left to the next; 0 stands for 50,000

	Start []float64 // ranks to begin from, as of a slightly older graph; nil is the uniform start
}

// Ranks are the PageRanks of a graph that changes edge by edge, kept up to date by pushing what
// a change sets free along the edges, as far as it matters (Andersen, Chung, Lang, "Local graph
// partitioning using PageRank vectors", 2006; Zhang, Lofgren, Goel, "Approximate personalized
// PageRank on dynamic graphs", 2016). With x the ranks, not normalised, and P the transitions,
//
//	r = 1 + d·Pᵀx - x
//
// is the residual, which is zero for the exact ranks. A push of u adds r(u) to x(u) and
// d·r(u)·P(u, v) to the r(v) of every v after u. The error of the normalised ranks is at most
// [Ranks.Drift], whatever came before; pushing far enough from a cold start costs more than sweeps,
// so Ranks begin from a [PageRank].
//
// An update costs about the square root of the size of the graph on average, and at most MaxEdges
// and the edges of two nodes. Ranks are for one goroutine at a time. The result depends on the graph
// and the updates in their order, and on nothing else.
type Ranks struct {
	d, threshold float64
	epsilon      float64
	maxEdges     int

	rows [][]link
	out  []float64 // sum of the weights of a row
	x    []float64
	r    []float64

	sum      float64 // Σ x
	residual float64 // Σ |r|

	queue  []int32 // a ring of the nodes with |r| above the threshold
	head   int
	length int
	queued []bool
}

// A link is an edge in the row of its source.
type link struct {
	weight float64
	to     int32
}

// An Update is what it took to take a change in.
type Update struct {
	Pushes  int     // nodes pushed
	Edges   int     // edges walked
	Pending int     // nodes still to be pushed, because MaxEdges were walked
	Drift   float64 // [Ranks.Drift] after it
}

// The sums of weights of a row that leave room for quotients and products.
const leastOut, mostOut = 1e-280, 1e280

// NewRanks solves for the ranks of g and makes ready to follow its changes; g itself does not
// change and is not kept.
func NewRanks(g *Graph, o RanksOptions) (*Ranks, error) {
	if o.Epsilon == 0 {
		o.Epsilon = 1e-3
	}
	if o.MaxEdges == 0 {
		o.MaxEdges = 50000
	}
	if !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 1) || o.MaxEdges < 0 {
		return nil, fmt.Errorf("ranks: epsilon %v and %d edges for an update are not both positive", o.Epsilon, o.MaxEdges)
	}
	solved, err := PageRank(g, PageRankOptions{Damping: o.Damping, Tolerance: min(o.Epsilon/100, 1e-6), MaxSweeps: 1000, Start: o.Start})
	if err != nil {
		return nil, err
	}
	if o.Damping == 0 {
		o.Damping = .85
	}
	s := &Ranks{
		d: o.Damping, threshold: o.Epsilon / (1 - o.Damping), epsilon: o.Epsilon, maxEdges: o.MaxEdges,
		rows: make([][]link, g.n), out: make([]float64, g.n), x: solved.Ranks, r: make([]float64, g.n),
		queue: make([]int32, g.n), queued: make([]bool, g.n),
	}
	links := make([]link, 0, len(g.out))
	follows := 0.0 // rank of nodes that lead on
	for u := range int32(g.n) {
		targets, weights := g.Out(u)
		first := len(links)
		for i, v := range targets {
			links = append(links, link{weights[i], v})
		}
		s.rows[u] = links[first:len(links):len(links)]
		s.out[u] = numeric.Sum(weights)
		if err := s.checkOut(u, s.out[u]); err != nil {
			return nil, err
		}
		if s.out[u] > 0 {
			follows += s.x[u]
		}
	}
	// The ranks add up to 1; scaled so that x = 1 + d·Pᵀx adds up, Σx = n + d·Σ{x(u): u leads on}.
	scale := float64(g.n) / (1 - float64(s.d*follows))
	for v := range s.x {
		s.x[v] *= scale
	}
	s.recompute()
	return s, nil
}

func (s *Ranks) checkOut(u int32, sum float64) error {
	if sum != 0 && !(sum >= leastOut && sum <= mostOut) {
		return fmt.Errorf("ranks: the weights of node %d add up to %v, which is not 0 and not between %v and %v", u, sum, leastOut, mostOut)
	}
	return nil
}

// recompute calculates the residuals and their sum anew and queues who is above the threshold.
func (s *Ranks) recompute() {
	for v, x := range s.x {
		s.r[v] = 1 - x
	}
	for u, row := range s.rows {
		if s.out[u] == 0 {
			continue
		}
		share := float64(s.d * s.x[u] / s.out[u])
		for _, l := range row {
			s.r[l.to] += float64(share * l.weight)
		}
	}
	s.sum, s.residual = numeric.Sum(s.x), 0
	for v := range s.r {
		s.residual += math.Abs(s.r[v])
		s.enqueue(int32(v))
	}
}

// Grow makes room for nodes up to n, isolated ones at first. It changes no rank but by the share
// that the new nodes have.
func (s *Ranks) Grow(n int) {
	more := n - len(s.x)
	if more <= 0 {
		return
	}
	s.rows = append(s.rows, make([][]link, more)...)
	s.out = append(s.out, make([]float64, more)...)
	s.x = append(s.x, slices.Repeat([]float64{1}, more)...)
	s.r = append(s.r, make([]float64, more)...)
	s.queued = append(s.queued, make([]bool, more)...)
	s.sum += float64(more)
	waiting := make([]int32, 0, n)
	for i := range s.length {
		waiting = append(waiting, s.queue[(s.head+i)%len(s.queue)])
	}
	s.queue, s.head = waiting[:n], 0
}

// Rank is the rank of v, as of a [Ranking]: all add up to 1.
func (s *Ranks) Rank(v int32) float64 { return max(s.x[v], 0) / s.sum }

// AppendTo appends the ranks of all nodes to dst.
func (s *Ranks) AppendTo(dst []float64) []float64 {
	for v := range s.x {
		dst = append(dst, s.Rank(int32(v)))
	}
	return dst
}

// Drift is a bound on the L1 distance of the ranks from the exact ones,
//
//	2·Σ|r| / ((1-d)·Σx)
//
// since x is off by (1 - d·Pᵀ)⁻¹r, whose norm is at most Σ|r|/(1-d), and the division by Σx at
// most doubles that. With nothing pending and no dangling nodes it is at most 2·Epsilon/(1-d);
// about a thirtieth of that has been measured after thousands of updates.
func (s *Ranks) Drift() float64 {
	if len(s.x) == 0 {
		return 0
	}
	return 2 * s.residual / (float64((1 - s.d) * s.sum))
}

// Add adds w, which may be negative, to the weight of u → v, which is 0 without an edge; the sum
// must not be negative. Like a graph, ranks take no notice of an edge from a node to itself.
func (s *Ranks) Add(u, v int32, w float64) (Update, error) {
	if err := s.change(u, v, w); err != nil {
		return Update{}, err
	}
	return s.push(), nil
}

// Settle goes on with what is pending, for at most MaxEdges edges.
func (s *Ranks) Settle() Update { return s.push() }

// change keeps r = 1 + d·Pᵀx - x true.
func (s *Ranks) change(u, v int32, w float64) error {
	for _, node := range []int32{u, v} {
		if node < 0 || int(node) >= len(s.x) {
			return fmt.Errorf("ranks: node %d is not one of the %d nodes", node, len(s.x))
		}
	}
	if math.IsNaN(w) || math.IsInf(w, 0) {
		return fmt.Errorf("ranks: %v to add to %d → %d is not a finite number", w, u, v)
	}
	row := s.rows[u]
	at, exists := slices.BinarySearchFunc(row, v, func(l link, v int32) int { return int(l.to) - int(v) })
	had := 0.0
	if exists {
		had = row[at].weight
	}
	if had+w < 0 {
		return fmt.Errorf("ranks: the weight %v of %d → %d less %v is negative", had, u, v, -w)
	}
	if u == v || w == 0 && exists {
		return nil
	}

	// In a long row, rather than that everybody's share falls a little, let x(u) rise as the sum of
	// the weights does: then only u and v see a difference.
	const long = 64
	before := s.out[u]
	if after := before + w; w > 0 && len(row) > long && after <= 2*before && after <= mostOut {
		if exists {
			row[at].weight = had + w
		} else {
			s.rows[u] = slices.Insert(row, at, link{w, v})
		}
		s.out[u] = after
		rise := s.x[u] * w / before
		s.x[u] += rise
		s.sum += rise
		s.raise(u, -rise)
		s.raise(v, float64(s.d*rise))
		return nil
	}

	after := 0.0
	for _, l := range row {
		if l.to != v {
			after += l.weight
		}
	}
	after += had + w
	if err := s.checkOut(u, after); err != nil {
		return err
	}
	s.spread(u, -s.x[u])
	if exists {
		row[at].weight = had + w
	} else {
		s.rows[u] = slices.Insert(row, at, link{w, v})
	}
	s.out[u] = after
	s.spread(u, s.x[u])
	return nil
}

// spread adds d·x·P(u, v) to the residual of every v after u.
func (s *Ranks) spread(u int32, x float64) {
	if s.out[u] == 0 {
		return
	}
	share := s.d * x / s.out[u]
	r, residual := s.r, s.residual
	for _, l := range s.rows[u] {
		old := r[l.to]
		now := old + float64(share*l.weight)
		r[l.to] = now
		residual += math.Abs(now) - math.Abs(old)
		if math.Abs(now) > s.threshold && !s.queued[l.to] {
			s.enqueue(l.to)
		}
	}
	s.residual = residual
}

// raise adds to the residual of v.
func (s *Ranks) raise(v int32, by float64) {
	s.residual -= math.Abs(s.r[v])
	s.r[v] += by
	s.residual += math.Abs(s.r[v])
	s.enqueue(v)
}

func (s *Ranks) enqueue(v int32) {
	if s.queued[v] || math.Abs(s.r[v]) <= s.threshold {
		return
	}
	s.queued[v] = true
	tail := s.head + s.length
	if tail >= len(s.queue) {
		tail -= len(s.queue)
	}
	s.queue[tail] = v
	s.length++
}

// push pushes the nodes of the queue, first come, first served.
func (s *Ranks) push() (u Update) {
	for s.length > 0 && u.Edges < s.maxEdges {
		v := s.queue[s.head]
		if s.head++; s.head == len(s.queue) {
			s.head = 0
		}
		s.length--
		s.queued[v] = false
		r := s.r[v]
		if math.Abs(r) <= s.threshold { // came back by itself
			continue
		}
		s.residual -= math.Abs(r)
		s.r[v] = 0
		s.x[v] += r
		s.sum += r
		s.spread(v, r)
		u.Pushes++
		u.Edges += len(s.rows[v])
	}
	s.residual = max(s.residual, 0)
	u.Pending, u.Drift = s.length, s.Drift()
	return u
}
