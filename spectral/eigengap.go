package spectral

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// gaps returns σ[i] - σ[i+1] for falling singular values. They are the gaps between the smallest
// eigenvalues 1-σ of the normalised Laplacian.
func gaps(sigma []float64) []float64 {
	if len(sigma) < 2 {
		return nil
	}
	out := make([]float64, len(sigma)-1)
	for i := range out {
		out[i] = sigma[i] - sigma[i+1]
	}
	return out
}

// eigengap returns k such that the gap between the k-th and the next eigenvalue is the largest,
// the first of equals. What differs by rounding only is equal.
func eigengap(gaps []float64) int {
	const rounding = 1e-9
	k := 0
	for i, gap := range gaps {
		if gap > gaps[k]+rounding {
			k = i
		}
	}
	return k + 1
}

const (
	alternatives = 4    // other gaps that are looked at
	clearly      = 0.1  // larger modularity
	standing     = 1.02 // times the noise, which varies by a hundredth between random matrices
)

// choose finds k and its clusters, and notes the evidence.
//
// k is the first largest eigengap, with two exceptions. If all vectors before the gap are the first
// of a component each, the gap says no more than how many components there are: it is large in any
// connected noisy graph, where it gives one cluster, which helps nobody. Then the next largest gaps
// are tried too, as far as the values before them stand out from those of a random matrix with the
// same degrees (Horn, "A rationale and test for the number of factors in factor analysis", 1965),
// and the clusters with the largest modularity are taken if it is clearly larger.
//
// If the gap says more, but the spectrum is complete (H has no more than 64 singular values), it may
// be the one behind the last value, or one near it: that is about the rank of H, and gives every
// capability a cluster of its own. Then every k is tried, and the clusters with the largest modularity
// are taken.
func (s *spectrum) choose(H Matrix, r *Result) clustering {
	if s.o.K > 0 {
		r.Vectors = s.converge(func() int { return s.o.K })
		return s.embed(r.Vectors).label(r.Vectors, unit, s.o, H)
	}
	// A Ritz value behind a gap that is not good yet may still rise to those before it.
	s.converge(func() int { return eigengap(s.gaps()) + 1 })
	r.Candidates = candidates(s.gaps(), false)
	trivial := true
	for _, t := range s.all[:min(r.Candidates[0].K, len(s.all))] {
		trivial = trivial && t.at == 0
	}
	tried := r.Candidates[:1]
	least := clearly // by how much the modularity of another k has to be larger than that of the first
	switch {
	case !trivial && len(s.all) < s.most():
		r.Candidates = candidates(s.gaps(), true)
		tried, least = r.Candidates, 0
	case trivial:
		r.Noise = s.o.noise(H)
		r.Candidates = candidates(s.above(r.Noise, r.Candidates[0].K), false)
		tried = r.Candidates
	}
	if n := s.o.affordable(tried, H.Rows+H.Cols); n < len(tried) {
		tried, r.Capped = tried[:n], true
	}
	most := 0
	for _, c := range tried {
		most = max(most, c.K)
	}
	most = s.converge(func() int { return most })
	e := s.embed(most)
	var first, best clustering
	gaps := s.gaps()
	for i := range tried {
		c := &tried[i]
		c.Gap = gaps[c.K-1]
		found := e.label(min(c.K, most), unit, s.o, H)
		c.Tried, c.Quality = true, found.quality
		if i == 0 {
			first, best, r.Vectors = found, found, min(c.K, most)
		} else if found.quality > max(first.quality+least, best.quality+tie) {
			best, r.Vectors = found, min(c.K, most)
		}
	}
	return best
}

// within lowers kMax until the steps for so many values cost no more than o.Work, and sets MaxSteps.
func (o Options) within(H Matrix) (Options, bool) {
	capped := false
	if o.MaxSteps > 0 {
		return o, capped
	}
	o.MaxSteps = 64 + 8*cmp.Or(o.K, o.kMax)
	if o.K > 0 {
		return o, capped
	}
	const least = 8
	// A step is two products, and at most about as many vectors as fit are orthogonalised twice.
	side := float64(min(H.Rows, H.Cols))
	for o.kMax > least && float64(o.MaxSteps)*(float64(2*len(H.Weight))+float64(4*side*float64(o.kMax))) > o.Work {
		o.kMax = max(o.kMax/2, least)
		o.MaxSteps = 64 + 8*o.kMax
		capped = true
	}
	return o, capped
}

// affordable is how many candidates, at least one, are tried before half of o.Work is spent: k-means
// of n points by starts on a sample and a few rounds of all.
func (o Options) affordable(candidates []Candidate, n int) int {
	left := o.Work / 2
	for i, c := range candidates {
		rounds := float64(restarts*iterations*min(n, sampled)) + float64(polish*float64(n))
		if left -= float64(rounds * float64(c.K*c.K)); i > 0 && left < 0 {
			return i
		}
	}
	return len(candidates)
}

// candidates are the first largest gap and the next largest ones, or all others, rising: if the work ends early, the
// costly ones are left out.
func candidates(gaps []float64, all bool) []Candidate {
	first := eigengap(gaps)
	list := []Candidate{{K: first, Gap: gaps[first-1]}}
	for i, gap := range gaps {
		if i+1 != first {
			list = append(list, Candidate{K: i + 1, Gap: gap})
		}
	}
	if !all {
		slices.SortStableFunc(list[1:], func(a, b Candidate) int { return cmp.Compare(b.Gap, a.Gap) })
		list = list[:min(1+alternatives, len(list))]
	}
	return list
}

// above are the gaps up to the last value above the noise, at least the first k.
func (s *spectrum) above(noise float64, k int) []float64 {
	n := 0
	for n < len(s.all) && s.all[n].sigma > standing*noise {
		n++
	}
	gaps := s.gaps()
	return gaps[:min(max(n, k), len(gaps))]
}

// noise is the largest singular value, besides the first of each component, of a matrix with the
// rows and the columns of H joined at random.
func (o Options) noise(H Matrix) float64 {
	r := rand.New(rand.NewPCG(o.Seed, 0x6e6f697365))
	col := slices.Clone(H.Col)
	r.Shuffle(len(col), func(i, j int) { col[i], col[j] = col[j], col[i] })
	entries := make([]Entry, 0, len(col))
	for i := range H.Rows {
		for e := H.Start[i]; e < H.Start[i+1]; e++ {
			entries = append(entries, Entry{Row: int32(i), Col: col[e], Weight: H.Weight[e]})
		}
	}
	random, err := NewMatrix(H.Rows, H.Cols, entries)
	if err != nil {
		return 0 // H was checked
	}
	o.K = 2
	most := 0.0
	for _, t := range normalised(random, o.Tau).spectrum(o).all {
		if t.at > 0 {
			most = max(most, t.sigma)
		}
	}
	return most
}
