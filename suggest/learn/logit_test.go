package learn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// By hand: one feature of two values and next to no penalty gives the share of each value, in odds
// ln 3 at 1 (3 of 4) and -ln 3 at 0.
func TestTwoGroups(t *testing.T) {
	cases := []Case{{X: []float64{1}, Y: .75, Weight: 4}, {X: []float64{0}, Y: .25, Weight: 4}}
	m := FitLogit(cases, 1, 1e-9)
	assert.InDelta(t, math.Log(3), m.Z([]float64{1}), 1e-5)
	assert.InDelta(t, .25, m.P([]float64{0}), 1e-6)
	assert.Less(t, FitLogit(cases, 1, 10).P([]float64{1}), .75, "a penalty draws towards the mean")
}

func table(seed uint64, n, p int) (cases []Case) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		x := make([]float64, p)
		z := -1.0
		for k := range x {
			x[k] = r.NormFloat64()*float64(k+1) + 5
			z += (x[k] - 5) * float64(k%3-1) / 2
		}
		y := 0.0
		if r.Float64() < Sigmoid(z) {
			y = 1
		}
		cases = append(cases, Case{X: x, Y: y, Weight: 1})
	}
	return cases
}

// At the maximum the gradient is zero: no small step of any slope makes the penalised loss smaller.
func TestFitIsAMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const features, penalty = 4, 2
		cases := table(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(5, 300).Draw(t, "rows"), features)
		m := FitLogit(cases, features, penalty)
		scale := make([]float64, features)
		for k := range scale {
			for _, c := range cases {
				scale[k] += math.Pow(c.X[k]-m.Mean[k], 2) / float64(len(cases))
			}
			scale[k] = math.Sqrt(scale[k])
		}
		loss := func(m *Logit) float64 {
			sum := 0.0
			for _, c := range cases {
				z := m.Z(c.X)
				sum += math.Log1p(math.Exp(z)) - c.Y*z
			}
			for k := range scale {
				sum += penalty / 2 * math.Pow(m.Slope[k]*scale[k], 2)
			}
			return sum
		}
		least := loss(m)
		for k := range features {
			for _, step := range []float64{-.05, .05} {
				n := Logit{m.Bias, append([]float64(nil), m.Slope...), m.Mean}
				n.Slope[k] += step / scale[k]
				assert.GreaterOrEqual(t, loss(&n), least-1e-6)
			}
		}
	})
}

// Where the first step goes much too far, the way back is not broken off in the middle: the fit is never
// worse than its start.
func TestAFitIsNoWorseThanItsStart(t *testing.T) {
	var cases []Case
	for i := range 10 {
		cases = append(cases, Case{X: []float64{float64(i % 2)}, Y: .5, Weight: 1, Z: 40}) // sure, and wrong half of the time
	}
	m := FitLogit(cases, 1, 1)
	for i := range 2 {
		assert.LessOrEqual(t, math.Abs(40+m.Z([]float64{float64(i)})), 40.)
	}
}
