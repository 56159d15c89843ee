package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// labels are the clusters of tools; a tool that the history does not have is a mistake of the test.
func labels(t *testing.T, m *Model, tools ...string) []int32 {
	t.Helper()
	var l []int32
	for _, tool := range tools {
		node, ok := m.Find(tool)
		require.True(t, ok, tool)
		l = append(l, m.cluster(node))
	}
	return l
}

func TestRecurringToolSetsAreClusteredWithoutCapabilities(t *testing.T) {
	w := newWorld(t)
	for range 3 { // two routines, each in two variants; order and repeats do not matter
		w.episode("", "a", "b", "c").episode("", "c", "b", "a", "b").episode("", "a", "b")
		w.episode("", "x", "y", "z").episode("", "z", "y")
	}
	w.episode("", "a", "x", "once")
	for range 2 {
		w.record(episodic.Episode{Outcome: episodic.Failure, Steps: []episodic.Step{{Tool: "c"}, {Tool: "z"}, {Tool: "failed"}}})
		w.episode("", "alone")
	}
	m := w.model()
	assert.Equal(t, []int32{0, 0, 0, 1, 1, 1}, labels(t, m, "a", "b", "c", "x", "y", "z"))
	assert.Equal(t, []int32{-1, -1, -1}, labels(t, m, "once", "failed", "alone"))
	assert.Equal(t, 2, m.Stats().Clusters)

	// The clusters of stored capabilities are those of capabilities alone.
	w.capability("cap:1", "one", "a", "x").capability("cap:2", "two", "once", "alone")
	m = w.model()
	assert.Equal(t, []int32{0, 0, 1, 1, -1}, labels(t, m, "a", "x", "once", "alone", "b"))
}
