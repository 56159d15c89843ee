package semantic

import (
	"math"
	"math/rand/v2"
	"slices"

	"waymark/internal/codec"
	"waymark/internal/numeric"
)

// space holds one vector per document, one after another: a unit vector or zero.
type space struct {
	dimension int
	flat      []float32
}

func (s *space) vector(d int32) []float32 {
	return s.flat[int(d)*s.dimension : int(d+1)*s.dimension]
}

// unit scales x to length one; a zero vector stays zero.
func unit(x []float64) {
	if n := numeric.Norm(x); n > 0 {
		for i := range x {
			x[i] /= n
		}
	}
}

// grown returns x with length n. Its content is undefined.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// Vectors are unit vectors of documents from an embedding model, zero for a document without one.
type Vectors struct {
	space
	floor float64 // cosine that unrelated documents reach by chance
}

// NewVectors uses the dimension of the first vector that is not empty. Vectors of another dimension and those without a
// direction count as missing: an endpoint may have answered only some texts.
func NewVectors(given [][]float32) *Vectors {
	v := &Vectors{}
	for _, x := range given {
		if len(x) > 0 {
			v.dimension = len(x)
			break
		}
	}
	v.flat = make([]float32, len(given)*v.dimension)
	var present []int32
	for d, x := range given {
		if v.unit(v.vector(int32(d)), x) {
			present = append(present, int32(d))
		}
	}
	v.floor = v.noise(present)
	return v
}

// unit writes x to dst with length one. It reports false, and writes nothing, if x has another
// dimension, length zero or a number that is not finite.
func (v *Vectors) unit(dst, x []float32) bool {
	if len(x) != v.dimension || len(x) == 0 {
		return false
	}
	n := math.Sqrt(numeric.Dot(x, x))
	if !(n > 0) || math.IsInf(n, 0) {
		return false
	}
	for i, y := range x {
		dst[i] = float32(float64(y) / n)
	}
	return true
}

// noise returns the cosine that nine of ten random pairs of documents stay below, which two unrelated ones reach by
// chance. It is limited to [0, 0.9]. Pairs are drawn by a seeded generator. For fewer than 20 documents it is 0.
func (v *Vectors) noise(present []int32) float64 {
	const pairs = 4000
	if len(present) < 20 {
		return 0
	}
	cosines, random := make([]float64, 0, pairs), rand.New(rand.NewPCG(1, 0))
	for range pairs {
		if a, b := random.IntN(len(present)), random.IntN(len(present)); a != b {
			cosines = append(cosines, float64(dot32(v.vector(present[a]), v.vector(present[b]))))
		}
	}
	slices.Sort(cosines)
	return min(max(cosines[len(cosines)*9/10], 0), 0.9)
}

// Near returns the k documents nearest to a vector, the nearest first. The score is the cosine, rescaled so that the
// cosine of unrelated documents becomes 0, in (0, 1]. It returns nil if the vector has another dimension.
func (v *Vectors) Near(vector []float32, k int) (near []Hit) {
	x := make([]float32, v.dimension)
	if !v.unit(x, vector) {
		return nil
	}
	for d := range int32(len(v.flat) / v.dimension) {
		if cosine := float64(dot32(x, v.vector(d))); cosine > v.floor {
			near = numeric.Keep(near, k, Hit{d, min(1, (cosine-v.floor)/(1-v.floor))}, better)
		}
	}
	return near
}

// Write writes the vectors for [ReadVectors].
func (v *Vectors) Write(w *codec.Writer) {
	w.Uint(uint64(v.dimension))
	w.Float(v.floor)
	w.Singles(v.flat)
}

// mostDimensions is more than any embedding model has.
const mostDimensions = 1 << 16

// ReadVectors reads the vectors of n documents; v is empty if none were written. If the input is damaged, r fails.
func ReadVectors(r *codec.Reader, n int) *Vectors {
	v := &Vectors{space{int(min(r.Uint(), mostDimensions+1)), nil}, r.Float()}
	if v.flat = r.Singles(); v.dimension > mostDimensions || len(v.flat) != v.dimension*n {
		r.Fail("%d numbers for %d vectors of dimension %d", len(v.flat), n, v.dimension)
	}
	return v
}
