package numeric

//go:noescape
func axpyAVX2(a float64, x, y *float64, n int)

//go:noescape
func axpy4AVX2(a *[4]float64, x0, x1, x2, x3, y *float64, n int)

//go:noescape
func axpy32AVX2(a float64, x *float32, y *float64, n int)

//go:noescape
func syr4AVX2(a *[4]float64, x, h *float64, n int)

//go:noescape
func spreadAVX2(index *int32, x *float64, n int, p *[Lanes]float64, u *float64, rows int) (done int)

//go:noescape
func gatherAVX2(index *int32, x *float64, n int, u *float64, rows int, sum *[Lanes]float64) (done int)

//go:noescape
func expsAVX2(x *float64, n int, top float64) (done int)
