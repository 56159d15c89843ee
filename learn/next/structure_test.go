package next

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
