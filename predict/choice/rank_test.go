package choice

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/numeric"
)

// planted draws choices from a conditional logit with the weights given.
func planted(seed uint64, weights []float64, n, candidates int) *Choices {
	random := rand.New(rand.NewPCG(seed, 1))
	c := &Choices{}
	index := make([]int32, len(weights))
	for k := range index {
		index[k] = int32(k)
	}
	for range n {
		best, taken := math.Inf(-1), 0
		for j := range candidates {
			x := make([]float32, len(weights))
			s := 0.0
			for k := range x {
				x[k] = float32(random.NormFloat64())
				s += weights[k] * float64(x[k])
			}
			// The largest of scores with Gumbel noise is a draw from the softmax.
			if s -= math.Log(-math.Log(random.Float64())); s > best {
				best, taken = s, j
			}
			c.Candidate(index, x)
		}
		c.Taken(taken, 1)
	}
	return c
}

func TestFitRecoversPlantedWeights(t *testing.T) {
	want := []float64{1.5, -0.7, 0, 0.3}
	got := Fit(planted(1, want, 4000, 6), make([]float64, 4), []float64{1, 1, 1, 1}, 100)
	assert.True(t, got.Converged)
	assert.InDeltaSlice(t, want, got.Weights, .08)
}

// Two candidates with x = 1 and x = 0, the first taken a times, the second b: without a penalty to
// speak of w = ln(a/b), the log odds.
func TestFitIsTheLogOdds(t *testing.T) {
	for _, tt := range []struct{ a, b int }{{3, 1}, {1, 1}, {2, 7}, {90, 10}} {
		c := &Choices{}
		for i := range tt.a + tt.b {
			c.Candidate([]int32{0}, []float32{1})
			c.Candidate(nil, nil)
			c.Taken(min(1, i/tt.a), 1)
		}
		got := Fit(c, []float64{0}, []float64{1e-9}, 100)
		assert.InDelta(t, math.Log(float64(tt.a)/float64(tt.b)), got.Weights[0], 1e-3)
	}
}

func TestMassCountsAsRepetition(t *testing.T) {
	once, twice := &Choices{}, &Choices{}
	for i := range 20 {
		x := []float32{float32(i%5) - 2}
		for range 2 {
			twice.Candidate([]int32{0}, x)
			twice.Candidate(nil, nil)
			twice.Taken(i%2, 1)
		}
		once.Candidate([]int32{0}, x)
		once.Candidate(nil, nil)
		once.Taken(i%2, 2)
	}
	a := Fit(once, []float64{0}, []float64{1}, 50)
	b := Fit(twice, []float64{0}, []float64{1}, 50)
	assert.InDelta(t, b.Weights[0], a.Weights[0], 1e-6)
	assert.InDelta(t, b.Loss, a.Loss, 1e-9)
}

func TestThePriorHolds(t *testing.T) {
	prior := []float64{.5, -1}
	none := Fit(&Choices{}, prior, []float64{1, 1}, 20)
	assert.Equal(t, prior, none.Weights, "without choices")
	held := Fit(planted(2, []float64{2, 2}, 300, 4), prior, []float64{math.Inf(1), 1}, 50)
	assert.Equal(t, .5, held.Weights[0], "an infinite penalty")
	assert.Greater(t, held.Weights[1], .5)
	few, many := Fit(planted(3, []float64{2, 2}, 5, 4), prior, []float64{5, 5}, 50), Fit(planted(3, []float64{2, 2}, 2000, 4), prior, []float64{5, 5}, 50)
	assert.Less(t, few.Weights[0], many.Weights[0], "few choices move the weights little")
}

// The gradient is that of the loss: a central difference agrees.
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := planted(rapid.Uint64().Draw(t, "seed"), []float64{1, -1, .5}, 20, 5)
		w := rapid.SliceOfN(rapid.Float64Range(-2, 2), 3, 3).Draw(t, "w")
		parts := make([][]float64, shards)
		for s := range parts {
			parts[s] = make([]float64, 3)
		}
		g, unused := make([]float64, 3), make([]float64, 3)
		c.loss(w, g, parts)
		const h = 1e-5
		for k := range w {
			x := w[k]
			w[k] = x + h
			up := c.loss(w, unused, parts)
			w[k] = x - h
			down := c.loss(w, unused, parts)
			w[k] = x
			assert.InDelta(t, (up-down)/(2*h), g[k], 1e-4)
		}
	})
}

// At the answer the gradient of L vanishes.
func TestFitEndsAtAStationaryPoint(t *testing.T) {
	c := planted(5, []float64{1, 2, -1}, 500, 8)
	got := Fit(c, make([]float64, 3), []float64{2, 2, 2}, 100)
	parts := make([][]float64, shards)
	for s := range parts {
		parts[s] = make([]float64, 3)
	}
	g := make([]float64, 3)
	c.loss(got.Weights, g, parts)
	numeric.Axpy(2, got.Weights, g)
	assert.Less(t, numeric.Norm(g), .2)
}

func TestFitIsDeterministic(t *testing.T) {
	c := planted(7, []float64{1, -2, .5, 0, 3}, 700, 9)
	prior, penalty := make([]float64, 5), []float64{1, 1, 1, 1, 1}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := Fit(c, prior, penalty, 60)
	for _, n := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(n)
		require.Equal(t, want, Fit(c, prior, penalty, 60))
	}
}

func TestTakenMustBeACandidate(t *testing.T) {
	c := &Choices{}
	c.Candidate(nil, nil)
	assert.Panics(t, func() { c.Taken(1, 1) })
}

func BenchmarkFit(b *testing.B) {
	c := planted(9, []float64{1, -2, .5, 0, 3, .1, .2, .3, -.4, 1}, 2000, 40)
	prior, penalty := make([]float64, 10), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	for b.Loop() {
		Fit(c, prior, penalty, 40)
	}
}
