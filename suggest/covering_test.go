package suggest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
)

// release is a history in which three tools publish release notes, always in this order, among others; the
// capability does the same.
func release(t testing.TB) *world {
	w := newWorld(t)
	w.tool("forge:list_merged", "Lists what was merged since a tag.", "", "")
	w.tool("wiki:create_page", "Creates a page.", "", "")
	w.tool("chat:announce", "Announces something in a channel.", "", "")
	w.tool("mail:send", "Sends a mail.", "", "")
	for i := range 8 {
		w.episode("publish the release notes", "forge:list_merged", "wiki:create_page", "chat:announce")
		w.episode("tell the team about the outage", "mail:send", fmt.Sprint("odd:", i))
	}
	return w
}

// published puts the capability.
func published(w *world) *world {
	return w.capability("cap:release", "Publish the release notes: list what was merged, create a page, announce it.",
		"forge:list_merged", "wiki:create_page", "chat:announce")
}

// What covers an intent is above its parts: in a list of what comes next, in a search, and in a plan.
func TestWhatCoversIsAboveItsParts(t *testing.T) {
	m := published(release(t)).model()
	a := next(t, m, NextRequest{Intent: "publish the release notes"})
	require.Equal(t, "cap:release", a.Suggestions[0].ID, "%v", ids(a.Suggestions))
	s, err := m.Search(SearchRequest{Query: "publish the release notes"})
	require.NoError(t, err)
	require.Equal(t, "cap:release", s.Results[0].ID)
	d := planned(t, m, DAGRequest{Intent: "publish the release notes"})
	require.Equal(t, []string{"cap:release"}, tools(d))

	e, err := m.Explain(ExplainRequest{ID: "cap:release", Intent: "publish the release notes"})
	require.NoError(t, err)
	assert.Equal(t, 1, e.Rank)
	assert.Equal(t, a.Suggestions[0].Score, e.Score)
	assert.Equal(t, a.Suggestions[0].Terms, e.Terms)
}

// After a context alone it is above its parts where it begins with what comes next and the rest follows.
func TestCoversTheNextSteps(t *testing.T) {
	w := release(t)
	for range 6 {
		w.episode("", "forge:tag", "forge:list_merged", "wiki:create_page", "chat:announce")
	}
	m := published(w).model()
	a := next(t, m, NextRequest{Context: []string{"forge:tag"}})
	require.Equal(t, []string{"cap:release", "forge:list_merged"}, ids(a.Suggestions)[:2])
	assert.Equal(t, FormulaCovers, a.Suggestions[0].Formula)
	assert.Contains(t, a.Suggestions[0].Reason, "above all forge:list_merged")
	assert.Equal(t, a.Suggestions[1].Score, a.Suggestions[0].Score)

	a = next(t, m, NextRequest{Context: []string{"forge:tag", "forge:list_merged"}})
	assert.Equal(t, "wiki:create_page", a.Suggestions[0].ID, "what is begun by hand is finished by hand")
	assert.Equal(t, "cap:release", next(t, m, NextRequest{Intent: "publish the release notes"}).Suggestions[0].ID, "an intent alone asks for all of it")
}

// What does not cover stays where it is.
func TestWhatDoesNotCover(t *testing.T) {
	other := published(release(t))
	for i := range 26 {
		last := "wiki:create_page"
		if i > 5 {
			last = "mail:send"
		}
		other.episode("", "forge:tag", "forge:list_merged", last, "chat:announce")
	}
	a := next(t, other.model(), NextRequest{Context: []string{"forge:tag"}})
	assert.Equal(t, "forge:list_merged", a.Suggestions[0].ID, "mostly something else follows")

	intent := NextRequest{Intent: "publish the release notes"}
	first := func(w *world, r NextRequest) string { return next(t, w.model(), r).Suggestions[0].ID }

	w := release(t).capability("cap:pages", "Pages of invoices for the accountant.", "forge:list_merged", "wiki:create_page", "chat:announce")
	assert.NotEqual(t, "cap:pages", first(w, intent), "its text says something else")
	w = release(t).capability("cap:release", "Publish the release notes.", "forge:list_merged", "odd:1", "odd:2", "odd:3")
	d := planned(t, w.model(), DAGRequest{Intent: intent.Intent})
	assert.Contains(t, tools(d), "wiki:create_page", "it does mostly something else")

	w = published(release(t))
	for range 6 {
		w.record(episodic.Episode{ID: "f", Steps: []episodic.Step{{Tool: "cap:release", Outcome: episodic.Failure}}})
	}
	assert.NotEqual(t, "cap:release", first(w, intent), "it fails")
	assert.NotEqual(t, "cap:release", first(published(release(t)), NextRequest{Intent: intent.Intent, Allow: []string{"forge:*", "wiki:*", "chat:*"}}))
}

// The tasks of a plan go around a capability as they went around what it covers; it takes from those before it, and gives
// to those after it, what its schemas say, as a tool does.
func TestPlanGoesAroundWhatItCovers(t *testing.T) {
	const intent = "prepare, publish the release notes and clean up"
	covered := []string{"forge:list_merged", "wiki:create_page", "chat:announce"}
	w := newWorld(t)
	w.tool("forge:tag", "Tags a release.", "", `{"type":"object","properties":{"tag_name":{"type":"string"}}}`)
	w.tool("disk:clean", "Cleans up.", `{"type":"object","properties":{"page_id":{"type":"integer"}},"required":["page_id"]}`, "")
	for range 10 {
		w.episode(intent, slices.Concat([]string{"forge:tag"}, covered, []string{"disk:clean"})...)
	}
	for i := range 6 {
		w.episode("else", fmt.Sprint("odd:", i), fmt.Sprint("odd:", i+1))
	}
	require.Len(t, planned(t, w.model(), DAGRequest{Intent: intent}).DAG.Tasks, 5)
	w.PutCapability(catalog.Capability{ID: "cap:release", Name: "release", Description: "Prepare, publish the release notes and clean up.",
		Tools:        covered,
		InputSchema:  []byte(`{"type":"object","properties":{"tag_name":{"type":"string"},"title":{"type":"string"}},"required":["tag_name","title"]}`),
		OutputSchema: []byte(`{"type":"object","properties":{"page_id":{"type":"integer"}}}`),
	})
	d := planned(t, w.model(), DAGRequest{Intent: intent})
	require.Equal(t, []string{"forge:tag", "cap:release", "disk:clean"}, tools(d))
	assert.Empty(t, d.DAG.Tasks[0].DependsOn)
	assert.Equal(t, []string{"t1"}, d.DAG.Tasks[1].DependsOn)
	assert.Equal(t, []string{"t2"}, d.DAG.Tasks[2].DependsOn)
	assert.Equal(t, map[string]Argument{"tag_name": {"t1.tag_name"}, "title": {"intent"}}, d.DAG.Tasks[1].Arguments)
	assert.Equal(t, map[string]Argument{"page_id": {"t2.page_id"}}, d.DAG.Tasks[2].Arguments)
}
