//go:build !amd64

package semantic

func cosines4AVX2(q, x0, x1, x2, x3 *float32, n int, out *[4]float32) { panic("no AVX2") }
func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)        { panic("no AVX2") }
