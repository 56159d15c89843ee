package council

import (
	"math"
	"slices"

	"waymark/internal/numeric"
)

// How likely is what was seen, if order meant nothing? With few answers and reviewers that can be counted
// out, and must be: approximations by a normal or t distribution promise too much there. Up to maxExact
// arrangements every one is looked at, beyond as many are drawn, the one that was seen among them.
const maxExact = 50_000

// samples arrangements are drawn where all would be too many, a tenth of that beyond maxMoved elements.
const (
	samples  = 9_999
	maxMoved = 2_000
)

// slack is the relative difference up to which two sums count as equal.
const slack = 1e-9

// correlation returns Pearson's r of x and y with its two-sided p by permutation; ok is false for fewer than three
// pairs and where x or y does not vary.
func correlation(x, y []float64, r *random) (rho, p float64, ok bool) {
	if len(x) < 3 {
		return 0, 0, false
	}
	return within([][]float64{centred(x)}, [][]float64{centred(y)}, r)
}

func centred(x []float64) []float64 {
	m := numeric.Sum(x) / float64(len(x))
	c := make([]float64, len(x))
	for i, v := range x {
		c[i] = v - m
	}
	return c
}

// arrangements is the share of ways to permute groups of the given sizes, each within itself, that are
// extreme.
func arrangements(sizes []int, r *random, extreme func(order [][]int) bool) float64 {
	order := make([][]int, len(sizes))
	all := 1.0
	for i, n := range sizes {
		order[i] = make([]int, n)
		for j := range order[i] {
			order[i][j] = j
		}
		for k := 2; k <= n; k++ {
			all *= float64(k)
		}
	}
	count := 0
	if all <= maxExact {
		for {
			if extreme(order) {
				count++
			}
			g := 0
			for g < len(order) && !next(order[g]) { // like the digits of a number
				g++
			}
			if g == len(order) {
				return float64(count) / all
			}
		}
	}
	drawn, moved := samples, 0
	for _, n := range sizes {
		moved += n
	}
	if moved > maxMoved {
		drawn = samples / 10
	}
	for range drawn {
		for _, o := range order {
			r.shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
		}
		if extreme(order) {
			count++
		}
	}
	return float64(count+1) / float64(drawn+1)
}

// next is the next permutation in lexical order; false, and back to the first, after the last.
func next(o []int) bool {
	i := len(o) - 2
	for i >= 0 && o[i] > o[i+1] {
		i--
	}
	if i < 0 {
		slices.Reverse(o)
		return false
	}
	j := len(o) - 1
	for o[j] < o[i] {
		j--
	}
	o[i], o[j] = o[j], o[i]
	slices.Reverse(o[i+1:])
	return true
}

// signs is the two-sided p of the mean of d, if each difference could as well have the other sign.
func signs(d []float64, r *random) float64 {
	n := len(d)
	seen := math.Abs(numeric.Sum(d))
	size := 0.0
	for _, v := range d {
		size += math.Abs(v)
	}
	flipped := make([]float64, n)
	extreme := func(bits uint64) bool {
		for i, v := range d {
			if bits>>i&1 == 1 {
				v = -v
			}
			flipped[i] = v
		}
		return math.Abs(numeric.Sum(flipped)) >= seen-float64(slack*size)
	}
	count := 0
	if n <= 15 {
		for bits := range uint64(1) << n {
			if extreme(bits) {
				count++
			}
		}
		return float64(count) / float64(uint64(1)<<n)
	}
	for range samples {
		if extreme(r.next()) { // at most 64 answers, so 64 bits
			count++
		}
	}
	return float64(count+1) / (samples + 1)
}
