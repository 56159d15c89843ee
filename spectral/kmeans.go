package spectral

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/numeric"
)

// points are n unit vectors of the same dimension, one after another.
type points struct {
	n, dim int
	x      []float64
}

func (p points) at(i int) []float64 { return p.x[i*p.dim : (i+1)*p.dim : (i+1)*p.dim] }

const (
	sampled    = 2048 // k-means starts on as many points; all points only polish the best start
	iterations = 30
	same       = 1e-12 // squared distance below which two unit vectors are one point
	tie        = 1e-9  // difference in closeness that is rounding
)

// kmeans divides points into at most k groups, fewer if there are fewer distinct points, and
// returns labels in order of first occurrence. Starts are drawn by k-means++ (Arthur and
// Vassilvitskii, 2007); the one with the least sum of squared distances wins, between equals the
// one whose labels compare smaller.
func kmeans(p points, k, restarts int, r *rand.Rand) []int32 {
	sample := p
	if p.n > sampled {
		sample = draw(p, sampled, r)
	}
	var best, bestCentres []float64
	var bestLabels []int32
	least := 0.0
	for range max(restarts, 1) {
		centres := seeds(sample, k, r)
		labels, inertia := lloyd(sample, centres)
		canonical(labels)
		margin := 1e-9 * (1 + least)
		if best == nil || inertia < least-margin || inertia < least+margin && slices.Compare(labels, bestLabels) < 0 {
			best, bestCentres, bestLabels, least = centres, centres, labels, inertia
		}
	}
	if p.n > sampled {
		bestLabels, _ = lloyd(p, bestCentres)
		canonical(bestLabels)
	}
	return bestLabels
}

// draw takes m points without replacement, in their order.
func draw(p points, m int, r *rand.Rand) points {
	s := points{m, p.dim, make([]float64, 0, m*p.dim)}
	for i := range p.n {
		if r.IntN(p.n-i) < m-s.len() {
			s.x = append(s.x, p.at(i)...)
		}
	}
	return s
}

func (p points) len() int { return len(p.x) / p.dim }

// seeds draws centres, each with a probability proportional to the squared distance from those
// before. They stand in the order of the points, so that a point between two goes with the first.
func seeds(p points, k int, r *rand.Rand) []float64 {
	chosen := []int{r.IntN(p.n)}
	d := make([]float64, p.n)
	for i := range d {
		d[i] = 4 // more than the squared distance of any two unit vectors
	}
	for len(chosen) < k {
		c := p.at(chosen[len(chosen)-1])
		total := 0.0
		for i := range d {
			if far := 2 - float64(2*numeric.Dot(p.at(i), c)); far < d[i] {
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

// lloyd moves the centres to the means of their points until no point changes sides. A point that
// is nearer to its centre than a lower bound of its distance from all others is not compared with
// them; the bound falls by how far any centre has moved (Hamerly, "Making k-means even faster",
// 2010).
func lloyd(p points, centres []float64) (labels []int32, inertia float64) {
	const rounding = 1e-6 // more than the bounds can be wrong by
	k := len(centres) / p.dim
	centre := func(j int) []float64 { return centres[j*p.dim : (j+1)*p.dim : (j+1)*p.dim] }
	labels = make([]int32, p.n)
	half := make([]float64, k) // |c|²/2
	closeness := make([]float64, p.n)
	others := make([]float64, p.n) // at least so far are the other centres; 0 at first
	size := make([]int, k)
	before := make([]float64, len(centres))
	for round := range iterations {
		for j := range k {
			half[j] = numeric.Dot(centre(j), centre(j)) / 2
		}
		changed := round == 0
		inertia = 0
		for i := range p.n {
			x := p.at(i)
			own := int(labels[i])
			most := numeric.Dot(x, centre(own)) - half[own]
			if distance(most)+rounding >= others[i] {
				best, second := 0, -4.0
				most = -4.0
				for j := range k {
					near := numeric.Dot(x, centre(j)) - half[j]
					if near > most+tie {
						best, most, second = j, near, most
					} else if near > second {
						second = near
					}
				}
				others[i] = distance(second)
				if best != own {
					labels[i], changed = int32(best), true
				}
			}
			closeness[i] = most
			inertia += 1 - float64(2*most) // |x-c|² with |x| = 1
		}
		if !changed {
			break
		}
		copy(before, centres)
		means(p, labels, closeness, centres, size)
		moved := 0.0
		for j := range k {
			old := before[j*p.dim : (j+1)*p.dim]
			numeric.Axpy(-1, centre(j), old)
			moved = max(moved, numeric.Norm(old))
		}
		for i := range others {
			others[i] -= moved
		}
	}
	return labels, max(inertia, 0)
}

// distance is |x-c| from the closeness x·c - |c|²/2 of a unit vector x.
func distance(closeness float64) float64 { return math.Sqrt(max(0, 1-float64(2*closeness))) }

// means puts every centre into the middle of its points, and one that has none onto the point
// that is farthest from its own centre.
func means(p points, labels []int32, closeness, centres []float64, size []int) {
	clear(centres)
	clear(size)
	for i, c := range labels {
		size[c]++
		sum := centres[int(c)*p.dim : (int(c)+1)*p.dim]
		for t, x := range p.at(i) {
			sum[t] += x
		}
	}
	for j, count := range size {
		c := centres[j*p.dim : (j+1)*p.dim]
		if count > 0 {
			scale(1/float64(count), c)
			continue
		}
		farthest := 0
		for i := range closeness {
			if closeness[i] < closeness[farthest] {
				farthest = i
			}
		}
		copy(c, p.at(farthest))
		closeness[farthest] = 4 // not for the next empty one
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
