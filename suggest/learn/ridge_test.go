package learn

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func equally(string) float64 { return 1 }

// Words of little weight make texts less alike than others.
func TestWeights(t *testing.T) {
	texts := [][]string{{"let", "know"}, {"let", "know"}, {"cancel", "meeting"}, {"cancel", "meeting"}}
	v, rows := NewVocabulary(texts, func(token string) float64 {
		if token == "let" || token == "know" {
			return .1
		}
		return 1
	})
	near := NewNearest(rows, v.Len()).Of(v.Vector([]string{"cancel", "let", "know"}), 4)
	require.Len(t, near, 4)
	assert.Equal(t, []int32{2, 3, 0, 1}, []int32{near[0].Row, near[1].Row, near[2].Row, near[3].Row})
}

// By hand, n = 2: "book" is in both texts, idf 1 + ln(3/3) = 1; the other word and the pair of each text
// are in one, idf 1 + ln(3/2) = 1.405465, and are only in the length √(1 + 2·1.405465²) = 2.225009.
func TestVocabularyByHand(t *testing.T) {
	v, rows := NewVocabulary([][]string{{"book", "flight"}, {"book", "hotel"}}, equally)
	require.Equal(t, 1, v.Len())
	for _, row := range rows {
		assert.Equal(t, []int32{0}, row.I)
		assert.InDelta(t, .449436, row.V[0], 1e-6)
	}
	x := v.Vector([]string{"please", "book"})
	assert.InDelta(t, .449436, x.V[0], 1e-6, "new words count in the length as rare ones do")
	assert.Empty(t, v.Vector(nil).I)
}

// random returns rows of a few features each, with labels.
func random(seed uint64, n, features, labels int) ([]Vector, [][]int32) {
	r := rand.New(rand.NewPCG(seed, 7))
	rows, y := make([]Vector, n), make([][]int32, n)
	for i := range rows {
		set := map[int32]bool{}
		for range 1 + r.IntN(6) {
			set[int32(r.IntN(features))] = true
		}
		for f := range int32(features) {
			if set[f] {
				rows[i].I = append(rows[i].I, f)
				rows[i].V = append(rows[i].V, 1/math.Sqrt(float64(len(set))))
			}
		}
		for l := range int32(labels) {
			if r.IntN(4) == 0 {
				y[i] = append(y[i], l)
			}
		}
	}
	return rows, y
}

// The oracle: (XᵀX + λI)⁻¹·Xᵀ·(y - ȳ) by gonum.
func TestRidgeAgainstNormalEquations(t *testing.T) {
	const n, features, labels, lambda = 60, 15, 11, .7
	rows, y := random(1, n, features, labels)
	r := fitRidge(rows, features, y, labels, lambda)
	a := mat.NewDense(features, features, nil)
	for f := range features {
		a.Set(f, f, lambda)
	}
	for _, x := range rows {
		for j, f := range x.I {
			for k, g := range x.I {
				a.Set(int(f), int(g), a.At(int(f), int(g))+x.V[j]*x.V[k])
			}
		}
	}
	for l := range labels {
		target := make([]float64, n)
		mean := 0.0
		for i := range y {
			if slices.Contains(y[i], int32(l)) {
				target[i] = 1
			}
			mean += target[i] / n
		}
		b := mat.NewVecDense(features, nil)
		for i, x := range rows {
			for j, f := range x.I {
				b.SetVec(int(f), b.AtVec(int(f))+x.V[j]*(target[i]-mean))
			}
		}
		var w mat.VecDense
		require.NoError(t, w.SolveVec(a, b))
		for f := range features {
			assert.InDelta(t, w.AtVec(f), r.Scores(nil, Vector{[]int32{int32(f)}, []float64{1}})[l]-mean, 2e-3)
		}
		for i, x := range rows {
			want := mean
			for j, f := range x.I {
				want += x.V[j] * w.AtVec(int(f))
			}
			assert.InDelta(t, want, r.Scores(nil, x)[l], 5e-3, "row %d", i)
		}
	}
}

func TestRidgeOfNothing(t *testing.T) {
	r := fitRidge(nil, 3, nil, 2, 1)
	assert.Equal(t, []float64{0, 0}, r.Scores(nil, Vector{I: []int32{1}, V: []float64{1}}))
	r = fitRidge([]Vector{{}}, 0, [][]int32{{1}}, 2, 1)
	assert.Equal(t, []float64{0, 1}, r.Scores(nil, Vector{}))
}

func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	rows, y := random(5, 200, 50, 30)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := fitRidge(rows, 50, y, 30, .5)
	for _, procs := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		got := fitRidge(rows, 50, y, 30, .5)
		assert.Equal(t, want.w, got.w)
	}
}

func TestNearestAgainstAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, _ := random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 30).Draw(t, "rows"), 8, 1)
		ix := NewNearest(rows, 8)
		k := rapid.IntRange(1, 8).Draw(t, "k")
		var want []Neighbour
		for i := range rows {
			if s := dot(rows[0], rows[i]); s > 0 {
				want = append(want, Neighbour{int32(i), s})
			}
		}
		got := ix.Of(rows[0], k)
		slices.SortFunc(want, nearer)
		require.Len(t, got, min(k, len(want)))
		for i := range got {
			assert.Equal(t, want[i], got[i])
		}
	})
}

// fitRidge is FitRidge that nothing stops.
func fitRidge(rows []Vector, features int, y [][]int32, n int, lambda float64) *Ridge {
	return FitRidge(rows, features, y, n, lambda, func() bool { return false })
}

// dot is Σ x[f]·y[f].
func dot(x, y Vector) float64 {
	sum, j := 0.0, 0
	for i, f := range x.I {
		for j < len(y.I) && y.I[j] < f {
			j++
		}
		if j < len(y.I) && y.I[j] == f {
			sum += float64(x.V[i] * y.V[j])
		}
	}
	return sum
}

// Of a column with more weights than are kept the largest stay, in order of features.
func TestLargestWeights(t *testing.T) {
	w := make([]float64, 4*lanes)
	for f, x := range []float64{.5, -2, 0, 1} {
		w[f*lanes+3] = x
	}
	assert.Equal(t, []labelWeight{{0, .5}, {1, -2}, {3, 1}}, largest(w, 3, 4))
	assert.Equal(t, []labelWeight{{1, -2}, {3, 1}}, largest(w, 3, 2))
	assert.Empty(t, largest(w, 3, 0))
}
