package suggest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/spectral"
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
	routine := func() *world {
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
		return w
	}
	w := routine()
	m := w.model()
	assert.Equal(t, []int32{0, 0, 0, 1, 1, 1}, labels(t, m, "a", "b", "c", "x", "y", "z"))
	assert.Equal(t, []int32{-1, -1, -1}, labels(t, m, "once", "failed", "alone"))
	assert.Equal(t, 2, m.Stats().Clusters)
	assert.Zero(t, m.measures.incidence.Cols(), "the incidence of capabilities has none")
	assert.Equal(t, m.measures.groups.cluster, routine().model().measures.groups.cluster)

	// The clusters of stored capabilities are those of capabilities alone.
	w.capability("cap:1", "one", "a", "x").capability("cap:2", "two", "once", "alone")
	m = w.model()
	assert.Equal(t, []int32{0, 0, 1, 1, -1}, labels(t, m, "a", "x", "once", "alone", "b"))
}

// A few clusters at the edge of a history do not replace what explores the rest of it.
func TestHubsComeFromClustersOnlyWhereTheyCoverTheHistory(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.episode("", "p", "q").episode("", "r", "s")
	}
	for i := range 8 {
		w.episode("", "start", fmt.Sprint("middle", i), fmt.Sprint("end", i))
	}
	m := w.model()
	require.Equal(t, 2, m.Stats().Clusters)
	assert.Greater(t, len(m.measures.groups.hubs), 2)
}

// 2,000 routines of 3 to 6 of 10,000 tools, used by popularity; every fourth episode takes another tool along.
func BenchmarkClusterRecurring(b *testing.B) {
	const tools, episodes, routines = 10_000, 200_000, 2000
	r := rand.New(rand.NewPCG(1, 1))
	sets := make([][]int, routines)
	for i := range sets {
		for range 3 + r.IntN(4) {
			sets[i] = append(sets[i], min(tools-1, i*5+r.IntN(12)))
		}
	}
	w := newWorld(b)
	for i := range episodes {
		e := episodic.Episode{ID: fmt.Sprint(i), Source: "bench"}
		for _, tool := range sets[int(routines*r.Float64()*r.Float64())] {
			e.Steps = append(e.Steps, episodic.Step{Tool: fmt.Sprint("t", tool)})
		}
		if r.IntN(4) == 0 {
			e.Steps = append(e.Steps, episodic.Step{Tool: fmt.Sprint("t", r.IntN(tools))})
		}
		w.record(e)
	}
	c := w.Freeze()
	b.Run("collect", func(b *testing.B) {
		for b.Loop() {
			_, err := c.RecurringSets()
			require.NoError(b, err)
		}
	})
	b.Run("cluster", func(b *testing.B) {
		inc, err := c.RecurringSets()
		require.NoError(b, err)
		for b.Loop() {
			found, err := spectral.Cluster(inc.Matrix(), spectral.Options{})
			require.NoError(b, err)
			b.ReportMetric(float64(found.K), "clusters")
		}
	})
}
