package spectral

// raised are the multiples of the mean degree that a search tries beside the usual one.
var raised = []float64{0, 0.02, 0.1, 1}

// search tries, for the same number of vectors, other taus and other lengths of the rows, and
// returns the clusters with the largest modularity. Small matrices have no long tails that need
// raised degrees, and their planted clusters come out better with little of it, but not always:
// the modularity sees which. Of equals the first counts, and the usual way is before all.
func search(H Matrix, o Options, s *spectrum, best clustering, r *Result) clustering {
	try := func(s *spectrum, scalings ...scaling) {
		k := s.converge(func() int { return o.K })
		e := s.embed(k)
		improved := false
		for _, by := range scalings {
			if c := e.label(k, by, o, H); c.quality > best.quality+tie {
				best, improved = c, true
			}
		}
		if improved && s.o.Tau != r.Tau {
			r.Tau, r.Vectors, r.Residual = s.o.Tau, k, s.residual(k)
		}
		if s.o.Tau != usual {
			r.Steps += s.steps()
		}
	}
	try(s, half, byDegree)
	for _, tau := range raised {
		o.Tau = tau
		try(normalised(H, tau).spectrum(o), unit, half, byDegree)
	}
	return best
}
