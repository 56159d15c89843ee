package semantic

//go:noescape
func rotateAVX2(x, y *float64, n int, c, s float64)

//go:noescape
func dot4AVX2(x, y0, y1, y2, y3 *float64, n int, lanes *[16]float64)

//go:noescape
func cosines4AVX2(q, x0, x1, x2, x3 *float32, n int, out *[4]float32)

//go:noescape
func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)
