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
// The answer is the same, bit for bit, on any machine and any number of threads, and no dense
// square matrix is ever made.
package spectral

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"waymark/numeric"
)

// Plain as [Options.Tau] leaves the degrees as they are.
const Plain = -1

// Options say how to cluster. The zero value stands for the defaults.
type Options struct {
	Tau       float64 // added to every degree, as a multiple of the mean degree; 0 stands for 0.25, Plain for none
	K         int     // number of leading vectors and of clusters among them; 0: by the first largest eigengap
	KMax      int     // largest K that the eigengap may choose; 0 stands for 64
	Seed      uint64  // of the start vectors and of k-means
	Restarts  int     // starts of k-means; 0 stands for 8
	MaxSteps  int     // Lanczos steps for a component; 0 stands for 64 + 4·K, or 64 + 4·KMax
	Tolerance float64 // residual at which a singular vector is good enough; 0 stands for 0.001
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Tau != Plain && !(o.Tau >= 0 && o.Tau <= 1000):
		return o, fmt.Errorf("spectral clustering: tau %v is not a multiple of the mean degree", o.Tau)
	case o.K < 0 || o.KMax < 0 || o.Restarts < 0 || o.MaxSteps < 0:
		return o, fmt.Errorf("spectral clustering: k %d, kmax %d, restarts %d, steps %d: none may be negative", o.K, o.KMax, o.Restarts, o.MaxSteps)
	case !(o.Tolerance >= 0 && o.Tolerance < 1):
		return o, fmt.Errorf("spectral clustering: tolerance %v is not between 0 and 1", o.Tolerance)
	}
	switch o.Tau {
	case 0:
		o.Tau = 0.25
	case Plain:
		o.Tau = 0
	}
	o.KMax = cmp.Or(o.KMax, 64)
	o.Restarts = cmp.Or(o.Restarts, 8)
	o.MaxSteps = cmp.Or(o.MaxSteps, 64+4*cmp.Or(o.K, o.KMax))
	o.Tolerance = cmp.Or(o.Tolerance, 1e-3)
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
	// sought among. 1-σ are the smallest eigenvalues of the normalised Laplacian.
	SingularValues []float64
	// Gaps are the differences of successive singular values; behind the last of all stands 0.
	Gaps []float64
	// Steps of Lanczos in all components, and the largest residual of a vector used.
	Steps    int
	Residual float64
	// Quality is the bipartite modularity of the clusters (Barber 2007): the share of the weight
	// inside clusters less what degrees alone would give. 0 is no better than chance.
	Quality float64
}

// Cluster divides the rows and columns of H. A matrix with a weight that is negative or not
// finite is an error.
func Cluster(H Matrix, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if err := H.check(); err != nil {
		return Result{}, fmt.Errorf("spectral clustering: %w", err)
	}
	g := normalised(H, o.Tau)
	r := Result{Rows: unlabelled(H.Rows), Cols: unlabelled(H.Cols)}
	if len(g.parts) == 0 {
		return r, nil
	}
	g.label(g.leading(o, &r), o, &r)
	r.K = canonicalBoth(r.Rows, r.Cols)
	r.Quality = modularity(H, r.Rows, r.Cols)
	return r, nil
}

func unlabelled(n int) []int32 {
	label := make([]int32, n)
	for i := range label {
		label[i] = -1
	}
	return label
}

// A part is a connected component: which rows and columns of H, and its normalised matrix.
type part struct {
	rows, cols []int32
	a          *sparse
}

// parts are the components of D₁^-½·H·D₂^-½ with raised degrees. As τ is added to degrees only,
// the components stay apart, and the singular vectors of the whole are those of the components:
// taken one by one, equal singular values of different components cannot mix.
type components struct{ parts []part }

// leadingOf is a triplet of one component.
type leadingOf struct {
	triplet
	part int
}

// leading returns the leading triplets of all components: first the values, roughly, as many as
// the choice of k needs, then those that k vectors need, well. What is learned in the second step
// can change k, so they are repeated, but not for ever.
func (g components) leading(o Options, r *Result) []leadingOf {
	const rough = 0.05 // an error in σ of at most that, in practice of its square
	atMost := cmp.Or(o.K, o.KMax)
	runs := make([]*lanczos, len(g.parts))
	for i, p := range g.parts {
		runs[i] = newLanczos(p.a, rand.New(rand.NewPCG(o.Seed, uint64(i))))
		runs[i].run(atMost+1, o.MaxSteps, max(rough, o.Tolerance))
	}
	var all []leadingOf
	for range 4 {
		all = sorted(runs, atMost+1)
		r.choose(all, o)
		need, good := make([]int, len(runs)), true
		for _, t := range all[:r.Vectors] {
			need[t.part]++
			good = good && t.residual <= o.Tolerance
		}
		if good {
			break
		}
		for i, k := range need {
			if k > 0 {
				runs[i].run(k, o.MaxSteps, o.Tolerance)
			}
		}
	}
	all = sorted(runs, atMost+1)
	r.choose(all, o)
	need := make([]int, len(runs))
	for _, t := range all[:r.Vectors] {
		need[t.part]++
	}
	var out []leadingOf
	for i, l := range runs {
		r.Steps += len(l.alpha)
		if need[i] > 0 {
			for _, t := range l.vectors(need[i]) {
				out = append(out, leadingOf{t, i})
				r.Residual = max(r.Residual, t.residual)
			}
		}
	}
	return out
}

// sorted returns the values of all components, the largest first. Values that differ by rounding
// only stand in the order of components.
func sorted(runs []*lanczos, most int) []leadingOf {
	var all []leadingOf
	for i, l := range runs {
		for _, t := range l.values(most) {
			all = append(all, leadingOf{t, i})
		}
	}
	slices.SortStableFunc(all, func(a, b leadingOf) int {
		return cmp.Or(cmp.Compare(math.Round(b.sigma*1e9), math.Round(a.sigma*1e9)), cmp.Compare(a.part, b.part))
	})
	return all[:min(most, len(all))]
}

// choose notes the singular values and the k that they or the options ask for.
func (r *Result) choose(all []leadingOf, o Options) {
	r.SingularValues = r.SingularValues[:0]
	for _, t := range all {
		r.SingularValues = append(r.SingularValues, t.sigma)
	}
	sigma := r.SingularValues
	if len(sigma) <= cmp.Or(o.K, o.KMax) {
		sigma = append(slices.Clone(sigma), 0)
	}
	r.Gaps = gaps(sigma)
	r.Vectors = min(cmp.Or(o.K, eigengap(r.Gaps)), len(all))
}

// label runs k-means on the rows of the leading vectors. The first vector of a component is
// positive everywhere, so a row is zero only where no vector reaches its component; all such rows
// are not one cluster, but one for each component.
func (g components) label(leading []leadingOf, o Options, r *Result) {
	k := len(leading)
	reached := make([][]int, len(g.parts))
	for t, l := range leading {
		reached[l.part] = append(reached[l.part], t)
	}
	p := points{dim: k}
	embed := func(ts []int, i int, side func(leadingOf) []float64) {
		at := len(p.x)
		p.x = append(p.x, make([]float64, k)...)
		x := p.x[at:]
		for _, t := range ts {
			x[t] = side(leading[t])[i]
		}
		if length := numeric.Norm(x); length > 0 {
			scale(1/length, x)
		}
		p.n++
	}
	for c, ts := range reached {
		if ts == nil {
			continue
		}
		for i := range g.parts[c].rows {
			embed(ts, i, func(l leadingOf) []float64 { return l.left })
		}
		for j := range g.parts[c].cols {
			embed(ts, j, func(l leadingOf) []float64 { return l.right })
		}
	}
	var labels []int32
	if p.n > 0 {
		labels = kmeans(p, k, o.Restarts, rand.New(rand.NewPCG(o.Seed, math.MaxUint64)))
	}
	next, own := 0, int32(k)
	for c, ts := range reached {
		for _, side := range []struct{ of, label []int32 }{{g.parts[c].rows, r.Rows}, {g.parts[c].cols, r.Cols}} {
			for _, v := range side.of {
				if ts == nil {
					side.label[v] = own
				} else {
					side.label[v] = labels[next]
					next++
				}
			}
		}
		if ts == nil {
			own++
		}
	}
}

// canonicalBoth numbers the labels of rows and columns together.
func canonicalBoth(rows, cols []int32) int {
	both := append(slices.Clone(rows), cols...)
	k := canonical(both)
	copy(rows, both)
	copy(cols, both[len(rows):])
	return k
}
