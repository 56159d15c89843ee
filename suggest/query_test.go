package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

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
