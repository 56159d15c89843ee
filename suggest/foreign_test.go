package suggest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// Wishes that no tool serves are planned with a warning and little confidence, in either profile; requests of the
// history and of the catalog are not.
func TestForeignRequests(t *testing.T) {
	m := sampleModel(t)
	for _, profile := range []string{ProfileSeed, ProfileLearned} {
		for request, foreign := range map[string]bool{
			"make me a sandwich":                                         true,
			"iron my white shirts":                                       true,
			"teach my dog to sit":                                        true,
			"mow the lawn before it rains":                               true,
			"why is the database slow":                                   false,
			"refund a customer":                                          false,
			"merge the pull request and tell the team":                   false,
			"Refund 380 euro to Ostrava Tools, INV-21792 was paid twice": false,
			"which alerts are firing right now":                          false,
		} {
			a, err := m.Plan(DAGRequest{Intent: request, Profile: profile})
			require.NoError(t, err)
			assert.Equal(t, foreign, slices.Contains(a.Warnings, WarnForeign), "%s: %s", profile, request)
			if foreign {
				assert.Less(t, a.Confidence, foreignBelow, request)
			}
		}
	}
}

// What was added after the build serves requests at once.
func TestForeignRequestsEndWithNewTools(t *testing.T) {
	w := newWorld(t)
	w.tool("x:a", "reads the pages of a report", "", "")
	w.tool("x:b", "writes the pages of a report", "", "")
	measures := w.measured()
	foreign := func(m *Model) bool {
		a, err := m.Plan(DAGRequest{Intent: "butter the toast"})
		require.NoError(t, err)
		return slices.Contains(a.Warnings, WarnForeign)
	}
	require.True(t, foreign(w.since(measures)))
	w.PutTool(catalog.Tool{ID: "k:toast", Name: "butter_toast", Description: "Puts butter on toast."})
	assert.False(t, foreign(w.since(measures)))
}
