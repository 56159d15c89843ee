package logit

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// By hand: one feature of two values and next to no penalty gives the share of each value, in odds
// ln 3 at 1 (3 of 4) and -ln 3 at 0.
func TestTwoGroups(t *testing.T) {
	d := Data{P: 1, X: []float32{1, 0}, Y: []float32{.75, .25}, W: []float32{4, 4}}
	m := Fit(d, 1e-9)
	assert.InDelta(t, math.Log(3), m.Z([]float64{1}), 1e-5)
	assert.InDelta(t, .25, m.P([]float64{0}), 1e-6)
	assert.Less(t, Fit(d, 10).P([]float64{1}), .75, "a penalty draws towards the mean")
}

func table(seed uint64, n, p int) Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := Data{P: p}
	x := make([]float64, p)
	for range n {
		z := -1.0
		for k := range x {
			x[k] = r.NormFloat64()*float64(k+1) + 5
			z += (x[k] - 5) * float64(k%3-1) / 2
		}
		y := 0.0
		if r.Float64() < Sigmoid(z) {
			y = 1
		}
		d.Add(x, y)
	}
	return d
}

// At the maximum the gradient is zero: no small step of any slope makes the penalised loss smaller.
func TestFitIsAMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := table(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(5, 300).Draw(t, "rows"), 4)
		const penalty = 2
		m := Fit(d, penalty)
		scale := make([]float64, d.P)
		for k := range scale {
			for i := range d.Y {
				scale[k] += math.Pow(float64(d.X[i*d.P+k])-m.Mean[k], 2) / float64(len(d.Y))
			}
			scale[k] = math.Sqrt(scale[k])
		}
		loss := func(m *Model) float64 {
			sum := 0.0
			for i, y := range d.Y {
				x := make([]float64, d.P)
				for k := range x {
					x[k] = float64(d.X[i*d.P+k])
				}
				z := m.Z(x)
				sum += math.Log1p(math.Exp(z)) - float64(y)*z
			}
			for k := range scale {
				sum += penalty / 2 * math.Pow(m.Slope[k]*scale[k], 2)
			}
			return sum
		}
		least := loss(m)
		for k := range d.P {
			for _, step := range []float64{-.05, .05} {
				n := Model{m.Bias, append([]float64(nil), m.Slope...), m.Mean}
				n.Slope[k] += step / scale[k]
				assert.GreaterOrEqual(t, loss(&n), least-1e-6)
			}
		}
	})
}

func TestSameBitsOnAnyNumberOfProcessors(t *testing.T) {
	d := table(9, 3*chunk+17, 5)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := Fit(d, 1)
	for _, procs := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		assert.Equal(t, want, Fit(d, 1))
	}
}

// Where the first step goes much too far, the way back is not broken off in the middle: the fit is never
// worse than its start.
func TestAFitIsNoWorseThanItsStart(t *testing.T) {
	d := Data{P: 1}
	for i := range 10 {
		d.Add([]float64{float64(i % 2)}, .5)
		d.Z = append(d.Z, 40) // sure, and wrong half of the time
	}
	m := Fit(d, 1)
	for i := range 2 {
		assert.LessOrEqual(t, math.Abs(40+m.Z([]float64{float64(i)})), 40.)
	}
}
