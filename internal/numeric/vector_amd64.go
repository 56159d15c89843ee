package numeric

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
func spreadAVX2(index *int32, x *float64, n int, p *[Lanes]float64, u *float64, rows int) (done int)

//go:noescape
func gatherAVX2(index *int32, x *float64, n int, u *float64, rows int, sum *[Lanes]float64) (done int)
