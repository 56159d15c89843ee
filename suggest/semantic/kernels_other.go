//go:build !amd64

package semantic

func codesAVX2(q *int16, codes *int8, n, rows int, out *int32) { panic("no AVX2") }
