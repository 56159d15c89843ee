package suggest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/graph"
)

// hubs builds episodes in which every left tool is followed by every right one.
func hubs(t testing.TB, left, right int) *Model {
	w := newWorld(t)
	const block = 128 // 128 × 128 pairs are what an episode may hold
	for l := 0; l < left; l += block {
		for r := 0; r < right; r += block {
			var e episodic.Episode
			for i := l; i < min(l+block, left); i++ {
				e.Steps = append(e.Steps, episodic.Step{Tool: fmt.Sprintf("left%d", i), Group: "left"})
			}
			for i := r; i < min(r+block, right); i++ {
				e.Steps = append(e.Steps, episodic.Step{Tool: fmt.Sprintf("right%d", i), Group: "right"})
			}
			w.record(e)
		}
	}
	c := w.Freeze()
	m, err := NewModel(c, &Measures{}, Stamp{})
	require.NoError(t, err)
	return m
}

// Thousands share a hub with the last step. A question touches the 256 most alike, but whoever else is
// asked about is as near as before.
func TestAHubBringsInNoMoreThanTheMostAlike(t *testing.T) {
	m := hubs(t, 1, 2000)
	q, err := m.newQueryWithSignals([]string{"right7"}, "", nil, nil)
	require.NoError(t, err)
	defer q.close()
	assert.LessOrEqual(t, len(q.nodes.candidateNodes), related+2)
	far, ok := m.Find("right1999")
	require.True(t, ok)
	assert.NotContains(t, q.nodes.candidateNodes, far)
	q.consider(far)
	assert.Equal(t, m.Graph.AdamicAdar(q.last, far), q.nodes.aa[far])
	assert.Positive(t, q.nodes.aa[far])
}

// Where even the walk would be too long, the most alike are still exact and the others count as not
// alike.
func TestBeyondTheWalkTheMostAlikeAreExact(t *testing.T) {
	m := hubs(t, 513, 512)
	q, err := m.newQueryWithSignals([]string{"right7"}, "", nil, nil)
	require.NoError(t, err)
	defer q.close()
	var s graph.Scratch
	want := m.Graph.AdamicAdarTop(q.last, related, &s, nil)
	require.Len(t, want, related)
	for _, v := range want {
		require.Equal(t, v.Score, q.nodes.aa[v.Node])
	}
	for n := range int32(len(m.IDs)) {
		if !slices.ContainsFunc(want, func(v graph.Scored) bool { return v.Node == n }) {
			q.consider(n)
			require.Zero(t, q.nodes.aa[n])
		}
	}
}

// Patterns that match no id are named in the answer; an empty pattern or id is refused.
func TestPatternsThatMatchNothing(t *testing.T) {
	w := newWorld(t)
	w.record(episodic.Episode{Steps: []episodic.Step{{Tool: "fs:read"}, {Tool: "net:send"}}})
	m := w.model()
	require.Contains(t, next(t, m, NextRequest{Allow: []string{"none:*"}}).Warnings, WarnNothingAllowed)
	require.NotContains(t, next(t, m, NextRequest{Allow: []string{"none:*", "net:*"}}).Warnings, WarnNothingAllowed)
	require.NotContains(t, next(t, m, NextRequest{}).Warnings, WarnNothingAllowed)
	_, err := m.Next(NextRequest{Allow: []string{""}})
	require.ErrorContains(t, err, "allow[0]")
	_, err = m.Next(NextRequest{Context: []string{"fs:read", ""}})
	require.ErrorContains(t, err, "context[1]")
}
