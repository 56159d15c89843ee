package semantic

import "waymark/internal/numeric"

// fast says that there are vector instructions, a variable so that tests can switch it.
var fast = numeric.AVX2

// The kernels below have a second form in AVX2 that does the same operations on the same lanes in the
// same order, never fused, so that all processors compute the same bits: what is added up in four
// lanes stays in four lanes, and the instructions are kept busy by several sums at once.

// dot32 is x·y in single precision over four lanes, each product rounded before it is added.
func dot32(x, y []float32) float32 {
	if fast && len(x) >= 16 && len(x)%4 == 0 {
		y = y[:len(x)]
		var d [4]float32
		cosines4AVX2(&x[0], &y[0], &y[0], &y[0], &y[0], len(x), &d)
		return d[0]
	}
	return dotLanes(x, y)
}

// dotLanes is the reference for the vector instructions: four lanes, added as (a+b)+(c+d), then what is left
// over.
func dotLanes(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += float32(x[i] * y[i])
		b += float32(x[i+1] * y[i+1])
		c += float32(x[i+2] * y[i+2])
		d += float32(x[i+3] * y[i+3])
	}
	s := (a + b) + (c + d)
	for ; i < len(x); i++ {
		s += float32(x[i] * y[i])
	}
	return s
}

// dots4 is dot32 of q and each of x0 … x3.
func dots4(q, x0, x1, x2, x3 []float32) (d [4]float32) {
	l := len(q)
	x0, x1, x2, x3 = x0[:l], x1[:l], x2[:l], x3[:l]
	if fast && l > 0 && l%4 == 0 {
		cosines4AVX2(&q[0], &x0[0], &x1[0], &x2[0], &x3[0], l, &d)
		return d
	}
	return [4]float32{dotLanes(q, x0), dotLanes(q, x1), dotLanes(q, x2), dotLanes(q, x3)}
}
