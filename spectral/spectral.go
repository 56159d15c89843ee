// Package spectral finds the groups of tools and capabilities that belong together.
//
// A matrix H of tools × capabilities is a bipartite graph. Its groups show in the leading singular
// vectors of the matrix divided by the degrees (Dhillon, "Co-clustering documents and words using
// bipartite spectral graph partitioning", KDD 2001):
//
//	H ──▶ D₁^-½·H·D₂^-½ ──▶ σ₁ ≥ σ₂ ≥ … with vectors ──▶ k by the gap ──▶ rows of the vectors,
//	      degrees raised       (sparse, by Lanczos)       σ_k - σ_k+1      of length 1, by k-means
//
// A singular value σ is an eigenvalue 1-σ of the normalised Laplacian of the bipartite graph, so
// as many are 1 as the graph has components. Sparse incidences have many little ones that hang by
// a thread; adding τ times the mean degree to every degree keeps the vectors from pointing at them
// (Zhang and Rohe, "Understanding regularized spectral clustering via graph conductance", 2018).
//
// The Lanczos multiplies by HᵀH only, and orthogonalises each of its vectors.
//
// The answer is the same, bit for bit, on any machine and any number of threads, and no dense
// square matrix is ever made.
package spectral

import (
	"cmp"
	"fmt"
)

// Plain as [Options.Tau] leaves the degrees as they are.
const Plain = -1

const usual = 0.25 // tau that recovers planted clusters best from 10,000 tools on

// Options say how to cluster. The zero value stands for the defaults.
type Options struct {
	Tau      float64 // added to every degree, as a multiple of the mean degree; Plain for none; 0 stands for 0.25, or for a search where H is small (see Search)
	K        int     // number of leading vectors and of clusters among them; 0: by the eigengap, see Result.Candidates
	Seed     uint64  // of the start vectors and of k-means
	MaxSteps int     // products with HᵀH for a component; 0 stands for 64 + 8·K, or 64 + 8·64
	// Search is the number of entries of H up to which, Tau being 0, other degrees of raising and
	// other lengths of the rows are tried and the clusters with the largest modularity taken.
	// 0 stands for 10,000, a negative number for none.
	Search int
	// Work bounds the search for k on large matrices, in multiplications as they are estimated before:
	// where the largest k, 64, costs more than Work, it is halved (not below 8, and not where MaxSteps is
	// given), and other k than the first are tried as long as half of Work is left. 0 stands for
	// 20,000 million. Unlike a clock it gives the same answer everywhere; see Result.Capped.
	Work float64
	// Stop, if not nil, is asked before every step. When it says yes, the vectors are taken as they
	// are. What the caller decides by a clock does not repeat: see Result.Partial.
	Stop func() bool

	kMax int // largest K that the eigengap may choose
}

const (
	restarts  = 8    // starts of k-means
	tolerance = 0.01 // residual at which a singular vector is good enough
)

// withDefaults checks the options and fills in those that are zero. A given Tau turns the search for one off.
// NaN fails the checks, which are written as what must hold.
func (o Options) withDefaults() (Options, error) {
	if !(o.Tau == Plain || o.Tau >= 0 && o.Tau <= 1000) || o.K < 0 || o.MaxSteps < 0 || !(o.Work >= 0) {
		return o, fmt.Errorf("spectral clustering: tau %v is not 0 to 1000, or k %d, steps %d or work %v is negative",
			o.Tau, o.K, o.MaxSteps, o.Work)
	}
	if o.Tau != 0 {
		o.Search = -1
	}
	o.Search, o.Work, o.kMax = cmp.Or(o.Search, 10_000), cmp.Or(o.Work, 2e10), 64
	if o.Tau = cmp.Or(o.Tau, usual); o.Tau == Plain {
		o.Tau = 0
	}
	return o, nil
}

// A Result is a clustering of rows and columns together.
type Result struct {
	// Rows and Cols are labels 0..K-1, numbered by their first row (clusters without a row by
	// their first column). A row or column without weight is in no cluster, -1.
	Rows, Cols []int32
	// K is the number of clusters: one for each of the Vectors, fewer if their rows coincide, and
	// one for each component that none of these vectors reaches.
	K int
	// Vectors is the number of leading singular vectors used, the k of the eigengap.
	Vectors int
	// SingularValues are the leading ones, largest first: all, or those that the eigengap is
	// sought among. 1-σ are the smallest eigenvalues of the normalised Laplacian. A search keeps
	// those that k was chosen by, with the usual tau.
	SingularValues []float64
	// Gaps are the differences of successive singular values; behind the last of all stands 0.
	Gaps []float64
	// Candidates are the k that were considered, the first largest eigengap first; then the next largest
	// gaps in falling order, or every other k, rising, where the spectrum is complete. None if Options.K
	// was given.
	Candidates []Candidate
	// Noise is the largest singular value of a random matrix with the degrees of H, besides the
	// first of a component, where the choice of k asked for it: no k was tried beyond the values
	// above it.
	Noise float64
	// Tau that was used, as a multiple of the mean degree.
	Tau float64
	// Steps are products with HᵀH in all components, Residual the largest of a vector used.
	Steps    int
	Residual float64
	// Partial says that the steps ended before the residual was under the tolerance. The clusters
	// are then those of vectors that are still turning: every row has its label, but a longer run
	// may answer otherwise.
	Partial bool
	// Capped says that Options.Work ended the search for k: the largest k was lowered, or a candidate was not
	// tried.
	Capped bool
	// Quality is the bipartite modularity of the clusters (Barber 2007): the share of the weight
	// inside clusters less what degrees alone would give. 0 is no better than chance.
	Quality float64
}

// A Candidate is a k with the gap σ_k - σ_k+1 that speaks for it and the modularity of its
// clusters. One that was not tried, because the first largest gap says more than which components
// there are, has no modularity.
type Candidate struct {
	K       int
	Gap     float64
	Tried   bool
	Quality float64
}

// Cluster divides the rows and columns of H.
func Cluster(H Matrix, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	g := normalised(H, o.Tau)
	r := Result{Rows: unlabelled(H.Rows), Cols: unlabelled(H.Cols)}
	o, r.Capped = o.within(H)
	if len(g.parts) == 0 {
		return r, nil
	}
	s := g.spectrum(o)
	best := s.choose(H, &r)
	r.Tau = o.Tau
	r.SingularValues, r.Gaps = s.sigma(), s.gaps()
	r.Steps, r.Residual = s.steps(), s.residual(r.Vectors)
	if len(H.Weight) <= o.Search {
		o.K = r.Vectors
		best = search(H, o, s, best, &r)
	}
	r.Rows, r.Cols, r.K, r.Quality = best.rows, best.cols, best.k, best.quality
	r.Partial = r.Residual > tolerance
	return r, nil
}
