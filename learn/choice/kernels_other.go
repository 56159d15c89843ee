//go:build !amd64

package choice

func scoreAVX2(rows *row, n int, w *table, s *[4]float64)     { panic("no AVX2") }
func gradientAVX2(rows *row, n int, d *[4]float64, by *table) { panic("no AVX2") }
