package suggest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The whole graphs are compared, whatever is strongest in them.
func TestDiffSeesEveryNode(t *testing.T) {
	var models [2]*Model
	for i := range models {
		w := newWorld(t)
		for range 9 {
			w.episode("", "a:one", "a:two")
		}
		for k := range 4 + i {
			w.episode("", fmt.Sprint("rare:from", k), fmt.Sprint("rare:to", k))
		}
		models[i] = w.model()
	}
	d := Diff(models[0], models[1])
	assert.Equal(t, []string{"rare:from4", "rare:to4"}, d.Added)
	assert.Empty(t, d.Removed)
	assert.Len(t, d.EdgesAdded, 1)
	d = Diff(models[1], models[0])
	assert.Equal(t, []string{"rare:from4", "rare:to4"}, d.Removed)
	assert.Len(t, d.EdgesRemoved, 1)
}
