package semantic

//go:noescape
func cosines4AVX2(q, x0, x1, x2, x3 *float32, n int, out *[4]float32)

//go:noescape
func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)
