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
// the value 1 occurs once per component of the graph. Sparse incidences have many small groups that are
// hardly connected to the rest; adding τ times the mean degree to every degree keeps the vectors
// from isolating them (Zhang and Rohe, "Understanding regularized spectral clustering via graph
// conductance", 2018).
//
// The Lanczos iteration multiplies by HᵀH only, and orthogonalises each of its vectors.
//
// The result is the same, bit for bit, on any machine and any number of threads, and no dense
// square matrix is ever formed.
package spectral

import (
	"cmp"
	"fmt"
	"slices"

	"waymark/internal/numeric"
)

// Plain, as [Options.Tau], leaves the degrees unchanged.
const Plain = -1

const (
	usual     = 0.25 // the tau that recovers planted clusters best
	kMax      = 64   // largest k that the eigengap may choose
	tolerance = 0.01 // residual at which a singular vector is good enough
)

// Options are the options of [Cluster]. The zero value stands for the defaults.
type Options struct {
	Tau  float64 // added to every degree, as a multiple of the mean degree; 0 stands for 0.25, Plain for none
	K    int     // number of leading vectors and of clusters among them; 0: by the eigengap
	Seed uint64  // of the start vectors and of k-means
	// Stop, if not nil, is called before every step. If it returns true, the vectors are used as they
	// are. A decision by a clock is not reproducible: see Result.Residual.
	Stop func() bool
}

// A Result is a clustering of rows and columns together.
type Result struct {
	// Rows and Cols are labels 0..K-1, numbered by their first row (clusters without a row by
	// their first column). A row or column without weight is in no cluster, -1.
	Rows, Cols []int32
	// K is the number of clusters: one for each of the Vectors, fewer if points coincide, plus one for
	// each component that none of these vectors reaches.
	K int
	// Vectors is the number of leading singular vectors used, the k of the eigengap.
	Vectors int
	// SingularValues are the leading ones, largest first: all, or those that the eigengap is searched
	// in. 1-σ are the smallest eigenvalues of the normalised Laplacian.
	SingularValues []float64
	// Gaps are the differences of successive singular values; 0 follows the last of all.
	Gaps []float64
	// Steps is the number of products with HᵀH in all components, Residual the largest residual of a vector used. A
	// Residual above 0.01 means that the steps ended early and the vectors have not converged: every row has its label,
	// but a longer run may give other labels.
	Steps    int
	Residual float64
	// Quality is the bipartite modularity of the clusters (Barber 2007): the share of the weight
	// inside clusters minus the share expected from the degrees alone. 0 is no better than chance.
	Quality float64
}

// Cluster divides the rows and columns of H, a matrix of non-negative weights: its columns are capabilities, its rows
// the tools in them. A row or column without weight is in no cluster and does not affect the others. H is read, not
// copied, so an existing matrix in compressed rows can be passed directly; [numeric.NewMatrix] builds one from entries,
// whose order does not affect the result.
//
// The check of the options states the valid values, so that NaN fails it.
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
