package episodic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/numeric"
)

// Scoring reference 3.3 and the oracles computed for it: successes/all → adjustment; more failures
// than successes exclude, exactly half does not.
func TestAdjustment(t *testing.T) {
	for _, row := range []struct {
		name               string
		successes, failure float64
		want               float64
		excluded           bool
	}{
		{"nothing known", 0, 0, 0, false},
		{"3 of 3", 1, 0, .15, false},
		{"2 of 3", 2. / 3, 1. / 3, .05, false},
		{"1 of 2", .5, .5, -.025, false},
		{"1 of 3", 1. / 3, 2. / 3, 0, true},
		{"exactly half is kept", .5, .5, -.025, false},
		{"the boost saturates at .75", .75, .25, .15 - .0625, false},
	} {
		boost, penalty, excluded := Adjustment(row.successes, row.failure)
		assert.Equal(t, row.excluded, excluded, row.name)
		if !excluded {
			assert.InDelta(t, row.want, boost-penalty, 1e-12, row.name)
		}
	}
}

var day0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A missing outcome is neither success nor failure, and what is recorded under a key is found under
// it again (the original lost both, and the two faults hid each other).
func TestUnknownStaysUnknownAndKeysMatch(t *testing.T) {
	m := NewMemory()
	m.Observe(1, []int32{0}, Unknown, day0, 0)
	m.Observe(1, []int32{0}, "", day0, 0)
	assert.Zero(t, m.Freeze().Tool(1).N)
	for range 5 {
		m.Observe(1, []int32{0}, Success, day0, 0)
	}
	r := m.Freeze()
	assert.Equal(t, 5, r.After(1, 0).N)
	assert.Equal(t, 1.0, r.After(1, 0).SuccessRate())
	assert.Equal(t, 0, r.After(1, 1).Failures)
}

// Half-life 30 days, measured from the newest event: a failure 30 days before a success weighs half.
func TestOutcomesAge(t *testing.T) {
	m := NewMemory()
	m.Observe(0, nil, Failure, day0, 0)
	m.Observe(0, nil, Success, day0.Add(30*24*time.Hour), 0)
	assert.InDelta(t, 1.0/3, m.Freeze().Tool(0).FailureRate(), 1e-12)
	m.Observe(0, nil, Failure, time.Time{}, 0) // undated: does not age
	assert.InDelta(t, 1.5/2.5, m.Freeze().Tool(0).FailureRate(), 1e-12)
}

// Fewer than 5 outcomes after a tool: the tool's own record speaks.
func TestBackOff(t *testing.T) {
	m := NewMemory()
	for range 4 {
		m.Observe(1, []int32{0}, Failure, day0, 0)
	}
	for range 12 {
		m.Observe(1, []int32{2}, Success, day0, 0)
	}
	assert.InDelta(t, .25, m.Freeze().After(1, 0).FailureRate(), 1e-12)
	m.Observe(1, []int32{0}, Failure, day0, 0)
	assert.InDelta(t, 1, m.Freeze().After(1, 0).FailureRate(), 1e-12)
}

// One bad first run buries nobody; five failures do; where three sources exist, three must agree.
func TestExclusion(t *testing.T) {
	m := NewMemory()
	for i := range 4 {
		m.Observe(0, nil, Failure, day0, 0)
		assert.False(t, m.Freeze().Tool(0).Excluded(1), "after %d failures", i+1)
	}
	m.Observe(0, nil, Failure, day0, 0)
	require.True(t, m.Freeze().Tool(0).Excluded(1))
	for source := range int32(3) {
		m.Observe(1, nil, Success, day0, source)
	}
	r := m.Freeze()
	assert.Equal(t, 3, r.Sources())
	assert.False(t, r.Tool(0).Excluded(r.Sources()), "one source of three cannot bury a tool")
}

// Ten failures that one key reports neither exclude a tool that works for three others nor weigh more than one of them
// does; the operator's own failures exclude it.
func TestOneSourceCannotBury(t *testing.T) {
	const attacker, operator = 7, 8
	observe := func() *Memory {
		m := NewMemory()
		for source := range int32(3) {
			m.Observe(0, nil, Success, day0, source)
		}
		return m
	}
	m := observe()
	for range 10 {
		m.Observe(0, nil, Failure, day0, attacker)
	}
	rates := m.Freeze()
	r := rates.Tool(0)
	assert.False(t, r.Excluded(rates.Sources()))
	assert.InDelta(t, 1, r.Failure, 1e-12)
	assert.InDelta(t, 3, r.Success, 1e-12)
	assert.Equal(t, 10, r.Failures)
	assert.Equal(t, 1, r.Failing)

	m = observe() // nor do ten failures after one tool make the rate after that tool speak
	for range 10 {
		m.Observe(0, []int32{1}, Failure, day0, attacker)
	}
	rates = m.Freeze()
	assert.InDelta(t, 1, rates.After(0, 1).Failure, 1e-12)
	assert.InDelta(t, 3, rates.After(0, 1).Success, 1e-12)
	for range 5 {
		m.Observe(0, []int32{1}, Success, day0, 0)
	}
	assert.InDelta(t, 5, m.Freeze().After(0, 1).Success, 1e-12, "two sources know the pair")

	m = observe()
	m.Trust(operator)
	for range 20 {
		m.Observe(0, nil, Failure, day0, operator)
	}
	rates = m.Freeze()
	assert.True(t, rates.Tool(0).Excluded(rates.Sources()))

	m = observe()
	for range 4 {
		for source := range int32(3) {
			m.Observe(0, nil, Failure, day0, source)
		}
	}
	rates = m.Freeze()
	assert.True(t, rates.Tool(0).Excluded(rates.Sources()), "it fails for all three")
}

// Two spellings that turn out to be one tool have one record.
func TestJoinedTools(t *testing.T) {
	m := NewMemory()
	m.Observe(0, nil, Success, day0, 0)
	m.Observe(1, nil, Failure, day0, 1)
	m.Join([]int32{1, 1}, map[int32][]int32{1: {0}})
	r := m.Freeze()
	assert.Equal(t, 2, r.Tool(1).N)
	assert.Equal(t, 2, r.Tool(1).Sources)
	assert.Zero(t, r.Tool(0).N)
}

// What becomes of an exclusion with time. A tool that is not suggested is hardly called, so ageing is its way back:
// outcomes of five months ago weigh 1/32, and one success since then is most of what is known.
func TestExclusionAges(t *testing.T) {
	spring := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	autumn := spring.AddDate(0, 0, 150)
	const tool, other = 0, 1
	observe := func(m *Memory, tool int32, o Outcome, at time.Time, n int) {
		for range n {
			m.Observe(tool, nil, o, at, 0)
		}
	}
	for _, tt := range []struct {
		name   string
		more   func(*Memory)
		known  float64 // outcomes, by weight
		rate   float64 // of failures
		remain bool    // excluded
	}{
		{"22 of 26 failed", func(*Memory) {}, 26, 22. / 26, true},
		{"a success on the same day", func(m *Memory) { observe(m, tool, Success, spring, 1) }, 27, 22. / 27, true},
		{"a month later", func(m *Memory) { observe(m, tool, Success, spring.AddDate(0, 0, 30), 1) }, 14, 11. / 14, true},
		{"five months later", func(m *Memory) { observe(m, tool, Success, autumn, 1) }, 26./32 + 1, (22. / 32) / (26./32 + 1), false},
		{"nothing known of it for five months", func(m *Memory) { observe(m, other, Success, autumn, 1) }, 26. / 32, 22. / 26, false},
		{"it fails again then", func(m *Memory) { observe(m, tool, Failure, autumn, 4) }, 26./32 + 4, (22./32 + 4) / (26./32 + 4), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMemory()
			observe(m, tool, Failure, spring, 22)
			observe(m, tool, Success, spring, 4)
			tt.more(m)
			rates := m.Freeze()
			r := rates.Tool(tool)
			assert.InDelta(t, tt.known, r.Success+r.Failure, 1e-9)
			assert.InDelta(t, tt.rate, r.FailureRate(), 1e-9)
			assert.Equal(t, tt.remain, r.Excluded(rates.Sources()), "%+v", r)
			failed, known, bound := r.FailureBound()
			assert.InDelta(t, numeric.WilsonLower(failed, known, numeric.Z95), bound, 5e-5)
		})
	}
}
