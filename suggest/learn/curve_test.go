package learn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/internal/codec"
)

// claimed draws n claims p that are right with probability truth(p).
func claimed(n int, truth func(p float64) float64) []Prediction {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]Prediction, n)
	for i := range out {
		p := random.Float64()
		out[i] = Prediction{P: p, Right: random.Float64() < truth(p)}
	}
	return out
}

func TestTheCurveIsFound(t *testing.T) {
	for name, truth := range map[string]func(float64) float64{
		"honest":          func(p float64) float64 { return p },
		"too sure":        func(p float64) float64 { return .2 + .5*p },
		"not sure enough": func(p float64) float64 { return p * (2 - p) },
		"no knowledge":    func(float64) float64 { return .3 },
	} {
		t.Run(name, func(t *testing.T) {
			m := FitCurve(claimed(20_000, truth))
			for _, p := range []float64{.05, .2, .5, .8, .95} {
				assert.InDelta(t, truth(p), m.At(p), .04, "at %v", p)
			}
		})
	}
}

// 34 of 50 claims of .5 are right, and 10 prior pseudo-counts at .1, .3, .5, .7 and .9 as claimed. The claims
// pull the line up by b and turn it by c, and both derivatives of the likelihood are 0; the bin of the
// claims, half of it 50 prior pseudo-counts by the line, lies between the line and .68.
func TestByHand(t *testing.T) {
	var claims []Prediction
	for i := range 50 {
		claims = append(claims, Prediction{P: .5, Right: i < 34})
	}
	m := FitCurve(claims)
	level, slope := 34-50*m.moved(.5), 0.0
	for _, p := range anchors {
		level += 10 * (p - m.moved(p))
		slope += 10 * (p - m.moved(p)) * odds(p)
	}
	assert.InDelta(t, 0, level, 1e-3)
	assert.InDelta(t, 0, slope, 1e-3)
	assert.InDelta(t, (34+50*m.moved(.5))/100, m.At(.5), 1e-6)
	few := FitCurve(claims[:2])
	assert.InDelta(t, .37, few.At(.37), 0, "two claims say too little")
}

func TestEveryMapRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Prediction {
			return Prediction{P: float64(rapid.IntRange(0, 20).Draw(t, "p")) / 20, Right: rapid.Bool().Draw(t, "right"), Age: float64(rapid.IntRange(0, 2).Draw(t, "age"))}
		}), 0, 400).Draw(t, "claims")
		m := FitCurve(claims)
		before := 0.0
		for p := range 101 {
			x := m.At(float64(p) / 100)
			require.True(t, x >= before-1e-12 && x <= 1, "at %d%%: %v after %v", p, x, before)
			before = x
		}
		shuffled := append([]Prediction(nil), claims...)
		rand.New(rand.NewPCG(5, 6)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, m, FitCurve(shuffled), "the order of claims leaves no trace")

		var w codec.Writer
		m.Write(&w)
		r := codec.NewReader(w.Bytes)
		require.Equal(t, m, ReadCurve(r))
		require.NoError(t, r.End())
	})
}

func TestReadRefusesWhatDoesNotRise(t *testing.T) {
	for name, m := range map[string]*Curve{
		"lengths":            {Claimed: []float64{.1, .2}, Kept: []float64{.1}},
		"x falls":            {Claimed: []float64{.2, .1}, Kept: []float64{.1, .2}},
		"x twice":            {Claimed: []float64{.2, .2}, Kept: []float64{.1, .2}},
		"y falls":            {Claimed: []float64{.1, .2}, Kept: []float64{.2, .1}},
		"turned":             {Tilt: -1.5},
		"nowhere":            {Shift: math.Inf(1)},
		"claims of no bin":   {Claimed: []float64{.1}, Kept: []float64{.1}, Claims: []float64{3, 4}},
		"no claims of a bin": {Claimed: []float64{.1}, Kept: []float64{.1}, Claims: []float64{0}},
		"beyond":             {Claimed: []float64{.1}, Kept: []float64{1.5}},
	} {
		t.Run(name, func(t *testing.T) {
			var w codec.Writer
			m.Write(&w)
			r := codec.NewReader(w.Bytes)
			ReadCurve(r)
			assert.Error(t, r.End())
		})
	}
}

// The more claims were judged, the nearer the bound is to what was kept; without claims it is 0.
func TestLowNarrowsWithClaims(t *testing.T) {
	var none *Curve
	assert.Zero(t, none.Low(.9))
	assert.Zero(t, FitCurve(claimed(leastBin-1, func(p float64) float64 { return p })).Low(.9))
	assert.Zero(t, (&Curve{Claimed: []float64{.5}, Kept: []float64{.5}}).Low(.5), "of a curve that does not say how many")
	before := 0.0
	for _, n := range []float64{1, 10, 100, 1000} {
		low := (&Curve{Claimed: []float64{.2, .8}, Kept: []float64{.2, .8}, Claims: []float64{5000, n}}).Low(.6)
		assert.Greater(t, low, before, "%v claims", n)
		assert.Less(t, low, .6, "%v claims", n)
		before = low
	}
	assert.Greater(t, before, .57)
}

// Of a hundred histories of 200 claims each, the bound holds in about ninety.
func TestLowHoldsMostly(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	held := 0
	for range 100 {
		var claims []Prediction
		for range 200 {
			claims = append(claims, Prediction{P: .7, Right: random.Float64() < .7})
		}
		if m := FitCurve(claims); m.Low(m.At(.7)) <= .7 {
			held++
		}
	}
	assert.GreaterOrEqual(t, held, 85)
}
