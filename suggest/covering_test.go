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

// What does not cover leaves its tools in the plan.
func TestWhatCovers(t *testing.T) {
	const intent = "publish the release notes"
	plan := func(w *world, r DAGRequest) []string {
		r.Intent = intent
		return tools(planned(t, w.model(), r))
	}
	assert.Equal(t, []string{"cap:release"}, plan(published(release(t)), DAGRequest{}))
	w := release(t).capability("cap:pages", "Pages of invoices for the accountant.", "forge:list_merged", "wiki:create_page", "chat:announce")
	assert.Contains(t, plan(w, DAGRequest{}), "wiki:create_page", "its text says something else")
	w = release(t).capability("cap:release", "Publish the release notes.", "forge:list_merged", "odd:1", "odd:2", "odd:3")
	assert.Contains(t, plan(w, DAGRequest{}), "wiki:create_page", "it does mostly something else")
	w = published(release(t))
	for range 6 {
		w.record(episodic.Episode{ID: "f", Steps: []episodic.Step{{Tool: "cap:release", Outcome: episodic.Failure}}})
	}
	assert.NotContains(t, plan(w, DAGRequest{}), "cap:release", "it fails")
	assert.NotContains(t, plan(published(release(t)), DAGRequest{Allow: []string{"forge:*", "wiki:*", "chat:*"}}), "cap:release")
	assert.NotContains(t, plan(published(release(t)), DAGRequest{Context: []string{"forge:list_merged"}}), "cap:release", "what is begun by hand is finished by hand")
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
