package choice

import "waymark/internal/numeric"

// fast says that there are vector instructions, a variable so that tests can switch it. The kernels below do the
// same operations in the same order with them and without.
var fast = numeric.AVX2

// score adds the scores of four candidates up, row by row.
func score(rows []row, w *table, s *[4]float64) {
	if fast && len(rows) > 0 {
		scoreAVX2(&rows[0], len(rows), w, s)
		return
	}
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for k := range rows {
		x := &rows[k]
		w := w[x.index%tableSize]
		s0 += float64(w * float64(x.value[0]))
		s1 += float64(w * float64(x.value[1]))
		s2 += float64(w * float64(x.value[2]))
		s3 += float64(w * float64(x.value[3]))
	}
	*s = [4]float64{s0, s1, s2, s3}
}

// gradient adds what four candidates, each d times, have of every feature to by, one after the other.
func gradient(rows []row, d *[4]float64, by *table) {
	if fast && len(rows) > 0 {
		gradientAVX2(&rows[0], len(rows), d, by)
		return
	}
	for k := range rows {
		x := &rows[k]
		sum := by[x.index%tableSize] + float64(d[0]*float64(x.value[0]))
		sum += float64(d[1] * float64(x.value[1]))
		sum += float64(d[2] * float64(x.value[2]))
		by[x.index%tableSize] = sum + float64(d[3]*float64(x.value[3]))
	}
}
