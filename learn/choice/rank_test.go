package choice

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/numeric"
)

// planted draws choices from a conditional logit with the weights given.
func planted(seed uint64, weights []float64, n, candidates int) *Choices {
	random := rand.New(rand.NewPCG(seed, 1))
	c := New(len(weights), 0, 0)
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
			c.Candidate(0, index, x)
		}
		c.Taken(taken, 1, nil)
	}
	return c
}

func TestFitRecoversPlantedWeights(t *testing.T) {
	want := []float64{1.5, -0.7, 0, 0.3}
	got := fit(planted(1, want, 4000, 6), Part{}, make([]float64, 4), []float64{1, 1, 1, 1}, 100)
	assert.True(t, got.Converged)
	assert.InDeltaSlice(t, want, got.Weights, .08)
}

// Two candidates with x = 1 and x = 0, the first taken a times, the second b: without a penalty to
// speak of w = ln(a/b), the log odds.
func TestFitIsTheLogOdds(t *testing.T) {
	for _, tt := range []struct{ a, b int }{{3, 1}, {1, 1}, {2, 7}, {90, 10}} {
		c := New(1, 0, 0)
		for i := range tt.a + tt.b {
			c.Candidate(0, []int32{0}, []float32{1})
			c.Candidate(0, nil, nil)
			c.Taken(min(1, i/tt.a), 1, nil)
		}
		got := fit(c, Part{}, []float64{0}, []float64{1e-9}, 100)
		assert.InDelta(t, math.Log(float64(tt.a)/float64(tt.b)), got.Weights[0], 1e-3)
	}
}

func TestMassCountsAsRepetition(t *testing.T) {
	once, twice := New(1, 0, 0), New(1, 0, 0)
	for i := range 20 {
		x := []float32{float32(i%5) - 2}
		for range 2 {
			twice.Candidate(0, []int32{0}, x)
			twice.Candidate(0, nil, nil)
			twice.Taken(i%2, 1, nil)
		}
		once.Candidate(0, []int32{0}, x)
		once.Candidate(0, nil, nil)
		once.Taken(i%2, 2, nil)
	}
	a := fit(once, Part{}, []float64{0}, []float64{1}, 50)
	b := fit(twice, Part{}, []float64{0}, []float64{1}, 50)
	assert.InDelta(t, b.Weights[0], a.Weights[0], 1e-6)
	assert.InDelta(t, b.Loss, a.Loss, 1e-9)
}

func TestThePriorHolds(t *testing.T) {
	prior := []float64{.5, -1}
	none := fit(New(2, 0, 0), Part{}, prior, []float64{1, 1}, 20)
	assert.Equal(t, prior, none.Weights, "without choices")
	held := fit(planted(2, []float64{2, 2}, 300, 4), Part{}, prior, []float64{math.Inf(1), 1}, 50)
	assert.Equal(t, .5, held.Weights[0], "an infinite penalty")
	assert.Greater(t, held.Weights[1], .5)
	few, many := fit(planted(3, []float64{2, 2}, 5, 4), Part{}, prior, []float64{5, 5}, 50), fit(planted(3, []float64{2, 2}, 2000, 4), Part{}, prior, []float64{5, 5}, 50)
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
		c.loss(w, g, parts, Part{})
		const h = 1e-5
		for k := range w {
			x := w[k]
			w[k] = x + h
			up := c.loss(w, unused, parts, Part{})
			w[k] = x - h
			down := c.loss(w, unused, parts, Part{})
			w[k] = x
			assert.InDelta(t, (up-down)/(2*h), g[k], 1e-4)
		}
	})
}

// tied draws choices of two features with two levels and three classes.
func tied(seed uint64, w []float64, n int) *Choices {
	random := rand.New(rand.NewPCG(seed, 2))
	c := New(2, 2, 3)
	for range n {
		level := []uint8{uint8(random.IntN(2)), uint8(random.IntN(2))}
		best, taken := math.Inf(-1), 0
		for j := range 5 {
			class, x := random.IntN(3), []float32{float32(random.NormFloat64()), float32(random.NormFloat64())}
			s := -math.Log(-math.Log(random.Float64()))
			for k, v := range x {
				s += (w[k*6] + w[k*6+1+int(level[k])] + w[k*6+3+class]) * float64(v)
			}
			if s > best {
				best, taken = s, j
			}
			c.Candidate(class, []int32{0, 1}, x)
		}
		c.Taken(taken, 1, level)
	}
	return c
}

// Weights of levels and classes are recovered as far as they can be told apart: their sums.
func TestLevelsAndClassesAreRecovered(t *testing.T) {
	want := []float64{.5, .5, -.5, .6, 0, -.6, -1, .3, -.3, 0, .8, -.8}
	c := tied(1, want, 8000)
	penalty := make([]float64, 12)
	for k := range penalty {
		penalty[k] = .1
	}
	got := fit(c, Part{}, make([]float64, 12), penalty, 200)
	for k := range 2 {
		for l := range 2 {
			for u := range 3 {
				sum := func(w []float64) float64 { return w[k*6] + w[k*6+1+l] + w[k*6+3+u] }
				assert.InDelta(t, sum(want), sum(got.Weights), .12, "feature %d level %d class %d", k, l, u)
			}
		}
	}
}

func TestGradientOfLevelsAndClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.Float64Range(-2, 2), 12, 12).Draw(t, "w")
		c := tied(rapid.Uint64().Draw(t, "seed"), w, 20)
		parts := make([][]float64, shards)
		for s := range parts {
			parts[s] = make([]float64, 12)
		}
		g := make([]float64, 12)
		c.loss(w, g, parts, Part{})
		const h = 1e-5
		for k := range w {
			x := w[k]
			w[k] = x + h
			up := c.Loss(w, Part{})
			w[k] = x - h
			down := c.Loss(w, Part{})
			w[k] = x
			assert.InDelta(t, (up-down)/(2*h), g[k], 1e-4)
		}
	})
}

// Appending is the same as having been there from the start, and including some as having only them.
func TestAppendAndInclude(t *testing.T) {
	want := []float64{.5, .5, -.5, .6, 0, -.6, -1, .3, -.3, 0, .8, -.8}
	a, b := tied(1, want, 30), tied(2, want, 40)
	w := want
	both := New(2, 2, 3)
	both.Append(a)
	both.Append(b)
	assert.Equal(t, 70, both.Len())
	assert.InDelta(t, a.Loss(w, Part{})+b.Loss(w, Part{}), both.Loss(w, Part{}), 1e-9)
	assert.Equal(t, b.Scores(3, w), both.Scores(33, w))
	include := make([]bool, 70)
	for i := range 30 {
		include[i] = true
	}
	assert.InDelta(t, a.Loss(w, Part{}), both.Loss(w, Part{Include: include}), 1e-9)
}

// A sample that stands for 9 is nine candidates alike.
func TestASampleStandsForMany(t *testing.T) {
	drawn, whole := New(1, 0, 0), New(1, 0, 0)
	for _, c := range []*Choices{drawn, whole} {
		c.Candidate(0, []int32{0}, []float32{1})
	}
	drawn.Sample(9, 0, []int32{0}, []float32{.5})
	for range 9 {
		whole.Candidate(0, []int32{0}, []float32{.5})
	}
	drawn.Taken(0, 1, nil)
	whole.Taken(0, 1, nil)
	above := func(c *Choices, w float64) [2]float64 {
		candidates, samples := c.Above(0, []float64{w})
		return [2]float64{candidates, math.Round(samples)}
	}
	assert.Equal(t, [2]float64{0, 9}, above(drawn, -1), "it counts as nine")
	assert.Equal(t, [2]float64{9, 0}, above(whole, -1))
	assert.Equal(t, [2]float64{4.5, 0}, above(whole, 0), "equal ones count half")
	assert.Equal(t, [2]float64{0, 0}, above(drawn, 1))
	assert.Zero(t, drawn.Loss([]float64{1}, Part{NoSamples: true}), "there is no other choice")
	for _, w := range []float64{-1, 0, 2} {
		assert.InDelta(t, whole.Loss([]float64{w}, Part{}), drawn.Loss([]float64{w}, Part{}), 1e-6)
	}
}

// At the answer the gradient of L vanishes.
func TestFitEndsAtAStationaryPoint(t *testing.T) {
	c := planted(5, []float64{1, 2, -1}, 500, 8)
	got := fit(c, Part{}, make([]float64, 3), []float64{2, 2, 2}, 100)
	parts := make([][]float64, shards)
	for s := range parts {
		parts[s] = make([]float64, 3)
	}
	g := make([]float64, 3)
	c.loss(got.Weights, g, parts, Part{})
	numeric.Axpy(2, got.Weights, g)
	assert.Less(t, numeric.Norm(g), .2)
}

func TestFitIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	c := planted(7, []float64{1, -2, .5, 0, 3}, 700, 9)
	prior, penalty := make([]float64, 5), []float64{1, 1, 1, 1, 1}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := fit(c, Part{}, prior, penalty, 60)
	for _, n := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(n)
		require.Equal(t, want, fit(c, Part{}, prior, penalty, 60))
	}
}

func TestTakenMustBeACandidate(t *testing.T) {
	c := New(1, 0, 0)
	c.Candidate(0, nil, nil)
	assert.Panics(t, func() { c.Taken(1, 1, nil) })
}

func BenchmarkFit(b *testing.B) {
	c := planted(9, []float64{1, -2, .5, 0, 3, .1, .2, .3, -.4, 1}, 2000, 40)
	prior, penalty := make([]float64, 10), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	for b.Loop() {
		fit(c, Part{}, prior, penalty, 40)
	}
}

// fit is FitUntil that nothing stops.
func fit(c *Choices, part Part, prior, penalty []float64, steps int) Fitted {
	return FitUntil(c, part, prior, penalty, steps, func() bool { return false })
}
