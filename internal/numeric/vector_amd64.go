package numeric

//go:noescape
func axpyAVX2(a float64, x, y *float64, n int)

//go:noescape
func spreadAVX2(index *int32, x *float64, n int, p *[Lanes]float64, u *float64, rows int) (done int)

//go:noescape
func gatherAVX2(index *int32, x *float64, n int, u *float64, rows int, sum *[Lanes]float64) (done int)
