package semantic

// fast says that the processor and the system have AVX2.
var fast = hasAVX2()

func hasAVX2() bool {
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	const osxsave, avx, avx2, state = 1 << 27, 1 << 28, 1 << 5, 1<<1 | 1<<2
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 || xgetbv()&state != state {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (a uint32)

//go:noescape
func axpyAVX2(a float64, x, y *float64, n int)

//go:noescape
func axpy4AVX2(a *[4]float64, x0, x1, x2, x3, y *float64, n int)

//go:noescape
func axpy32AVX2(a float64, x *float32, y *float64, n int)

//go:noescape
func rotateAVX2(x, y *float64, n int, c, s float64)

//go:noescape
func dot4AVX2(x, y0, y1, y2, y3 *float64, n int, lanes *[16]float64)

//go:noescape
func cosines4AVX2(q, x0, x1, x2, x3 *float32, n int, out *[4]float32)

//go:noescape
func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)
