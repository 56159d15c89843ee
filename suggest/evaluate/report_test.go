package evaluate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The best baseline is chosen metric by metric; of equal ones the first. Only decisive metrics lose an evaluation, and
// only against the best.
func TestRowsAndLost(t *testing.T) {
	tests := make([]*task, 20)
	answer := func(name string, simple bool, value float64) *answers {
		a := &answers{name: name, baseline: simple, samples: map[string]Sample{"hit@1": newSample(20), "mrr": newSample(20)}}
		for i := range tests {
			asking{answers: a, test: i}.add("hit@1", .5)
			asking{answers: a, test: i}.add("mrr", value)
		}
		return a
	}
	q := &question{name: QuestionNext, tests: tests,
		answers: []*answers{answer("learned", false, .5), answer("seed", false, .8), answer("a", true, .3), answer("b", true, .7)}}
	r := &Report{Baselines: map[string]map[string]float64{}}
	r.add(q, 1)
	require.Len(t, r.Rows, 2)
	assert.Equal(t, even, r.Rows[0].Verdict)
	assert.Equal(t, "a", r.Rows[0].Baseline.Name)
	assert.Equal(t, Behind, r.Rows[1].Verdict)
	assert.Equal(t, "b", r.Rows[1].Baseline.Name)
	assert.InDelta(t, -.2, r.Rows[1].Baseline.Lead.Interval[1], 1e-12)
	assert.InDelta(t, -.3, r.Rows[1].Seed.Lead.Mean, 1e-12, "the seed is no baseline")
	assert.Equal(t, r.Rows[1:], r.Lost)

	q.tests, q.answers = tests[:3], q.answers[:3]
	for _, a := range q.answers {
		for m, s := range a.samples {
			a.samples[m] = Sample{s.Sum[:3], s.Count[:3]}
		}
	}
	r = &Report{Baselines: r.Baselines}
	r.add(q, 1)
	require.Len(t, r.TooFew, 1)
	assert.Equal(t, 3, r.TooFew[0].Tasks)
	assert.Empty(t, r.Lost)
}
