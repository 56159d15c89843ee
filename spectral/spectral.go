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
	"slices"

	"waymark/internal/numeric"
)

// Plain as [Options.Tau] leaves the degrees as they are.
const Plain = -1

const (
	usual     = 0.25 // tau that recovers planted clusters best
	kMax      = 64   // largest k that the eigengap may choose
	tolerance = 0.01 // residual at which a singular vector is good enough
)

// Options say how to cluster. The zero value stands for the defaults.
type Options struct {
	Tau  float64 // added to every degree, as a multiple of the mean degree; 0 stands for 0.25, Plain for none
	K    int     // number of leading vectors and of clusters among them; 0: by the eigengap
	Seed uint64  // of the start vectors and of k-means
	// Stop, if not nil, is asked before every step. When it says yes, the vectors are taken as they
	// are. A decision by a clock does not repeat: see Result.Residual.
	Stop func() bool
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
	// sought among. 1-σ are the smallest eigenvalues of the normalised Laplacian.
	SingularValues []float64
	// Gaps are the differences of successive singular values; behind the last of all stands 0.
	Gaps []float64
	// Steps are products with HᵀH in all components, Residual the largest of a vector used. Above 0.01 the steps ended
	// early, and the vectors are still turning: every row has its label, but a longer run may answer otherwise.
	Steps    int
	Residual float64
	// Quality is the bipartite modularity of the clusters (Barber 2007): the share of the weight
	// inside clusters less what degrees alone would give. 0 is no better than chance.
	Quality float64
}

// Cluster divides the rows and columns of H, a matrix of non-negative weights: its columns are capabilities, its rows the
// tools in them. A row or column without weight is in no cluster and changes nothing for the others. H is read, not
// copied, so that a matrix that exists in compressed rows elsewhere can be given as it is; [numeric.NewMatrix] builds one
// from entries in any order, which do not change the result.
//
// NaN fails the check of the options, which is written as what must hold.
func Cluster(H numeric.Matrix, o Options) (Result, error) {
	if !(o.Tau == Plain || o.Tau >= 0 && o.Tau <= 1000) || o.K < 0 {
		return Result{}, fmt.Errorf("spectral clustering: tau %v is not 0 to 1000, or k %d is negative", o.Tau, o.K)
	}
	o.Tau = max(0, cmp.Or(o.Tau, usual))
	s := spectrumOf(H, o)
	if len(s.solvers) == 0 {
		none := slices.Repeat([]int32{-1}, H.Rows+H.Cols)
		return Result{Rows: none[:H.Rows:H.Rows], Cols: none[H.Rows:]}, nil
	}
	k, best := s.choose(H)
	r := Result{Rows: best.labels[:H.Rows:H.Rows], Cols: best.labels[H.Rows:], K: best.k, Vectors: k,
		SingularValues: s.sigma(), Gaps: s.gaps(), Steps: s.steps(), Quality: best.quality}
	for _, t := range s.all[:k] {
		r.Residual = max(r.Residual, t.residual)
	}
	return r, nil
}
