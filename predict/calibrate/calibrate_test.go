package calibrate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/wire"
)

// claimed draws n claims p that are right with probability truth(p).
func claimed(n int, truth func(p float64) float64) []Claim {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]Claim, n)
	for i := range out {
		p := random.Float64()
		out[i] = Claim{p, random.Float64() < truth(p)}
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
			m := Fit(claimed(20_000, truth))
			for _, p := range []float64{.05, .2, .5, .8, .95} {
				assert.InDelta(t, truth(p), m.At(p), .04, "at %v", p)
			}
		})
	}
}

// Two bins of 25 with everything wrong below and everything right above, 5 imagined claims each:
// y = 5·.2/30 and (25 + 5·.6)/30. Between them half way; beyond them slope at most 1.
func TestByHand(t *testing.T) {
	var claims []Claim
	for range 25 {
		claims = append(claims, Claim{.6, true}, Claim{.2, false})
	}
	m := Fit(claims)
	for _, tt := range []struct{ p, want float64 }{
		{.2, 1. / 30}, {.6, 28. / 30}, {.4, 29. / 60}, {0, 0}, {.1, 1. / 60}, {1, 1}, {.8, 29. / 30},
	} {
		assert.InDelta(t, tt.want, m.At(tt.p), 1e-12, "at %v", tt.p)
	}
	right := Fit(append(claims[:0:0], claims[0], claims[0]))
	assert.InDelta(t, .37, right.At(.37), 0, "two claims say too little")
}

// All claims near .5 and all right: what nobody claimed is not blown up to certainty.
func TestEndsAreNotSteep(t *testing.T) {
	var claims []Claim
	for range 100 {
		claims = append(claims, Claim{.5, false})
	}
	m := Fit(claims)
	assert.Less(t, m.At(.9), m.At(.5)+.4+1e-12)
	assert.InDelta(t, .5*5/105, m.At(.5), 1e-12)
}

func TestEveryMapRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Claim {
			return Claim{float64(rapid.IntRange(0, 20).Draw(t, "p")) / 20, rapid.Bool().Draw(t, "right")}
		}), 0, 400).Draw(t, "claims")
		m := Fit(claims)
		before := 0.0
		for p := range 101 {
			x := m.At(float64(p) / 100)
			require.True(t, x >= before && x <= 1, "at %d%%: %v after %v", p, x, before)
			before = x
		}
		shuffled := append([]Claim(nil), claims...)
		rand.New(rand.NewPCG(5, 6)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, m, Fit(shuffled), "the order of claims leaves no trace")

		var w wire.Writer
		m.Write(&w)
		r := wire.NewReader(w.Bytes)
		require.Equal(t, m, Read(r))
		require.NoError(t, r.End())
	})
}

func TestReadRefusesWhatDoesNotRise(t *testing.T) {
	for name, m := range map[string]*Map{
		"lengths": {[]float64{.1, .2}, []float64{.1}},
		"x falls": {[]float64{.2, .1}, []float64{.1, .2}},
		"x twice": {[]float64{.2, .2}, []float64{.1, .2}},
		"y falls": {[]float64{.1, .2}, []float64{.2, .1}},
		"beyond":  {[]float64{.1}, []float64{1.5}},
	} {
		t.Run(name, func(t *testing.T) {
			var w wire.Writer
			m.Write(&w)
			r := wire.NewReader(w.Bytes)
			Read(r)
			assert.Error(t, r.End())
		})
	}
}

func TestClaimsOutsideAreABug(t *testing.T) {
	claims := make([]Claim, least)
	claims[3].P = 1.5
	assert.Panics(t, func() { Fit(claims) })
}

func BenchmarkFit(b *testing.B) {
	claims := claimed(5000, func(p float64) float64 { return p })
	for b.Loop() {
		Fit(claims)
	}
}
