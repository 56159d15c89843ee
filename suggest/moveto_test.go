package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A prerequisite that is added last moves right before the task that needs it; the numbers of all dependencies follow.
func TestMoveToRenumbersDependencies(t *testing.T) {
	p := &plan{tasks: []task{{node: 10}, {node: 11, after: []int{0}}, {node: 12, after: []int{0, 1}}, {node: 13}}}
	p.moveTo(1)
	assert.Equal(t, []task{{node: 10}, {node: 13}, {node: 11, after: []int{0, 1}}, {node: 12, after: []int{0, 2}}}, p.tasks)
}
