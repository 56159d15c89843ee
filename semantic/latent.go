package semantic

import (
	"math"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

// latent is the space of latent semantic analysis (Deerwester et al., JASIS 41, 1990): documents and
// terms as points of a space of few dimensions, in which words used in the same places are close.
type latent struct {
	rank  int
	sigma []float64
	basis []float32 // terms × rank
	docs  space     // by document number
	held  float64   // share of the matrix that the space holds, Σσ²/‖A‖²
}

// matrix is the documents × terms matrix that is factored, rows in the order of the corpus,
//
//	a_dt = idf_t · ln(1 + tf)      rows of unit length
//
// with the context added as a second unit row, scaled by MixContext, and the sum made unit again.
func matrix(c *corpus, x *lexical, o *Options) *sparse {
	a := &sparse{rows: len(c.counts), cols: len(c.words.terms), start: make([]int, len(c.counts)+1)}
	w := [fields]float64{o.Name.Weight, o.Text.Weight, o.Properties.Weight, 1}
	var own, context []float64
	for i, counts := range c.counts {
		own, context = own[:0], context[:0]
		for _, t := range counts {
			tf := 0.0
			for f := range contextField {
				tf += float64(w[f] * float64(t.n[f]))
			}
			own = append(own, float64(x.idf[t.term]*numeric.Ln(1+tf)))
			context = append(context, float64(x.idf[t.term]*numeric.Ln(1+float64(t.n[contextField]))))
		}
		unit(own)
		unit(context)
		numeric.Axpy(o.MixContext, context, own)
		unit(own)
		for k, t := range counts {
			if own[k] != 0 {
				a.col, a.val = append(a.col, t.term), append(a.val, own[k])
			}
		}
		a.start[i+1] = len(a.col)
	}
	return a
}

// unit makes x one long, or leaves it zero.
func unit(x []float64) {
	if n := numeric.Norm(x); n > 0 {
		for i := range x {
			x[i] /= n
		}
	}
}

// newLatent returns nil if o.Stop says so.
func newLatent(c *corpus, x *lexical, o *Options) *latent {
	if o.Rank <= 0 || len(c.counts) == 0 {
		return &latent{}
	}
	a := matrix(c, x, o)
	m := &latent{}
	var v []float64
	if m.sigma, v = svd(a, o.Rank, o.Seed, o.Stop); o.Stop != nil && o.Stop() {
		return nil
	}
	m.rank = len(m.sigma)
	m.basis = make([]float32, len(v))
	for i, y := range v {
		m.basis[i] = float32(y)
	}
	codec.Round(m.basis)
	m.place(a, c)
	return m
}

// place puts the documents into the space: the rows of A·V, made unit.
func (m *latent) place(a *sparse, c *corpus) {
	m.docs = space{dimension: m.rank, flat: make([]float32, a.rows*m.rank)}
	m.settle(a, c)
	codec.Round(m.docs.flat)
	m.docs.floor = noise(m.docs.flat, m.rank, c.order)
	m.docs.encode()
	if whole := numeric.Dot(a.val, a.val); whole > 0 {
		m.held = min(numeric.Dot(m.sigma, m.sigma)/whole, 1)
	}
}

// settle gives each document of the corpus its place.
func (m *latent) settle(a *sparse, c *corpus) {
	r := m.rank
	parallel(a.rows, func(from, to int) {
		row := make([]float64, r)
		for i := from; i < to; i++ {
			clear(row)
			for e := a.start[i]; e < a.start[i+1]; e++ {
				numeric.Axpy32(a.val[e], m.basis[int(a.col[e])*r:int(a.col[e]+1)*r], row)
			}
			unit(row)
			out := m.docs.vector(c.order[i])
			for j, y := range row {
				out[j] = float32(y)
			}
		}
	})
}

// fold puts the query into the space, as a unit vector in dst or zero.
func (m *latent) fold(q *query, x *lexical, dst []float32, row []float64) []float32 {
	clear(row)
	for _, t := range q.terms {
		numeric.Axpy32(float64(t.weight*x.idf[t.term]), m.basis[int(t.term)*m.rank:int(t.term+1)*m.rank], row)
	}
	unit(row)
	dst = dst[:0]
	for _, y := range row {
		dst = append(dst, float32(y))
	}
	return dst
}

// vectors are unit vectors from outside, one a document, zero where there is none.
type vectors struct{ space }

// newVectors takes the dimension of the first vector that has one. Vectors of another dimension, and those
// that are no direction, count as missing: an endpoint may have answered some texts only.
func newVectors(given [][]float32, docs int) *vectors {
	v := &vectors{}
	for _, x := range given {
		if len(x) > 0 {
			v.dimension = len(x)
			break
		}
	}
	if v.dimension == 0 || len(given) > docs {
		return &vectors{}
	}
	v.flat = make([]float32, docs*v.dimension)
	var present []int32
	for d, x := range given {
		if v.unit(v.flat[d*v.dimension:(d+1)*v.dimension], x) {
			present = append(present, int32(d))
		}
	}
	codec.Round(v.flat)
	v.floor = noise(v.flat, v.dimension, present)
	v.encode()
	return v
}

// unit writes x to dst with length one. It reports false, and writes nothing, if x has another
// dimension, no length or a number that is not finite.
func (v *vectors) unit(dst, x []float32) bool {
	if len(x) != v.dimension || len(x) == 0 {
		return false
	}
	n := math.Sqrt(numeric.Dot32(x, x))
	if !(n > 0) || math.IsInf(n, 0) {
		return false
	}
	for i, y := range x {
		dst[i] = float32(float64(y) / n)
	}
	return true
}

// noise is the cosine that nine of ten pairs of documents stay below: what two unrelated ones reach
// by chance. Pairs are drawn from order by a fixed sequence; too few documents say nothing.
func noise(flat []float32, dimension int, order []int32) float64 {
	const pairs = 4000
	n := uint64(len(order))
	if n < 20 || dimension == 0 {
		return 0
	}
	cosines := make([]float64, 0, pairs)
	for i := range uint64(pairs) {
		a, b := mix(2*i)%n, mix(2*i+1)%n
		if a != b {
			x, y := int(order[a])*dimension, int(order[b])*dimension
			cosines = append(cosines, float64(dot32(flat[x:x+dimension], flat[y:y+dimension])))
		}
	}
	slices.Sort(cosines)
	return min(max(cosines[len(cosines)*9/10], 0), 0.9)
}

// above is a cosine measured from the floor, in [0, 1].
func above(floor, cosine float64) float64 {
	return min(max((cosine-floor)/(1-floor), 0), 1)
}
