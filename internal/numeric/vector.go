package numeric

import "golang.org/x/sys/cpu"

// The functions below have a second implementation in AVX2. It performs the same operations on the same elements in the
// same order, never fused, so every processor computes the same bits.

// AVX2 reports whether the processor and the system support the vector instructions that the kernels use.
var AVX2 = cpu.X86.HasAVX2

// fast is AVX2, a variable of its own so that tests can switch it.
var fast = AVX2

// Axpy adds a·x to y in place. It panics if y is shorter than x.
func Axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	i := 0
	if n := len(x) &^ 3; fast && n > 0 {
		axpyAVX2(a, &x[0], &y[0], n)
		i = n
	}
	for ; i < len(x); i++ {
		y[i] += float64(a * x[i])
	}
}

// Lanes is the number of columns of the matrices that [Spread] and [Gather] use.
const Lanes = 8

// Spread adds x[k]·p to row index[k] of the matrix u, for every k in order. It panics if there is no such row.
func Spread(index []int32, x []float64, p *[Lanes]float64, u []float64) {
	x = x[:len(index)]
	if fast && len(index) > 0 && len(u) > 0 {
		if spreadAVX2(&index[0], &x[0], len(index), p, &u[0], len(u)/Lanes) < len(index) {
			panic("numeric: no such row")
		}
		return
	}
	for k, f := range index {
		row := (*[Lanes]float64)(u[int(f)*Lanes:])
		for l := range row {
			row[l] += float64(x[k] * p[l])
		}
	}
}

// Gather is Σ_k x[k]·u[index[k]], the rows of u added in order. It panics if there is no such row.
func Gather(index []int32, x []float64, u []float64) (sum [Lanes]float64) {
	x = x[:len(index)]
	if fast && len(index) > 0 && len(u) > 0 {
		if gatherAVX2(&index[0], &x[0], len(index), &u[0], len(u)/Lanes, &sum) < len(index) {
			panic("numeric: no such row")
		}
		return sum
	}
	for k, f := range index {
		row := (*[Lanes]float64)(u[int(f)*Lanes:])
		for l := range row {
			sum[l] += float64(x[k] * row[l])
		}
	}
	return sum
}
