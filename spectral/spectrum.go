package spectral

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/numeric"
)

// A leading is a triplet with its component and its index at in that component.
type leading struct {
	triplet
	part, at int
}

// A spectrum holds the leading triplets of all components.
type spectrum struct {
	o       Options
	solvers []*lanczos  // of each component
	found   [][]triplet // of each solver
	all     []leading   // at most one more than the largest k considered
}

// spectrumOf computes, roughly, the values that the choice of k needs.
func spectrumOf(H numeric.Matrix, o Options) *spectrum {
	const rough = 0.05 // above the tolerance; the error in σ is at most this, in practice about its square
	s := &spectrum{o: o}
	for i, p := range normalised(H, o.Tau) {
		s.solvers = append(s.solvers, newLanczos(p, rand.New(rand.NewPCG(o.Seed, uint64(i)))))
		s.found = append(s.found, nil)
		s.run(i, s.most(), rough)
	}
	s.sort()
	return s
}

// run improves the first want triplets of component i.
func (s *spectrum) run(i, want int, tol float64) {
	s.solvers[i].run(want, 64+8*cmp.Or(s.o.K, kMax), tol, s.o.Stop)
	s.found[i] = s.solvers[i].values(s.most())
}

func (s *spectrum) most() int { return cmp.Or(s.o.K, kMax) + 1 }

// sort sorts the values of all components in falling order. Values that differ only by rounding are
// in the order of components.
func (s *spectrum) sort() {
	s.all = s.all[:0]
	for i, found := range s.found {
		for at, t := range found {
			s.all = append(s.all, leading{t, i, at})
		}
	}
	slices.SortFunc(s.all, func(a, b leading) int {
		if x, y := math.Round(a.sigma*1e9), math.Round(b.sigma*1e9); x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.at, b.at))
	})
	s.all = s.all[:min(s.most(), len(s.all))]
}

// converge improves the first k triplets until their residuals are within tolerance or the steps
// are used up. k may depend on the values, which change meanwhile.
func (s *spectrum) converge(k func() int) int {
	for before := -1; before < s.steps(); {
		before = s.steps()
		need, good := make([]int, len(s.solvers)), true
		for _, t := range s.all[:min(k(), len(s.all))] {
			need[t.part]++
			good = good && t.residual <= tolerance
		}
		if good {
			break
		}
		for i, n := range need {
			if n > 0 {
				s.run(i, n, tolerance)
			}
		}
		s.sort()
	}
	return min(k(), len(s.all))
}

// steps returns the number of steps of all solvers.
func (s *spectrum) steps() (n int) {
	for _, l := range s.solvers {
		n += len(l.V)
	}
	return n
}

// sigma returns the singular values.
func (s *spectrum) sigma() (sigma []float64) {
	for _, t := range s.all {
		sigma = append(sigma, t.sigma)
	}
	return sigma
}

// gaps returns σ[i] - σ[i+1], the gaps between the smallest eigenvalues 1-σ of the normalised Laplacian; 0 follows the
// last of all values.
func (s *spectrum) gaps() []float64 {
	sigma := s.sigma()
	if len(sigma) < s.most() {
		sigma = append(sigma, 0)
	}
	gaps := make([]float64, max(len(sigma)-1, 0))
	for i := range gaps {
		gaps[i] = sigma[i] - sigma[i+1]
	}
	return gaps
}

// eigengap returns the k for which the gap between the k-th and the next eigenvalue is the largest,
// the first of equal ones. Gaps that differ only by rounding are equal.
func eigengap(gaps []float64) int {
	k := 0
	for i, gap := range gaps {
		if gap > gaps[k]+tie {
			k = i
		}
	}
	return k + 1
}

const (
	alternatives = 4    // number of other gaps that are tried
	clearly      = 0.1  // minimum increase of the modularity
	standing     = 1.02 // factor on the noise, which varies by a hundredth between random matrices
)

// choose returns k and the clusters for it.
//
// k is the first largest eigengap, with two exceptions. If every vector before the gap is the first
// of a component, the gap shows only the number of components: it is large in any connected noisy
// graph, where it gives a single, useless cluster. Then the next largest gaps are tried too, as far
// as the values before them exceed those of a random matrix with the same degrees (Horn, "A
// rationale and test for the number of factors in factor analysis", 1965), and the clusters with
// the largest modularity are used if it is clearly larger.
//
// If the gap shows more, but the spectrum is complete (H has at most 64 singular values), it may be
// at or near the last value: then k is about the rank of H, and every capability gets a cluster of
// its own. So every k is tried that gives a cluster two capabilities on average, and the clusters
// with the largest modularity are used.
func (s *spectrum) choose(H numeric.Matrix) (k int, best clustering) {
	if s.o.K > 0 {
		k = s.converge(func() int { return s.o.K })
		return k, s.embed(k).cluster(k, s.o.Seed, H)
	}
	// A Ritz value behind a gap may still rise to those before it until it has converged.
	s.converge(func() int { return eigengap(s.gaps()) + 1 })
	gaps := s.gaps()
	first := eigengap(gaps)
	tried := []int{first}
	least := clearly // by how much the modularity of another k must exceed that of the first
	switch trivial := !slices.ContainsFunc(s.all[:min(first, len(s.all))], func(t leading) bool { return t.at > 0 }); {
	case trivial:
		noise, above := s.noise(H), 0
		for above < len(s.all) && s.all[above].sigma > float64(standing*noise) {
			above++
		}
		tried = alternativesTo(first, gaps[:min(max(above, first), len(gaps))])
	case len(s.all) < s.most():
		least = 0
		for other := 1; other <= (len(s.all)+1)/2; other++ {
			if other != first {
				tried = append(tried, other)
			}
		}
	}
	most := s.converge(func() int { return slices.Max(tried) })
	e := s.embed(most)
	quality := 0.0
	for i, other := range tried {
		found := e.cluster(min(other, most), s.o.Seed, H)
		if i == 0 {
			quality = found.quality
		}
		if i == 0 || found.quality > max(quality+least, best.quality+tie) {
			k, best = min(other, most), found
		}
	}
	return k, best
}

// alternativesTo returns the first k and then the k of the next largest gaps.
func alternativesTo(first int, gaps []float64) []int {
	var others []int
	for k := range len(gaps) {
		if k+1 != first {
			others = append(others, k+1)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(gaps[b-1], gaps[a-1]) })
	return append([]int{first}, others[:min(alternatives, len(others))]...)
}

// noise returns the largest singular value, apart from the first of each component, of a matrix
// that joins the rows and columns of H at random.
func (s *spectrum) noise(H numeric.Matrix) (most float64) {
	o := s.o
	r := rand.New(rand.NewPCG(o.Seed, 0x6e6f697365))
	col := slices.Clone(H.Col)
	r.Shuffle(len(col), func(i, j int) { col[i], col[j] = col[j], col[i] })
	entries := make([]numeric.Entry, 0, len(col))
	for i := range H.Rows {
		for e := H.Start[i]; e < H.Start[i+1]; e++ {
			entries = append(entries, numeric.Entry{Row: int32(i), Col: col[e], Weight: H.Weight[e]})
		}
	}
	random, err := numeric.NewMatrix(H.Rows, H.Cols, entries)
	if err != nil {
		return 0 // H was checked
	}
	o.K = 2
	for _, t := range spectrumOf(random, o).all {
		if t.at > 0 {
			most = max(most, t.sigma)
		}
	}
	return most
}
