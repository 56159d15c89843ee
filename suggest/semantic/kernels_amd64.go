package semantic

//go:noescape
func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)
