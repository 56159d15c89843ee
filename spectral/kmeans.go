package spectral

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// points are n vectors of the same dimension, about 1 long, one after another.
type points struct {
	n, dim  int
	x       []float64
	squares []float64 // |x|² of each
}

func (p points) at(i int) []float64 { return p.x[i*p.dim : (i+1)*p.dim : (i+1)*p.dim] }

const (
	sampled    = 4096 // k-means starts on as many points; all points only polish the best start
	iterations = 30
	polish     = 3     // assignments of all points to the best centres of a sample
	same       = 1e-12 // squared distance below which two points are one point
	tie        = 1e-9  // difference in closeness that is rounding
	piece      = 2048  // points that one processor takes at a time
)

// kmeans divides points into at most k groups, fewer if there are fewer distinct points, and
// returns labels in order of first occurrence. Starts are drawn by k-means++ (Arthur and
// Vassilvitskii, 2007), each from random numbers of its own, so that they can run side by side;
// the one with the least sum of squared distances wins, between equals the one whose labels
// compare smaller.
func kmeans(p points, k int, seed uint64) []int32 {
	sample := p
	if p.n > sampled {
		sample = draw(p, sampled, rand.New(rand.NewPCG(seed, math.MaxUint64)))
	}
	starts := make([]*lloyd, restarts)
	spread(len(starts), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			starts[i] = newLloyd(sample, seeds(sample, k, rand.New(rand.NewPCG(seed, math.MaxUint64-1-uint64(i)))))
			starts[i].run(iterations)
			canonical(starts[i].labels)
		}
	})
	best := starts[0]
	for _, s := range starts[1:] {
		margin := float64(1e-9 * (1 + best.inertia))
		if s.inertia < best.inertia-margin || s.inertia < best.inertia+margin && slices.Compare(s.labels, best.labels) < 0 {
			best = s
		}
	}
	if p.n > sampled {
		best = newLloyd(p, best.centres)
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
// before. They stand in the order of the points, so that a point between two goes with the first.
func seeds(p points, k int, r *rand.Rand) []float64 {
	chosen := []int{r.IntN(p.n)}
	d := make([]float64, p.n)
	for i := range d {
		d[i] = math.Inf(1)
	}
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
	centres := make([]float64, 0, len(chosen)*p.dim)
	for _, i := range chosen {
		centres = append(centres, p.at(i)...)
	}
	return centres
}

// A lloyd moves centres to the means of their points until no point changes sides. A point is
// compared with all centres only if neither of two bounds shows that its own is still the nearest:
// half the way from its centre to the next centre, and how far all other centres were at least
// when it was last compared, less how far any has moved since (Hamerly, "Making k-means even
// faster", 2010).
type lloyd struct {
	points
	k         int
	centres   []float64
	labels    []int32
	inertia   float64
	closeness []float64 // x·c - |c|²/2 of the own centre
	others    []float64 // at least so far are the other centres; 0 at first
	half      []float64 // |c|²/2
	safe      []float64 // half the distance to the nearest other centre
}

// newLloyd copies the centres: several runs start from the same ones.
func newLloyd(p points, centres []float64) *lloyd {
	k := len(centres) / p.dim
	return &lloyd{
		points: p, k: k, centres: slices.Clone(centres),
		labels: make([]int32, p.n), closeness: make([]float64, p.n), others: make([]float64, p.n),
		half: make([]float64, k), safe: make([]float64, k),
	}
}

func (l *lloyd) centre(j int) []float64 { return l.centres[j*l.dim : (j+1)*l.dim : (j+1)*l.dim] }

// run repeats assignment and means until no label changes. The inertia is summed over pieces of fixed size in
// their order, so it does not depend on the number of processors. A centre's move lowers the bound on the
// distance to all others by as much as the farthest one moved.
func (l *lloyd) run(rounds int) {
	pieces := (l.n + piece - 1) / piece
	inertia, changed := make([]float64, pieces), make([]bool, pieces)
	for round := range rounds {
		l.distances()
		spread(l.n, piece, func(lo, hi int) {
			inertia[lo/piece], changed[lo/piece] = l.assign(lo, hi)
		})
		l.inertia = max(0, numeric.Sum(inertia))
		if round > 0 && !slices.Contains(changed, true) || round+1 == rounds {
			return
		}
		before := slices.Clone(l.centres)
		l.means()
		moved := 0.0
		for j := range l.k {
			old := before[j*l.dim : (j+1)*l.dim]
			numeric.Axpy(-1, l.centre(j), old)
			moved = max(moved, numeric.Norm(old))
		}
		for i := range l.others {
			l.others[i] -= moved
		}
	}
}

// distances computes safe: a point nearer to its centre than half the distance to any other keeps its label.
//
//	|a - b|² = 2·(|a|²/2 + |b|²/2 - a·b)
func (l *lloyd) distances() {
	for j := range l.k {
		l.half[j] = numeric.Dot(l.centre(j), l.centre(j)) / 2
	}
	for i := range l.k {
		nearest := math.MaxFloat64
		for j := range l.k {
			if i != j {
				nearest = min(nearest, 2*(l.half[i]+l.half[j]-numeric.Dot(l.centre(i), l.centre(j))))
			}
		}
		l.safe[i] = math.Sqrt(max(0, nearest)) / 2
	}
}

// assign finds the nearest centres of some points, the first of equals.
func (l *lloyd) assign(lo, hi int) (inertia float64, changed bool) {
	const rounding = 1e-6 // more than the bounds can be wrong by
	near := make([]float64, l.k)
	for i := lo; i < hi; i++ {
		x := l.at(i)
		own, square := int(l.labels[i]), l.squares[i]
		most := numeric.Dot(x, l.centre(own)) - l.half[own]
		if distance(square, most)+rounding >= max(l.others[i], l.safe[own]) {
			l.compare(x, near)
			best, second := 0, -math.MaxFloat64
			most = -math.MaxFloat64
			for j, c := range near {
				if c > most+tie {
					best, most, second = j, c, most
				} else if c > second {
					second = c
				}
			}
			l.others[i] = distance(square, second)
			if best != own {
				l.labels[i], changed = int32(best), true
			}
		}
		l.closeness[i] = most
		inertia += square - float64(2*most) // |x-c|²
	}
	return inertia, changed
}

// compare sets the closeness of x to every centre.
func (l *lloyd) compare(x, near []float64) {
	j := 0
	for ; j+4 <= l.k; j += 4 {
		p, q, r, s := dotFour(x, l.centre(j), l.centre(j+1), l.centre(j+2), l.centre(j+3))
		near[j], near[j+1], near[j+2], near[j+3] = p-l.half[j], q-l.half[j+1], r-l.half[j+2], s-l.half[j+3]
	}
	for ; j < l.k; j++ {
		near[j] = numeric.Dot(x, l.centre(j)) - l.half[j]
	}
}

// distance is |x-c| from |x|² and the closeness x·c - |c|²/2.
func distance(square, closeness float64) float64 {
	return math.Sqrt(max(0, square-float64(2*closeness)))
}

// means puts every centre into the middle of its points, and one that has none onto the point
// that is farthest from its own centre. Sums of pieces are added in their order.
func (l *lloyd) means() {
	const pieces = 8
	size := (l.n + pieces - 1) / pieces
	sums, sizes := make([][]float64, pieces), make([][]int, pieces)
	spread(l.n, size, func(lo, hi int) {
		sum, count := make([]float64, len(l.centres)), make([]int, l.k)
		for i := lo; i < hi; i++ {
			c := int(l.labels[i])
			count[c]++
			s := sum[c*l.dim : (c+1)*l.dim]
			for t, x := range l.at(i)[:len(s)] {
				s[t] += x
			}
		}
		sums[lo/size], sizes[lo/size] = sum, count
	})
	clear(l.centres)
	count := make([]int, l.k)
	for i, sum := range sums {
		numeric.Axpy(1, sum, l.centres)
		for j, n := range sizes[i] {
			count[j] += n
		}
	}
	for j, n := range count {
		c := l.centre(j)
		if n > 0 {
			scale(1/float64(n), c)
			continue
		}
		farthest, most := 0, -1.0
		for i, near := range l.closeness {
			if far := distance(l.squares[i], near); far > most {
				farthest, most = i, far
			}
		}
		copy(c, l.at(farthest))
		l.closeness[farthest] = math.MaxFloat64 // not for the next empty one
	}
}

// canonical numbers labels in order of first occurrence, leaves negative ones, and returns how
// many there are.
func canonical(labels []int32) int {
	most := int32(-1)
	for _, c := range labels {
		most = max(most, c)
	}
	number := make([]int32, most+1)
	next := int32(0)
	for i, c := range labels {
		if c < 0 {
			continue
		}
		if number[c] == 0 {
			next++
			number[c] = next
		}
		labels[i] = number[c] - 1
	}
	return int(next)
}
