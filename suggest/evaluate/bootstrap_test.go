package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// episodes of one value each.
func sampleOf(values ...float64) Sample {
	s := newSample(len(values))
	for i, v := range values {
		s.Sum[i], s.Count[i] = v, 1
	}
	return s
}

// bootstrap gives, for every sample, the 95 % percentile interval of its mean when as many episodes as
// there are, are drawn with replacement. The samples are of the same episodes and share the draws, so
// that their replicates may be compared.
func bootstrap(samples []Sample, seed uint64) []Interval {
	means := replicate(samples, seed)
	intervals := make([]Interval, len(samples))
	for i := range samples {
		intervals[i] = middle(means[i])
	}
	return intervals
}

func TestSampleMeanIsTheMicroAverage(t *testing.T) {
	s := Sample{Sum: []float64{1, 3, 0}, Count: []float64{1, 4, 0}}
	assert.Equal(t, 0.8, s.Mean())
	assert.Equal(t, 5, s.values())
	assert.Zero(t, Sample{}.Mean())
}

func TestBootstrap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := make([]float64, 400)
	for i := range values {
		if r.Float64() < 0.3 {
			values[i] = 1
		}
	}
	s := sampleOf(values...)
	constant := sampleOf(make([]float64, 400)...)
	ci := bootstrap([]Sample{s, constant}, 1)
	// The interval of a share p of n is about p ± 1.96·√(p(1-p)/n).
	half := 1.96 * math.Sqrt(s.Mean()*(1-s.Mean())/400)
	assert.InDelta(t, s.Mean()-half, ci[0][0], 0.01)
	assert.InDelta(t, s.Mean()+half, ci[0][1], 0.01)
	assert.Equal(t, Interval{}, ci[1], "what never varies has no width")
	assert.Equal(t, ci, bootstrap([]Sample{s, constant}, 1), "the same seed draws the same")
	assert.NotEqual(t, ci, bootstrap([]Sample{s, constant}, 2))
}

// Two methods that move together differ surely, although their own intervals overlap widely.
func TestPairedBootstrapSeesSmallDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := newSample(200), newSample(200)
	for i := range a.Sum {
		easy := r.Float64()
		a.Sum[i], b.Sum[i] = easy+0.05+0.02*r.Float64(), easy
		a.Count[i], b.Count[i] = 1, 1
	}
	d := PairedBootstrap(a, b, 1)
	assert.InDelta(t, 0.06, d.Mean, 0.002)
	assert.Greater(t, d.Interval[0], 0.05)
	assert.Less(t, d.Interval[1], 0.07)
	own := bootstrap([]Sample{a, b}, 1)
	assert.Less(t, own[0][0], own[1][1], "alone they could be equal")
	assert.Equal(t, Difference{}, PairedBootstrap(a, a, 1))
}

func TestDrawsWithoutAnyValueAreLeftOut(t *testing.T) {
	s := newSample(3)
	s.Sum[1], s.Count[1] = 1, 2 // one episode of three has values: many draws miss it
	assert.Equal(t, []Interval{{0.5, 0.5}}, bootstrap([]Sample{s}, 1))
	assert.Equal(t, []Interval{{}}, bootstrap([]Sample{newSample(3)}, 1))
	assert.Empty(t, bootstrap(nil, 1))
}
