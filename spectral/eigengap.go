package spectral

import "slices"

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

// LaplacianSpectrum returns the eigenvalues of I - D^-½·A·D^-½ of the bipartite graph with so many
// vertices, in increasing order, from all positive singular values of D₁^-½·H·D₂^-½: every σ
// stands for 1-σ and 1+σ, and the rest of the vertices for 1.
func LaplacianSpectrum(sigma []float64, vertices int) []float64 {
	spectrum := make([]float64, 0, vertices)
	for _, s := range sigma {
		if s > 0 {
			spectrum = append(spectrum, 1-s, 1+s)
		}
	}
	for len(spectrum) < vertices {
		spectrum = append(spectrum, 1)
	}
	slices.Sort(spectrum)
	return spectrum
}
