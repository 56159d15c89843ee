package spectral

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A part is a connected component: which rows and columns of H, its normalised matrix, and what
// its rows and columns were multiplied by, the inverse roots of the raised degrees.
type part struct {
	rows, cols       []int32
	rowRoot, colRoot []float64
	a                *twoSided
}

// components are those of D₁^-½·H·D₂^-½ with raised degrees. As τ is added to degrees only, the
// components stay apart, and the singular vectors of the whole are those of the components: taken
// one by one, equal singular values of different components cannot mix.
type components struct{ parts []part }

// leadingOf is a triplet of one component, the at-th of it.
type leadingOf struct {
	triplet
	part, at int
}

// A spectrum is the leading triplets of all components.
type spectrum struct {
	components
	o       Options
	solvers []*lanczos  // of each component
	found   [][]triplet // of each solver
	all     []leadingOf // at most one more than the largest k asked for
}

// spectrum finds, roughly, the values that the choice of k needs.
func (g components) spectrum(o Options) *spectrum {
	const rough = 0.05 // above the tolerance; an error in σ of at most that, in practice of its square
	s := &spectrum{components: g, o: o, solvers: make([]*lanczos, len(g.parts)), found: make([][]triplet, len(g.parts))}
	most := s.most()
	for i, p := range g.parts {
		random := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		s.solvers[i] = newLanczos(p.a, random)
		s.run(i, most, rough)
	}
	s.sort()
	return s
}

// run improves the first triplets of component i.
func (s *spectrum) run(i, want int, tol float64) {
	s.solvers[i].run(want, s.o.MaxSteps, tol, s.o.Stop)
	s.found[i] = s.solvers[i].values(s.most())
}

func (s *spectrum) most() int { return cmp.Or(s.o.K, s.o.kMax) + 1 }

// sort puts the values of all components into falling order. Values that differ by rounding only
// stand in the order of components.
func (s *spectrum) sort() {
	s.all = s.all[:0]
	for i, found := range s.found {
		for at, t := range found {
			s.all = append(s.all, leadingOf{t, i, at})
		}
	}
	slices.SortFunc(s.all, func(a, b leadingOf) int {
		if x, y := math.Round(a.sigma*1e9), math.Round(b.sigma*1e9); x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.at, b.at))
	})
	s.all = s.all[:min(s.most(), len(s.all))]
}

// converge makes the first k triplets good, where k can depend on values that get better, or ends
// with the steps.
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

// residual is the largest of the first k triplets.
func (s *spectrum) residual(k int) float64 {
	most := 0.0
	for _, t := range s.all[:k] {
		most = max(most, t.residual)
	}
	return most
}

// steps counts those of all solvers.
func (s *spectrum) steps() int {
	n := 0
	for _, l := range s.solvers {
		n += l.steps
	}
	return n
}

// sigma returns the values.
func (s *spectrum) sigma() []float64 {
	sigma := make([]float64, len(s.all))
	for i, t := range s.all {
		sigma[i] = t.sigma
	}
	return sigma
}

// gaps are those between the values; behind the last of all stands 0.
func (s *spectrum) gaps() []float64 {
	sigma := s.sigma()
	if len(sigma) < s.most() {
		sigma = append(sigma, 0)
	}
	return gaps(sigma)
}
