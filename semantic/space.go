package semantic

import "math"

// space holds a unit vector for each document, or zero, one after another.
type space struct {
	dimension int
	flat      []float32
	floor     float64 // cosine that unrelated documents reach by chance
	codes     codes
}

// codes are the vectors in eight bits, a quarter of the memory to read. They only say which documents
// cannot be near enough; those that remain are measured with the vectors themselves. With x the
// vector, scale·c its code and q the query,
//
//	q·x = q·(scale·c) + q·(x - scale·c) ≤ q·(scale·c) + |x - scale·c|
//
// since q is a unit vector. Codes are integers, so what they add up to is the same everywhere.
type codes struct {
	width int // dimension, filled up with zeros to a multiple of 16
	code  []int8
	scale []float32
	slack []float32 // |x - scale·c|, rounded up
}

// coded is the number of documents from which on codes pay.
const coded = 512

func (s *space) vector(d int32) []float32 {
	return s.flat[int(d)*s.dimension : int(d+1)*s.dimension]
}

// encode fills in the codes.
func (s *space) encode() {
	if !fast || s.dimension < 16 || len(s.flat) < coded*s.dimension {
		return
	}
	n, c := len(s.flat)/s.dimension, &s.codes
	c.width = (s.dimension + 15) &^ 15
	c.code, c.scale, c.slack = make([]int8, n*c.width), make([]float32, n), make([]float32, n)
	parallel(n, func(from, to int) {
		for d := from; d < to; d++ {
			x := s.vector(int32(d))
			most := float32(0)
			for _, v := range x {
				most = max(most, v, -v)
			}
			if most == 0 {
				continue
			}
			unit, off := most/127, 0.0
			for i, v := range x {
				k := math.Round(float64(v) / float64(unit))
				c.code[d*c.width+i] = int8(k)
				e := float64(v) - float64(float64(unit)*k)
				off += float64(e * e)
			}
			c.scale[d], c.slack[d] = unit, float32(float64(math.Sqrt(off)*1.001)+1e-6)
		}
	})
}

// A scan bounds the cosines of all documents with a query.
type scan struct {
	query []int16
	unit  float64 // of the query's codes
	slack float64 // what rounding the query and adding in single precision may lose
	dots  []int32 // by document
}

// run fills in c for the query vector q.
func (c *scan) run(s *space, q []float32) {
	n := len(s.codes.scale)
	if n == 0 {
		return
	}
	w := s.codes.width
	most := 0.0
	for _, v := range q {
		most = max(most, math.Abs(float64(v)))
	}
	if most == 0 {
		return
	}
	range16 := min(32767, math.Floor((1<<31-1)/float64(128*w))) // the sum stays within 32 bits
	c.unit = most / range16
	c.query = grown(c.query, w)
	clear(c.query)
	off := 0.0
	for i, v := range q {
		k := math.Round(float64(v) / c.unit)
		c.query[i] = int16(k)
		e := float64(v) - float64(c.unit*k)
		off += float64(e * e)
	}
	c.slack = float64(1.2*math.Sqrt(off)) + float64(float64(s.dimension+32)*1.2e-7)
	c.dots = grown(c.dots, n)
	codesAVX2(&c.query[0], &s.codes.code[0], w, n, &c.dots[0])
}

// most is at least the cosine of document d.
func (c *scan) most(s *space, d int32) float64 {
	return float64(float64(float64(c.dots[d])*float64(s.codes.scale[d]))*c.unit) + float64(s.codes.slack[d]) + c.slack
}

// grown returns x with length n. What it holds does not matter.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
