package next

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// value of a signal after the tools of a task, 0 where it says nothing.
func valued(h *History, done *Task, k Signal, tool int32) float64 {
	var s FeatureValues
	h.Compute(done.Tools, done.Parents, len(done.Tools), nil, &s)
	if i := slices.Index(s.Tools, tool); i >= 0 {
		return float64(s.Values[i][k])
	}
	return 0
}

// two groups of tools, 0 to 3 and 4 to 7, in which one of the first two leads to one of the last two; 0 never
// led to 3 and nothing leads from group to group. 8 to 11 were never used.
func groups() []*Task {
	var tasks []*Task
	for range 6 {
		for _, base := range []int32{0, 4} {
			tasks = append(tasks, line(base, base+2), line(base+1, base+2), line(base+1, base+3), line(base+1, base+2, base))
		}
	}
	return tasks
}

func TestTheGraphSpeaksForToolsThatNeverFollowed(t *testing.T) {
	h := observe(groups())
	for _, k := range []Signal{signalSharedNeighbours, signalImportance, signalSameCommunity, signalSpectral} {
		assert.Zero(t, valued(h, line(0), k, 3), "%d before the graph was measured", k)
	}
	h.Settle(func() bool { return false })
	require.Zero(t, valued(h, line(0), signalOrder1, 3), "it never followed")
	assert.Positive(t, valued(h, line(0), signalSharedNeighbours, 1), "both lead to 2")
	assert.Zero(t, valued(h, line(0), signalSharedNeighbours, 5))
	assert.InDelta(t, 1, valued(h, line(0), signalSameCommunity, 3), 0)
	assert.Zero(t, valued(h, line(0), signalSameCommunity, 6))
	assert.Positive(t, valued(h, line(0), signalSpectral, 3), "what is like 0 leads there")
	assert.Zero(t, valued(h, line(0), signalSpectral, 7))
	assert.Greater(t, h.Always(signalImportance, 2), h.Always(signalImportance, 3))
	assert.Greater(t, h.Always(signalImportance, 3), h.Always(signalImportance, 9))
}

// A fit that is stopped leaves the measures as they were.
func TestSettleStops(t *testing.T) {
	h := observe(groups())
	h.Settle(func() bool { return true })
	assert.Nil(t, h.structure)
}

// Whoever asks for a stop at any moment, and whatever the history is, nothing breaks; measured twice it is the same.
func TestSettleIsAFunctionOfTheTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := draw(t)
		a, b := observe(tasks), observe(tasks[:len(tasks)-1])
		b.Settle(func() bool { return false })
		b.Observe(tasks[len(tasks)-1])
		a.Settle(func() bool { return false })
		b.Settle(func() bool { return false })
		require.Equal(t, a.structure, b.structure)
	})
}

func TestInputsAtHand(t *testing.T) {
	c := catalog()
	c.Takes, c.Gives = make([][]int32, tools), make([][]int32, tools)
	c.Takes[0], c.Gives[0] = []int32{0}, []int32{1} // a customer's name gives the order
	c.Takes[1] = []int32{1}                         // takes the order
	c.Takes[2] = []int32{0, 1}
	c.Takes[3] = []int32{2}
	h := NewHistory(c)
	for _, x := range []struct {
		k    Signal
		tool int32
		want float64
	}{{signalGiven, 1, 1}, {signalGiven, 2, .5}, {signalGiven, 3, 0}, {signalKnown, 1, 1}, {signalKnown, 2, 1}, {signalKnown, 3, 0}} {
		assert.InDelta(t, x.want, valued(h, line(0), x.k, x.tool), 1e-6, "%d of %d", x.k, x.tool)
	}
	assert.InDelta(t, .5, valued(h, line(1), signalKnown, 2), 1e-6, "what 1 took is at hand")
	assert.Zero(t, valued(h, line(1), signalGiven, 2))
}

// A property of nearly all tools tells none apart.
func TestCommonInputsSayNothing(t *testing.T) {
	c := catalog()
	c.Takes, c.Gives = make([][]int32, tools), make([][]int32, tools)
	for i := range c.Takes {
		c.Takes[i] = []int32{0}
	}
	assert.Zero(t, valued(NewHistory(c), line(0), signalKnown, 1))
}

func TestHowItWent(t *testing.T) {
	var tasks []*Task
	for i := range 12 {
		a, b := line(0, 2), line(1, 2)
		a.Worked, b.Worked = []Outcome{unknown, failure}, []Outcome{unknown, success}
		if i == 0 {
			tasks = append(tasks, line(3, 2), line(0, 4))
		}
		tasks = append(tasks, a, b)
	}
	h := observe(tasks)
	assert.InDelta(t, -12./14, valued(h, line(0), signalWorked, 2), 1e-6)
	assert.InDelta(t, 12./14, valued(h, line(1), signalWorked, 2), 1e-6)
	assert.InDelta(t, 0, valued(h, line(3), signalWorked, 2), 1e-6, "after 3 nobody knows, so all count")
	assert.Zero(t, valued(h, line(0), signalWorked, 4))
}

// 2 followed 0 of late, 1 long ago; what follows again is late again.
func TestLately(t *testing.T) {
	h := observe([]*Task{line(0, 1), line(0, 2), line(5, 6), line(0, 2)})
	assert.InDelta(t, 1, valued(h, line(0), signalLately, 2), 1e-6)
	long := valued(h, line(0), signalLately, 1)
	assert.Greater(t, 1., long)
	assert.Greater(t, long, 0.)
	h.Observe(line(0, 1))
	assert.InDelta(t, 1, valued(h, line(0), signalLately, 1), 1e-6)
}
