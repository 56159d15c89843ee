//go:build !amd64

package numeric

func axpyAVX2(a float64, x, y *float64, n int) { panic("no AVX2") }
func spreadAVX2(index *int32, x *float64, n int, p *[Lanes]float64, u *float64, rows int) (done int) {
	panic("no AVX2")
}
func gatherAVX2(index *int32, x *float64, n int, u *float64, rows int, sum *[Lanes]float64) (done int) {
	panic("no AVX2")
}
