package labels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// By hand, n = 2: "book" is in both texts, idf 1 + ln(3/3) = 1; the other word and the pair of each text
// are in one, idf 1 + ln(3/2) = 1.405465, and are only in the length √(1 + 2·1.405465²) = 2.225009.
func TestVocabularyByHand(t *testing.T) {
	v, rows := NewVocabulary([][]string{{"book", "flight"}, {"book", "hotel"}})
	require.Equal(t, 1, v.Len())
	for _, row := range rows {
		assert.Equal(t, []int32{0}, row.I)
		assert.InDelta(t, .449436, row.V[0], 1e-6)
	}
	x, words := v.Vector([]string{"please", "book"})
	assert.InDelta(t, .449436, x.V[0], 1e-6, "new words count in the length as rare ones do")
	assert.Equal(t, []Word{{0, 1}}, words)
	x, words = v.Vector(nil)
	assert.Empty(t, x.I)
	v, rows = NewWords([][]string{{"book", "a", "flight"}, {"flight", "a", "book"}})
	assert.Equal(t, 3, v.Len(), "without pairs")
	assert.Equal(t, rows[0], rows[1], "in any order")
	assert.Empty(t, words)
}

// random returns rows of a few features each, with labels.
func random(seed uint64, n, features, labels int) ([]Vector, [][]Label) {
	r := rand.New(rand.NewPCG(seed, 7))
	rows, y := make([]Vector, n), make([][]Label, n)
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
				y[i] = append(y[i], Label{l, 1})
			}
		}
	}
	return rows, y
}

// The oracle: (XᵀDX + λI)⁻¹·XᵀD·(y - ȳ) by gonum.
func TestRidgeAgainstNormalEquations(t *testing.T) {
	const n, features, labels, lambda = 60, 15, 11, .7
	rows, y := random(1, n, features, labels)
	weight := make([]float64, n)
	total := 0.0
	for i := range weight {
		weight[i] = 1 + float64(i%3)
		total += weight[i]
	}
	r := fitRidge(rows, features, y, labels, weight, lambda)
	a := mat.NewDense(features, features, nil)
	for f := range features {
		a.Set(f, f, lambda)
	}
	for i, x := range rows {
		for j, f := range x.I {
			for k, g := range x.I {
				a.Set(int(f), int(g), a.At(int(f), int(g))+weight[i]*x.V[j]*x.V[k])
			}
		}
	}
	for l := range labels {
		target := make([]float64, n)
		mean := 0.0
		for i := range y {
			for _, v := range y[i] {
				if int(v.Label) == l {
					target[i] = v.Value
				}
			}
			mean += weight[i] * target[i] / total
		}
		b := mat.NewVecDense(features, nil)
		for i, x := range rows {
			for j, f := range x.I {
				b.SetVec(int(f), b.AtVec(int(f))+weight[i]*x.V[j]*(target[i]-mean))
			}
		}
		var w mat.VecDense
		require.NoError(t, w.SolveVec(a, b))
		for f := range features {
			assert.InDelta(t, w.AtVec(f), r.Weight(int32(f), int32(l)), 2e-4)
		}
		for i, x := range rows {
			want := mean
			for j, f := range x.I {
				want += x.V[j] * w.AtVec(int(f))
			}
			assert.InDelta(t, want, r.Scores(nil, x)[l], 5e-4, "row %d", i)
		}
	}
}

// What a row would have got without it is near what a fit without it gives, also where features that no other
// row has make it shorter. The mean keeps the row, and the diagonal is estimated.
func TestHeldOutScores(t *testing.T) {
	const n, features, labels = 50, 40, 3
	for _, length := range []float64{1, .5} {
		rows, y := random(3, n, features, labels)
		for _, x := range rows {
			for k := range x.V {
				x.V[k] *= length
			}
		}
		r := fitRidge(rows, features, y, labels, nil, length*length)
		worst, gap := 0.0, 0.0
		for i := range n {
			without := fitRidge(slices.Concat(rows[:i], rows[i+1:]), features, slices.Concat(y[:i], y[i+1:]), labels, nil, length*length)
			want, held, seen := without.Scores(nil, rows[i]), r.LeaveOneOutScores(nil, i, rows[i], rows[i]), r.Scores(nil, rows[i])
			for l := range labels {
				worst = max(worst, math.Abs(want[l]-held[l]))
				gap = max(gap, math.Abs(want[l]-seen[l]))
			}
		}
		assert.Less(t, worst, .1)
		assert.Greater(t, gap, 2*worst, "without the correction a row remembers itself")
		r.Forget()
		assert.Len(t, r.Scores(nil, rows[0]), labels)
	}
}

func TestRidgeOfNothing(t *testing.T) {
	r := fitRidge(nil, 3, nil, 2, nil, 1)
	assert.Equal(t, []float64{0, 0}, r.Scores(nil, Vector{I: []int32{1}, V: []float64{1}}))
	r = fitRidge([]Vector{{}}, 0, [][]Label{{{1, 1}}}, 2, nil, 1)
	assert.Equal(t, []float64{0, 1}, r.Scores(nil, Vector{}))
}

func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	rows, y := random(5, 200, 50, 30)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := fitRidge(rows, 50, y, 30, nil, .5)
	for _, procs := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		got := fitRidge(rows, 50, y, 30, nil, .5)
		assert.Equal(t, want.w, got.w)
		assert.Equal(t, want.alpha, got.alpha)
		assert.Equal(t, want.inverse, got.inverse)
	}
}

func TestNearestAgainstAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, _ := random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 30).Draw(t, "rows"), 8, 1)
		ix := NewNearest(rows, 8)
		skip := int32(rapid.IntRange(-1, len(rows)-1).Draw(t, "skip"))
		k := rapid.IntRange(1, 8).Draw(t, "k")
		var want []Neighbour
		for i := range rows {
			if s := Dot(rows[0], rows[i]); s > 0 && int32(i) != skip {
				want = append(want, Neighbour{int32(i), s})
			}
		}
		got := ix.Of(rows[0], k, skip)
		slices.SortFunc(want, func(a, b Neighbour) int {
			if nearer(a, b) {
				return -1
			}
			return 1
		})
		require.Len(t, got, min(k, len(want)))
		for i := range got {
			assert.Equal(t, want[i], got[i])
		}
	})
}

func TestVote(t *testing.T) {
	y := [][]Label{{{2, 1}}, {{1, 1}, {2, .5}}}
	assert.Equal(t, []Label{{1, .25}, {2, .875}}, Vote([]Neighbour{{0, .75}, {1, .25}}, y))
	assert.Empty(t, Vote(nil, y))
}

func corpus(n int) [][]string {
	r := rand.New(rand.NewPCG(11, 13))
	texts := make([][]string, n)
	for i := range texts {
		for range 8 {
			texts[i] = append(texts[i], fmt.Sprintf("w%d", int(1000*r.Float64()*r.Float64()*r.Float64())))
		}
	}
	return texts
}

func BenchmarkFitRidge(b *testing.B) {
	_, y := random(1, 2000, 50, 300)
	v, rows := NewVocabulary(corpus(2000))
	b.Run("rows=2000/labels=300", func(b *testing.B) {
		for b.Loop() {
			fitRidge(rows, v.Len(), y, 300, nil, .7)
		}
	})
}

func BenchmarkScores(b *testing.B) {
	_, y := random(1, 2000, 50, 1000)
	v, rows := NewVocabulary(corpus(2000))
	r := fitRidge(rows, v.Len(), y, 1000, nil, .7)
	ix := NewNearest(rows, v.Len())
	text := strings.Fields("w1 w2 w30 w400 w17 w5 w80 w9")
	b.Run("ridge/labels=1000", func(b *testing.B) {
		var s []float64
		for b.Loop() {
			x, _ := v.Vector(text)
			s = r.Scores(s[:0], x)
		}
	})
	b.Run("nearest/rows=2000", func(b *testing.B) {
		for b.Loop() {
			x, _ := v.Vector(text)
			ix.Of(x, 10, -1)
		}
	})
}

func TestSimilaritiesAgreeWithNearest(t *testing.T) {
	v, rows := NewVocabulary([][]string{{"a", "b"}, {"b", "c"}, {"a", "b", "c"}, {"d"}})
	ix := NewNearest(rows, v.Len())
	x, _ := v.Vector([]string{"a", "b"})
	s := ix.Similarities(x)
	require.Len(t, s, 4)
	for _, n := range ix.Of(x, 4, -1) {
		assert.Equal(t, n.Similarity, s[n.Row])
		assert.Positive(t, s[n.Row])
	}
	assert.Zero(t, s[3])
}

// fitRidge is FitRidgeUntil that nothing stops.
func fitRidge(rows []Vector, features int, y [][]Label, n int, weight []float64, lambda float64) *Ridge {
	return FitRidgeUntil(rows, features, y, n, weight, lambda, func() bool { return false })
}
