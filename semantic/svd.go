package semantic

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"waymark/internal/numeric"
)

// sparse is a matrix in compressed rows.
type sparse struct {
	rows, cols int
	start      []int // row i is entries start[i]:start[i+1]
	col        []int32
	val        []float64
}

// transpose is a counting sort by column: O(entries + columns). Within a row of the result the columns rise.
func (a *sparse) transpose() *sparse {
	t := &sparse{rows: a.cols, cols: a.rows, start: make([]int, a.cols+1), col: make([]int32, len(a.col)), val: make([]float64, len(a.val))}
	for _, c := range a.col {
		t.start[c+1]++
	}
	for c := range a.cols {
		t.start[c+1] += t.start[c]
	}
	// at[c] is the next free entry of row c.
	at := append([]int(nil), t.start...)
	for r := range a.rows {
		for e := a.start[r]; e < a.start[r+1]; e++ {
			c := a.col[e]
			t.col[at[c]], t.val[at[c]] = int32(r), a.val[e]
			at[c]++
		}
	}
	return t
}

// times puts A·X into y for a dense X of l columns, rows one after another.
func (a *sparse) times(x []float64, l int, y []float64) []float64 {
	y = y[:a.rows*l]
	parallel(a.rows, func(from, to int) {
		for r := from; r < to; r++ {
			row := y[r*l : (r+1)*l]
			clear(row)
			e, end := a.start[r], a.start[r+1]
			at := func(e int) []float64 { c := int(a.col[e]); return x[c*l : (c+1)*l] }
			for ; e+4 <= end; e += 4 {
				numeric.Axpy4((*[4]float64)(a.val[e:]), at(e), at(e+1), at(e+2), at(e+3), row)
			}
			for ; e < end; e++ {
				numeric.Axpy(a.val[e], at(e), row)
			}
		}
	})
	return y
}

// parallel calls f on consecutive parts of 0..n-1, on all processors. Which part an index falls
// into must not matter: every number is computed whole, by one goroutine, in one order.
func parallel(n int, f func(from, to int)) {
	shared(n, func(from, to int) { pieces(from, to, f) })
}

// shared gives each processor one part of n items, the same one each time.
func shared(n int, f func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(n*w/workers, n*(w+1)/workers) })
	}
	wg.Wait()
}

// pieces calls f for one part after another and lets others have the processor in between, such as
// whoever answers a question meanwhile.
func pieces(from, to int, f func(from, to int)) {
	size := max(1, (to-from)/128)
	for ; from < to; from += size {
		f(from, min(from+size, to))
		runtime.Gosched()
	}
}

// spread is parallel where each of the n items is work numbers long and all of them are worth a
// second processor, also where others keep it busy.
func spread(n, work int, f func(from, to int)) {
	if n*work < 1<<18 {
		f(0, n)
		return
	}
	parallel(n, f)
}

const (
	oversampling = 8 // extra directions, and two power iterations: Halko et al., section 4.5
	iterations   = 2
)

// svd returns the largest singular values of A and the right singular vectors that belong to them:
// A ≈ U·diag(σ)·Vᵀ, V of a.cols rows and len(σ) columns, rows one after another.
//
// The range of A is found with random signs Ω (Halko, Martinsson and Tropp, "Finding structure with
// randomness", SIAM Review 53, 2011, algorithms 4.4 and 5.1),
//
//	Q = orth((A·Aᵀ)²·A·Ω)    W = Aᵀ·Q    WᵀW = S·diag(σ²)·Sᵀ    V = W·S·diag(1/σ)
//
// and besides A and its transpose nothing is held but one dense matrix of rows × (rank + 8), one of
// columns × (rank + 8) and V. Values below 1e-5 of the largest are dropped: their squares are lost in
// the rounding of WᵀW. If stop says so, there are none.
func svd(a *sparse, rank int, seed uint64, stop func() bool) (sigma, v []float64) {
	l := min(rank+oversampling, a.rows, a.cols)
	if l == 0 || rank <= 0 {
		return nil, nil
	}
	at := a.transpose()
	left, right := make([]float64, a.rows*l), make([]float64, a.cols*l)
	// Random signs instead of normal deviates: exact, and as good for finding the range.
	for i := range right {
		right[i] = 1
		if mix(seed+uint64(i))>>63 == 1 {
			right[i] = -1
		}
	}
	q, l := orthonormal(a.times(right, l, left), a.rows, l)
	for range iterations {
		if stop != nil && stop() {
			return nil, nil
		}
		q, l = orthonormal(a.times(at.times(q, l, right), l, left), a.rows, l)
	}
	w := at.times(q, l, right)
	g := gram(w, a.cols, l)
	lambda, s := eigen(g, l)
	r := 0
	for r < min(rank, l) && lambda[r] > 1e-10*lambda[0] {
		r++
	}
	sigma = make([]float64, r)
	for i := range sigma {
		sigma[i] = math.Sqrt(lambda[i])
	}
	v = make([]float64, a.cols*r)
	parallel(a.cols, func(from, to int) {
		for t := from; t < to; t++ {
			row, from := v[t*r:(t+1)*r], w[t*l:(t+1)*l]
			at := func(i int) []float64 { return s[i*l : i*l+r] }
			i := 0
			for ; i+4 <= l; i += 4 {
				numeric.Axpy4((*[4]float64)(from[i:]), at(i), at(i+1), at(i+2), at(i+3), row)
			}
			for ; i < l; i++ {
				numeric.Axpy(from[i], at(i), row)
			}
			for i := range row {
				row[i] /= sigma[i]
			}
		}
	})
	return sigma, v
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// orthonormal turns the columns of y (n × l, rows one after another) into an orthonormal basis of what
// they span and returns it, in y, with its size: Cholesky QR done twice (Fukaya et al., "CholeskyQR2: a
// simple and communication-avoiding algorithm for computing a tall-skinny QR factorization", ScalA 2014),
//
//	YᵀY = RᵀR    Q = Y·R⁻¹
//
// or, where columns are so alike that YᵀY does not tell them apart, Gram-Schmidt.
func orthonormal(y []float64, n, l int) ([]float64, int) {
	for range 2 {
		inverse, ok := invertedRoot(gram(y, n, l), l)
		if !ok {
			return gramSchmidt(y, n, l)
		}
		parallel(n, func(from, to int) {
			x := make([]float64, l)
			for t := from; t < to; t++ {
				row := y[t*l : (t+1)*l]
				copy(x, row)
				clear(row)
				i := 0
				for ; i+4 <= l; i += 4 { // the inverse is zero below its diagonal
					r := func(k int) []float64 { return inverse[(i+k)*l+i : (i+k+1)*l] }
					numeric.Axpy4((*[4]float64)(x[i:]), r(0), r(1), r(2), r(3), row[i:])
				}
				for ; i < l; i++ {
					numeric.Axpy(x[i], inverse[i*l+i:(i+1)*l], row[i:])
				}
			}
		})
	}
	return y, l
}

// invertedRoot returns R⁻¹ for the upper triangular R with RᵀR = g, a symmetric l × l matrix, and
// whether the columns that g belongs to are far enough from depending on one another.
func invertedRoot(g []float64, l int) (inverse []float64, ok bool) {
	const near = 1e-9 // sine, squared, of the angle between a column and those before it
	root := make([]float64, l*l)
	for i := range l {
		row := root[i*l : (i+1)*l]
		copy(row[i:], g[i*l+i:(i+1)*l])
		for k := range i {
			numeric.Axpy(-root[k*l+i], root[k*l+i:(k+1)*l], row[i:])
		}
		if !(row[i] > float64(near*g[i*l+i])) {
			return nil, false
		}
		d := math.Sqrt(row[i])
		for j := i; j < l; j++ {
			row[j] /= d
		}
	}
	inverse = make([]float64, l*l)
	for i := l - 1; i >= 0; i-- { // R·X = I from the last row up
		row := inverse[i*l : (i+1)*l]
		row[i] = 1
		for k := i + 1; k < l; k++ {
			numeric.Axpy(-root[i*l+k], inverse[k*l+k:(k+1)*l], row[k:])
		}
		for j := i; j < l; j++ {
			row[j] /= root[i*l+i]
		}
	}
	return inverse, true
}

// gram is WᵀW of w (n × l, rows one after another): sums over stripes of rows, which do not depend on
// the number of processors, added in their order.
func gram(w []float64, n, l int) []float64 {
	stripes := min(16, n/256+1)
	sums := make([][]float64, stripes)
	parallel(stripes, func(from, to int) {
		for s := from; s < to; s++ {
			g := make([]float64, l*l)
			t, end := n*s/stripes, n*(s+1)/stripes
			for ; t+4 <= end; t += 4 {
				a, b, c, d := w[t*l:(t+1)*l], w[(t+1)*l:(t+2)*l], w[(t+2)*l:(t+3)*l], w[(t+3)*l:(t+4)*l]
				for i := range l {
					numeric.Axpy4(&[4]float64{a[i], b[i], c[i], d[i]}, a[i:], b[i:], c[i:], d[i:], g[i*l+i:(i+1)*l])
				}
			}
			for ; t < end; t++ {
				x := w[t*l : (t+1)*l]
				for i := range l {
					numeric.Axpy(x[i], x[i:], g[i*l+i:(i+1)*l])
				}
			}
			sums[s] = g
		}
	})
	g := sums[0]
	for _, s := range sums[1:] {
		numeric.Axpy(1, s, g)
	}
	for i := range l {
		for j := range i {
			g[i*l+j] = g[j*l+i]
		}
	}
	return g
}

// gramSchmidt is orthonormal of columns that may depend on one another: classical Gram-Schmidt done
// twice, which is enough (Giraud and Langou, IMA Journal of
// Numerical Analysis 25, 2005). Columns that depend on earlier ones are left out. It destroys y.
func gramSchmidt(y []float64, n, l int) ([]float64, int) {
	columns := make([][]float64, 0, l)
	dots := make([]float64, l)
	for j := range l {
		x := make([]float64, n)
		for i := range x {
			x[i] = y[i*l+j]
		}
		length := numeric.Norm(x)
		if length == 0 {
			continue
		}
		k := len(columns)
		for range 2 {
			spread(k, n, func(from, to int) {
				i := from
				for ; i+4 <= to; i += 4 {
					d := dot4(x, columns[i], columns[i+1], columns[i+2], columns[i+3])
					for j := range d {
						dots[i+j] = -d[j]
					}
				}
				for ; i < to; i++ {
					dots[i] = -numeric.Dot(columns[i], x)
				}
			})
			spread(n, k, func(from, to int) {
				x, i := x[from:to], 0
				for ; i+4 <= k; i += 4 {
					numeric.Axpy4((*[4]float64)(dots[i:]), columns[i][from:to], columns[i+1][from:to], columns[i+2][from:to], columns[i+3][from:to], x)
				}
				for ; i < k; i++ {
					numeric.Axpy(dots[i], columns[i][from:to], x)
				}
			})
		}
		rest := numeric.Norm(x)
		if rest <= 1e-9*length {
			continue
		}
		for i := range x {
			x[i] /= rest
		}
		columns = append(columns, x)
	}
	k := len(columns)
	q := y[:n*k]
	for j, c := range columns {
		for i, x := range c {
			q[i*k+j] = x
		}
	}
	return q, k
}

// eigen returns the eigenvalues of the symmetric l × l matrix a in falling order and, as columns of
// the second result, their eigenvectors. It destroys a. Cyclic Jacobi: pairs in the order of rows,
// rotations as in Golub and Van Loan, Matrix Computations, section 8.5.
func eigen(a []float64, l int) (values, vectors []float64) {
	v := make([]float64, l*l) // rows are eigenvectors
	for i := range l {
		v[i*l+i] = 1
	}
	total := numeric.Dot(a, a)
	for range 60 {
		off := 0.0
		for p := range l {
			for q := p + 1; q < l; q++ {
				off += float64(a[p*l+q] * a[p*l+q])
			}
		}
		if off <= 1e-30*total {
			break
		}
		for p := range l {
			for q := p + 1; q < l; q++ {
				apq := a[p*l+q]
				if math.Abs(apq) <= 1e-18*math.Sqrt(total) {
					continue
				}
				// t is the smaller root of t² + 2·theta·t = 1, the tangent of the angle that makes a[p][q]
				// zero. The smaller angle, at most 45°, is what makes the sweeps converge.
				theta := (a[q*l+q] - a[p*l+p]) / (2 * apq)
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				rotate(a[p*l:(p+1)*l], a[q*l:(q+1)*l], c, s)
				for i := range l {
					x, y := a[i*l+p], a[i*l+q]
					a[i*l+p] = float64(c*x) - float64(s*y)
					a[i*l+q] = float64(s*x) + float64(c*y)
				}
				rotate(v[p*l:(p+1)*l], v[q*l:(q+1)*l], c, s)
			}
		}
	}
	return sortedEigen(a, v, l)
}

// sortedEigen reads the eigenvalues off the diagonal of a. The largest entry of each vector (the
// first of equal ones) is made positive, since the sign of an eigenvector is arbitrary.
func sortedEigen(a, v []float64, l int) (values, vectors []float64) {
	order := falling(l, func(i int) float64 { return a[i*l+i] })
	values, vectors = make([]float64, l), make([]float64, l*l)
	for k, i := range order {
		values[k] = a[i*l+i]
		row := v[i*l : (i+1)*l]
		sign, most := 1.0, 0.0
		for _, x := range row {
			if math.Abs(x) > most {
				most, sign = math.Abs(x), math.Copysign(1, x)
			}
		}
		for j, x := range row {
			vectors[j*l+k] = sign * x
		}
	}
	return values, vectors
}

// falling returns 0..n-1 by falling value, equal ones in order.
func falling(n int, value func(int) float64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	return order
}

// Entry is a number of a sparse matrix, Row that of one row.
type Entry struct {
	Column int32
	Value  float64
}

// TruncatedSVD returns the largest singular values of a matrix, at most rank, and the right singular vectors that
// belong to them, len(sigma) numbers for each column. Equal input gives equal bits on every machine.
func TruncatedSVD(rows [][]Entry, columns, rank int) (sigma, right []float64) {
	a := &sparse{rows: len(rows), cols: columns, start: make([]int, len(rows)+1)}
	for i, row := range rows {
		for _, e := range row {
			a.col, a.val = append(a.col, e.Column), append(a.val, e.Value)
		}
		a.start[i+1] = len(a.col)
	}
	return svd(a, rank, 0, nil)
}
