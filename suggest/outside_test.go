package suggest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// A catalog of more tools than can be learned of: those without a place are found by their texts, with
// terms that add up, and none stands above a tool nobody used that fits the request better.
func TestToolsOutsideWhatIsLearnedCompeteByText(t *testing.T) {
	defer func(n int) { learnTools = n }(learnTools)
	learnTools = 30
	w := planted(t, 120)
	for i := range 40 {
		text := "prints invoice forms"
		if i%4 == 0 {
			text = "waters garden plants"
		}
		w.PutTool(catalog.Tool{ID: fmt.Sprintf("z:%02d", i), Name: fmt.Sprint("z", i), Server: "z", Description: text})
	}
	w.PutTool(catalog.Tool{ID: "zz:harp", Name: "harp", Server: "zz", Description: "tunes the strings of harps in the garden"})
	m := w.model()
	l := m.measures.learning.get()
	require.True(t, l.partial)
	harp, _, err := m.node("zz:harp")
	require.NoError(t, err)
	require.Less(t, l.tool[harp], int32(0), "it has no place")

	const intent = "tune the strings of my harp in the garden"
	a := next(t, m, NextRequest{Intent: intent, Profile: ProfileLearned, Limit: 100})
	require.Equal(t, ProfileLearned, a.Model.Profile)
	checkTerms(t, a.Suggestions)
	place := slices.IndexFunc(a.Suggestions, func(s Suggestion) bool { return s.ID == "zz:harp" })
	require.GreaterOrEqual(t, place, 0, "it is found")
	text := m.measures.texts.text.Query(intent, nil)
	defer text.Close()
	fits := func(id string) float64 {
		n, _, err := m.node(id)
		require.NoError(t, err)
		return text.Of(m.measures.texts.doc[n]).Score
	}
	for _, s := range a.Suggestions[:place] {
		if n, _, _ := m.node(s.ID); m.Usage.At(n).Steps == 0 {
			assert.GreaterOrEqual(t, fits(s.ID), fits("zz:harp"), "%s fits no worse", s.ID)
		}
	}

	a = next(t, m, NextRequest{Context: []string{"x:a", "x:b"}, Intent: intent, Profile: ProfileLearned, Limit: 100})
	ids := map[string]Suggestion{}
	for _, s := range a.Suggestions {
		ids[s.ID] = s
	}
	require.Contains(t, ids, "zz:harp")
	checkTerms(t, a.Suggestions)
	e, err := m.Explain(ExplainRequest{ID: "zz:harp", Context: []string{"x:a", "x:b"}, Intent: intent, Profile: ProfileLearned})
	require.NoError(t, err)
	assert.Equal(t, ids["zz:harp"].Terms, e.Terms)
}

// Places that nobody used a tool for go to what the servers in use offer first, whatever else stands before
// it in the catalog.
func TestPlacesGoToServersInUse(t *testing.T) {
	defer func(n int) { learnTools = n }(learnTools)
	learnTools = 30
	w := newWorld(t)
	for i := range 100 {
		w.tool(fmt.Sprintf("stranger:t%02d", i), "does something else", "", "")
	}
	for i := range 10 {
		w.tool(fmt.Sprintf("desk:t%d", i), "does something", "", "")
	}
	for i := range 60 {
		w.episode(fmt.Sprint("errand ", i%7), "desk:t0", "desk:t1")
	}
	l := w.model().measures.learning.get()
	require.True(t, l.partial)
	require.Len(t, l.node, learnTools)
	m := w.model()
	for i := range 10 {
		n, ok, err := m.node(fmt.Sprintf("desk:t%d", i))
		require.NoError(t, err)
		require.True(t, ok)
		assert.GreaterOrEqual(t, l.tool[n], int32(0), "desk:t%d has a place", i)
	}
}
