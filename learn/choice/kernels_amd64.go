package choice

//go:noescape
func scoreAVX2(rows *row, n int, w *table, s *[4]float64)

//go:noescape
func gradientAVX2(rows *row, n int, d *[4]float64, by *table)
