package numeric

import "golang.org/x/sys/cpu"

// The functions below have a second form in AVX2 that does the same operations on the same elements in the
// same order, never fused: every processor computes the same bits.

// AVX2 says that the processor and the system have the vector instructions that kernels use.
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

// Axpy4 adds a[0]·x0 to y in place, then a[1]·x1, a[2]·x2 and a[3]·x3. It panics if one of them is shorter
// than y.
func Axpy4(a *[4]float64, x0, x1, x2, x3, y []float64) {
	l := len(y)
	x0, x1, x2, x3 = x0[:l], x1[:l], x2[:l], x3[:l]
	i := 0
	if n := l &^ 3; fast && n > 0 {
		axpy4AVX2(a, &x0[0], &x1[0], &x2[0], &x3[0], &y[0], n)
		i = n
	}
	for ; i < l; i++ {
		s := y[i] + float64(a[0]*x0[i])
		s += float64(a[1] * x1[i])
		s += float64(a[2] * x2[i])
		y[i] = s + float64(a[3]*x3[i])
	}
}

// Axpy32 adds a·x to y in place, x in single precision. It panics if y is shorter than x.
func Axpy32(a float64, x []float32, y []float64) {
	y = y[:len(x)]
	i := 0
	if n := len(x) &^ 3; fast && n > 0 {
		axpy32AVX2(a, &x[0], &y[0], n)
		i = n
	}
	for ; i < len(x); i++ {
		y[i] += float64(a * float64(x[i]))
	}
}

// Syr4 adds the upper triangle of Σ a[r]·x_r·x_rᵀ to the matrix h of n × n, r from 0 to 3. x holds the four rows
// x_r one after the other, and n is a multiple of 4. What h has below the diagonal is undefined afterwards.
func Syr4(a *[4]float64, x, h []float64, n int) {
	if n%4 != 0 {
		panic("numeric: Syr4 of a row that is no multiple of 4")
	}
	x, h = x[:4*n], h[:n*n]
	if fast && n > 0 {
		syr4AVX2(a, &x[0], &h[0], n)
		return
	}
	x0, x1, x2, x3 := x[:n], x[n:2*n], x[2*n:3*n], x[3*n:]
	for k := range n {
		b := [4]float64{float64(a[0] * x0[k]), float64(a[1] * x1[k]), float64(a[2] * x2[k]), float64(a[3] * x3[k])}
		Axpy4(&b, x0[k:], x1[k:], x2[k:], x3[k:], h[k*n+k:(k+1)*n])
	}
}

// Lanes is how many columns a matrix has that [Spread] and [Gather] work with.
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

// Exps replaces every x by e^(x-top), as [Exp] does.
func Exps(x []float64, top float64) {
	i := 0
	if n := len(x) &^ 3; fast && n > 0 {
		for i < n {
			i += expsAVX2(&x[i], n-i, top)
			for end := min(i+4, n); i < end; i++ { // what is too small or too large for it
				x[i] = Exp(x[i] - top)
			}
		}
	}
	for ; i < len(x); i++ {
		x[i] = Exp(x[i] - top)
	}
}
