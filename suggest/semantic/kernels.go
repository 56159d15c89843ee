package semantic

import "waymark/internal/numeric"

// fast is true if the processor has vector instructions. It is a variable so that tests can switch it.
var fast = numeric.AVX2

// dot32 returns x·y in single precision over four lanes, added as (a+b)+(c+d), then the remaining elements; each
// product is rounded before it is added.
func dot32(x, y []float32) float32 {
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
