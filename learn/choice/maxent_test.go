package choice

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func three() []Candidate { return []Candidate{{Tool: 0}, {Tool: 1}, {Tool: 2}} }

// Feature a is followed by tool 0, feature b by tool 1, and both are present half of the time with
// tool 2: no single feature tells, their sum does.
func TestLearnsWhichFeatureSpeaksForWhichTool(t *testing.T) {
	m := NewModel(12)
	a, b := Feature{1, 1}, Feature{2, 1}
	cases := []struct {
		features []Feature
		tool     int
	}{{[]Feature{a}, 0}, {[]Feature{b}, 1}, {[]Feature{a, b}, 2}}
	for i := range 3000 {
		c := cases[i%3]
		m.Learn(c.features, three(), c.tool)
	}
	for _, c := range cases {
		loss := m.Learn(c.features, three(), c.tool)
		assert.Less(t, loss, .2, "tool %d", c.tool)
	}
}

// The first loss is that of the offset alone: candidates of equal offset have P = 1/3.
func TestTheFirstLossIsTheOffsets(t *testing.T) {
	m := NewModel(8)
	assert.InDelta(t, math.Log(3), m.Learn([]Feature{{1, 1}}, three(), 0), 1e-12)
	c := three()
	c[1].Offset = math.Log(2)
	assert.InDelta(t, math.Log(2), NewModel(8).Learn(nil, c, 1), 1e-12)
}

// Where the offset already is right there is little to learn.
func TestOnlyWhatTheOffsetDoesNotKnowIsLearned(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	known, unknown := NewModel(12), NewModel(12)
	p := []float64{.7, .2, .1}
	for range 2000 {
		taken, x := 0, random.Float64()
		for x > p[taken] {
			x -= p[taken]
			taken++
		}
		unknown.Learn([]Feature{{1, 1}}, three(), taken)
		c := three()
		for i := range c {
			c[i].Offset = math.Log(p[i])
		}
		known.Learn([]Feature{{1, 1}}, c, taken)
	}
	spread := func(m *Model) float64 { return m.Score([]Feature{{1, 1}}, 0) - m.Score([]Feature{{1, 1}}, 2) }
	assert.InDelta(t, math.Log(7), spread(unknown), .5)
	assert.InDelta(t, 0, spread(known), .4)
}

// A candidate's own features are its own.
func TestOwnFeatures(t *testing.T) {
	m := NewModel(12)
	for range 300 {
		c := three()
		c[1].Own = []Feature{{7, 1}}
		m.Learn(nil, c, 1)
	}
	assert.Positive(t, m.Score([]Feature{{7, 1}}, 1))
	assert.Zero(t, m.Score([]Feature{{7, 1}}, 0))
}

func TestLearningIsDeterministic(t *testing.T) {
	train := func() *Model {
		m, random := NewModel(10), rand.New(rand.NewPCG(5, 6))
		for range 500 {
			m.Learn([]Feature{{random.Uint64N(9), 1}, {10, .5}}, three(), random.IntN(3))
		}
		return m
	}
	assert.Equal(t, train(), train())
}

func BenchmarkLearn(b *testing.B) {
	m, random := NewModel(21), rand.New(rand.NewPCG(7, 8))
	features := make([]Feature, 40)
	candidates := make([]Candidate, 40)
	for i := range candidates {
		candidates[i].Tool = int32(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range features {
			features[i] = Feature{random.Uint64N(5000), 1}
		}
		m.Learn(features, candidates, random.IntN(40))
	}
}

func TestPackedWeightsScoreTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	m := NewModel(10)
	features := make([]Feature, 40)
	for i := range features {
		features[i] = Feature{random.Uint64(), random.Float32()}
	}
	for i := range 200 {
		m.Learn(features[i%20:i%20+3], three(), i%3)
	}
	score := func() (all []float64) {
		for i := range features {
			for tool := range int32(5) {
				all = append(all, m.Score(features[i:i+1], tool))
			}
		}
		return all
	}
	want := score()
	m.Pack()
	assert.Equal(t, want, score())
	assert.Contains(t, want, 0.)
	assert.Less(t, len(m.packed.theta), 1<<10)
}
