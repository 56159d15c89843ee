package spectral

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// An embedding holds the components of k vectors for every row and column of H in a component that the vectors reach.
type embedding struct {
	s        *spectrum
	k        int
	vertices []int32 // see part
	x        []float64
}

// embed returns the vectors of the first k triplets, each weighted by its singular value, so that vectors near the
// noise count less.
func (s *spectrum) embed(k int) embedding {
	e := embedding{s: s, k: k}
	columns := make([][]int, len(s.solvers))
	for t, l := range s.all[:k] {
		columns[l.part] = append(columns[l.part], t)
	}
	for c, ts := range columns {
		if ts == nil {
			continue
		}
		e.vertices = append(e.vertices, s.solvers[c].vertices...)
		at := len(e.x)
		e.x = append(e.x, make([]float64, len(s.solvers[c].vertices)*k)...)
		for j, vector := range s.solvers[c].vectors(len(ts)) {
			for i, x := range vector {
				e.x[at+i*k+ts[j]] = float64(x * s.all[ts[j]].sigma)
			}
		}
	}
	return e
}

// points returns the first k components of each vertex as a unit vector, so that rarely used tools count as much as
// hubs.
func (e embedding) points(k int) points {
	n := len(e.vertices)
	p := points{n: n, dim: k, x: make([]float64, n*k), squares: make([]float64, n)}
	for i := range n {
		x := p.at(i)
		copy(x, e.x[i*e.k:])
		if length := numeric.Norm(x); length > 0 {
			scale(1/length, x)
		}
		p.squares[i] = numeric.Dot(x, x)
	}
	return p
}

// A clustering is one candidate result.
type clustering struct {
	labels  []int32 // of rows, then columns
	k       int
	quality float64
}

// cluster runs k-means on the first k vectors. The first vector of a component is positive everywhere, so a point is
// zero only if no vector reaches its component; such points form one cluster per component.
func (e embedding) cluster(k int, seed uint64, H numeric.Matrix) (c clustering) {
	c.labels = slices.Repeat([]int32{-1}, H.Rows+H.Cols)
	for i, l := range e.s.solvers {
		for _, v := range l.vertices {
			c.labels[v] = int32(k + i)
		}
	}
	if len(e.vertices) > 0 {
		for i, label := range kmeans(e.points(k), k, seed) {
			c.labels[e.vertices[i]] = label
		}
	}
	c.k = canonical(c.labels)
	c.quality = modularity(H, c.labels, c.k)
	return c
}

// modularity returns Barber's modularity for bipartite graphs,
//
//	Q = Σ_c ( w(c)/W - R(c)·C(c)/W² )
//
// where w(c) is the weight inside c, R and C are the sums of its row and column degrees, and W is the total weight.
func modularity(H numeric.Matrix, labels []int32, k int) (q float64) {
	largest := slices.Max(append([]float64{0}, H.Weight...))
	within, R, C, W := make([]float64, k), make([]float64, k), make([]float64, k), 0.0
	for i := range H.Rows {
		cols, weights := H.Row(int32(i))
		for e, c := range cols {
			a, b := labels[i], labels[H.Rows+int(c)]
			if a < 0 || b < 0 {
				continue
			}
			w := weights[e] / largest
			W += w
			R[a] += w
			C[b] += w
			if a == b {
				within[a] += w
			}
		}
	}
	for c := range within {
		q += within[c]/W - float64((R[c]/W)*(C[c]/W))
	}
	return q
}

// points are n vectors of the same dimension, of length 1 or 0, one after another.
type points struct {
	n, dim  int
	x       []float64
	squares []float64 // |x|² of each
}

func (p points) at(i int) []float64 { return p.x[i*p.dim : (i+1)*p.dim : (i+1)*p.dim] }

const (
	restarts   = 8    // starts of k-means
	sampled    = 4096 // maximum number of points that the starts use; all points only refine the best start
	iterations = 30
	polish     = 3     // rounds of assignment of all points to the best centres of a sample
	same       = 1e-12 // squared distance below which two points are equal
	tie        = 1e-9  // difference in closeness, quality or gap that counts as rounding
	piece      = 1024  // points that one processor takes at a time
)

// kmeans divides points into at most k groups, fewer if there are fewer distinct points, and
// returns labels in order of first occurrence. Starts are drawn by k-means++ (Arthur and
// Vassilvitskii, 2007), each from its own random numbers, so that they can run in parallel. The
// start with the least sum of squared distances is used; among equal ones, the one whose labels
// compare smaller.
func kmeans(p points, k int, seed uint64) []int32 {
	sample := p
	if p.n > sampled {
		sample = draw(p, sampled, rand.New(rand.NewPCG(seed, math.MaxUint64)))
	}
	starts := make([]*lloyd, restarts)
	spread(len(starts), 1, func(i, _ int) {
		starts[i] = &lloyd{points: sample, centres: seeds(sample, k, rand.New(rand.NewPCG(seed, math.MaxUint64-1-uint64(i))))}
		starts[i].run(iterations)
		canonical(starts[i].labels)
	})
	best := starts[0]
	for _, s := range starts[1:] {
		margin := float64(tie * (1 + best.inertia))
		if s.inertia < best.inertia-margin || s.inertia < best.inertia+margin && slices.Compare(s.labels, best.labels) < 0 {
			best = s
		}
	}
	if p.n > sampled {
		best = &lloyd{points: p, centres: best.centres}
		best.run(polish)
		canonical(best.labels)
	}
	return best.labels
}

// draw takes m points without replacement, in their order.
func draw(p points, m int, r *rand.Rand) points {
	s := points{m, p.dim, make([]float64, 0, m*p.dim), make([]float64, 0, m)}
	for i := range p.n {
		if r.IntN(p.n-i) < m-len(s.squares) {
			s.x = append(s.x, p.at(i)...)
			s.squares = append(s.squares, p.squares[i])
		}
	}
	return s
}

// seeds draws centres, each with a probability proportional to the squared distance from those
// drawn before. They are in the order of the points, so that a point halfway goes to the first.
func seeds(p points, k int, r *rand.Rand) (centres []float64) {
	chosen := []int{r.IntN(p.n)}
	d := slices.Repeat([]float64{math.Inf(1)}, p.n)
	for len(chosen) < k {
		last := chosen[len(chosen)-1]
		c, square := p.at(last), p.squares[last]
		total := 0.0
		for i := range d {
			if far := p.squares[i] + square - float64(2*numeric.Dot(p.at(i), c)); far < d[i] {
				d[i] = far
				if far < same {
					d[i] = 0
				}
			}
			total += d[i]
		}
		if total == 0 {
			break // every point is a centre
		}
		x, next := float64(r.Float64()*total), -1
		for i := range d {
			if d[i] > 0 {
				next = i
				if x -= d[i]; x < 0 {
					break
				}
			}
		}
		chosen = append(chosen, next)
	}
	slices.Sort(chosen)
	for _, i := range chosen {
		centres = append(centres, p.at(i)...)
	}
	return centres
}

// A lloyd moves centres to the means of their points until no point changes sides.
type lloyd struct {
	points
	centres   []float64
	labels    []int32
	inertia   float64
	closeness []float64 // x·c - |c|²/2 of the own centre
}

func (l *lloyd) centre(j int) []float64 { return l.centres[j*l.dim : (j+1)*l.dim] }

// run repeats assignment and means until no label changes.
func (l *lloyd) run(rounds int) {
	l.labels, l.closeness = make([]int32, l.n), make([]float64, l.n)
	for round := range rounds {
		changed := l.assign()
		if round > 0 && !changed || round+1 == rounds {
			return
		}
		l.means()
	}
}

// assign finds the nearest centre of every point, the first of equal ones, and reports whether a label changed. The
// centres are read by columns, so that the products of a point with all of them are sums of a few long vectors. The
// inertia is summed over pieces of fixed size in their order, so it does not depend on the number of processors.
func (l *lloyd) assign() bool {
	k := len(l.centres) / l.dim
	columns, half := make([][]float64, l.dim), make([]float64, k)
	for t := range columns {
		columns[t] = make([]float64, k)
		for j := range k {
			columns[t][j] = l.centres[j*l.dim+t]
		}
	}
	for j := range half {
		half[j] = -numeric.Dot(l.centre(j), l.centre(j)) / 2
	}
	pieces := (l.n + piece - 1) / piece
	inertia, changed := make([]float64, pieces), make([]bool, pieces)
	spread(l.n, piece, func(lo, hi int) {
		near := make([]float64, k)
		for i := lo; i < hi; i++ {
			copy(near, half)
			combine(near, columns, l.at(i), 0)
			best := 0
			for j, c := range near {
				if c > near[best]+tie {
					best = j
				}
			}
			changed[lo/piece] = changed[lo/piece] || best != int(l.labels[i])
			l.labels[i], l.closeness[i] = int32(best), near[best]
			inertia[lo/piece] += l.squares[i] - float64(2*near[best]) // |x-c|²
		}
	})
	l.inertia = max(0, numeric.Sum(inertia))
	return slices.Contains(changed, true)
}

// means moves every centre to the mean of its points, and a centre without points to the point that
// is farthest from its own centre.
func (l *lloyd) means() {
	clear(l.centres)
	count := make([]int, len(l.centres)/l.dim)
	for i, c := range l.labels {
		count[c]++
		numeric.Axpy(1, l.at(i), l.centre(int(c)))
	}
	for j, n := range count {
		if n > 0 {
			scale(1/float64(n), l.centre(j))
			continue
		}
		farthest, most := 0, math.Inf(-1)
		for i, near := range l.closeness {
			if far := l.squares[i] - float64(2*near); far > most {
				farthest, most = i, far
			}
		}
		copy(l.centre(j), l.at(farthest))
		l.closeness[farthest] = math.MaxFloat64 // not for the next empty one
	}
}

// canonical renumbers labels in order of first occurrence, leaves negative ones unchanged, and
// returns the number of distinct labels.
func canonical(labels []int32) int {
	number := map[int32]int32{}
	for i, c := range labels {
		if c < 0 {
			continue
		}
		n, known := number[c]
		if !known {
			n = int32(len(number))
			number[c] = n
		}
		labels[i] = n
	}
	return len(number)
}
