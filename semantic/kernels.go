package semantic

import "waymark/internal/numeric"

// fast says that there are vector instructions, a variable so that tests can switch it.
var fast = numeric.AVX2

// The kernels below have a second form in AVX2 that does the same operations on the same lanes in the
// same order, never fused, so that all processors compute the same bits: what is added up in four
// lanes stays in four lanes, and the instructions are kept busy by several sums at once.

// rotate turns x and y into c·x - s·y and s·x + c·y.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	i := 0
	if n := len(x) &^ 3; fast && n > 0 {
		rotateAVX2(&x[0], &y[0], n, c, s)
		i = n
	}
	for ; i < len(x); i++ {
		xi, yi := x[i], y[i]
		x[i] = float64(c*xi) - float64(s*yi)
		y[i] = float64(s*xi) + float64(c*yi)
	}
}

// dot4 is numeric.Dot of x and each of y0 … y3.
func dot4(x, y0, y1, y2, y3 []float64) (d [4]float64) {
	l := len(x)
	y0, y1, y2, y3 = y0[:l], y1[:l], y2[:l], y3[:l]
	n := l &^ 3
	if !fast || n == 0 {
		return [4]float64{numeric.Dot(x, y0), numeric.Dot(x, y1), numeric.Dot(x, y2), numeric.Dot(x, y3)}
	}
	var s [16]float64
	dot4AVX2(&x[0], &y0[0], &y1[0], &y2[0], &y3[0], n, &s)
	for lane, i := 0, n; i < l; lane, i = lane+1, i+1 {
		s[lane] += float64(x[i] * y0[i])
		s[4+lane] += float64(x[i] * y1[i])
		s[8+lane] += float64(x[i] * y2[i])
		s[12+lane] += float64(x[i] * y3[i])
	}
	for k := range d {
		d[k] = (s[4*k] + s[4*k+1]) + (s[4*k+2] + s[4*k+3])
	}
	return d
}

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
