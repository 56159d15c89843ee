package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/live"
	"waymark/mine/proposal"
	"waymark/suggest"
)

// mined starts a search for capabilities and waits for its end.
func (w web) mined(body string) live.Job {
	w.t.Helper()
	r := w.ask("POST", "/v1/proposals", body)
	j := parse[live.Job](w.t, 202, r)
	states, ok := defaultEngine(w.t, w.Server).WatchJob(w.t.Context(), j.ID)
	require.True(w.t, ok)
	for j = range states {
	}
	require.Equal(w.t, live.JobDone, j.State, j.Error)
	return parse[live.Job](w.t, 200, w.ask("GET", r.header.Get("Location"), ""))
}

// Episodes are recorded, a capability is mined from them and approved, and from then on it is the first
// thing suggested for its intent.
func TestFromEpisodesToACapability(t *testing.T) {
	w := newWeb(t)
	var lines []string
	for i := range 6 {
		lines = append(lines, fmt.Sprintf(`{"id":"rel-%d","intent":"publish the release notes of version %d","session":"s%d","steps":[{"tool":"forge:list_merged"},{"tool":"wiki:create_page"},{"tool":"chat:announce"}]}`, i, i, i))
	}
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", strings.Join(lines, "\n"), "Content-Type: application/x-ndjson").status)
	put := parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[
		{"id":"forge:list_merged","description":"Lists what was merged.","input_schema":{"type":"object","properties":{"since":{"type":"string"}},"required":["since"]}},
		{"id":"wiki:create_page","description":"Creates a page."},{"id":"chat:announce","description":"Posts to a channel."}]`))
	w.settle(put)

	job := w.mined("")
	require.NotNil(t, job.Mined)
	assert.Equal(t, "mine", job.Kind)
	list := parse[proposalList](t, 200, w.ask("GET", "/v1/proposals", ""))
	require.NotEmpty(t, list.Proposals)
	assert.Equal(t, job.Mined.Proposed, list.Total)
	p := list.Proposals[0]
	assert.Equal(t, []string{"forge:list_merged", "wiki:create_page", "chat:announce"}, p.Capability.Tools)
	assert.Equal(t, "publish release notes version", p.Capability.Intent)
	assert.JSONEq(t, `{"type":"object","properties":{"since":{"type":"string"}},"required":["since"]}`, string(p.Capability.InputSchema))
	assert.Equal(t, p, parse[proposal.Proposal](t, 200, w.ask("GET", "/v1/proposals/"+p.ID, "")))
	assert.Empty(t, parse[proposalList](t, 200, w.ask("GET", "/v1/proposals?state=approved", "")).Proposals)

	edited := p.Capability
	edited.Description, edited.Tasks[2].Arguments = "Publishes the notes and says so.", map[string]json.RawMessage{"channel": json.RawMessage(`"news"`)}
	body, err := json.Marshal(map[string]any{"id": "cap:release", "capability": edited})
	require.NoError(t, err)
	requireProblem(t, 422, "nowhere", w.ask("POST", "/v1/proposals/"+p.ID+"/approve", strings.Replace(string(body), `"depends_on":["`, `"depends_on":["nowhere","`, 1)))
	r := w.ask("POST", "/v1/proposals/"+p.ID+"/approve", string(body))
	a := parse[approvedProposal](t, 200, r)
	assert.Equal(t, "/v1/capabilities/cap:release", r.header.Get("Location"))
	assert.Equal(t, proposal.Approved, a.State)
	require.NoError(t, defaultEngine(t, w.Server).Wait(t.Context(), a.Seq))
	c := parse[catalog.Capability](t, 200, w.ask("GET", "/v1/capabilities/cap:release", ""))
	assert.Equal(t, []string{"mined"}, c.Tags)
	assert.Equal(t, edited.Description, c.Description)
	assert.Equal(t, edited.Tasks, c.Tasks)
	_, err = defaultEngine(t, w.Server).Build(t.Context())
	require.NoError(t, err)

	next := parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", `{"intent":"publish the release notes"}`))
	require.NotEmpty(t, next.Suggestions)
	assert.Equal(t, "cap:release", next.Suggestions[0].ID)
}

func TestProposalProblems(t *testing.T) {
	w := newWeb(t)
	requireProblem(t, 404, "p123", w.ask("GET", "/v1/proposals/p123", ""))
	requireProblem(t, 404, "p123", w.ask("POST", "/v1/proposals/p123/approve", ""))
	requireProblem(t, 404, "p123", w.ask("POST", "/v1/proposals/p123/reject", `{"reason":"no"}`))
	requireProblem(t, 422, "state", w.ask("GET", "/v1/proposals?state=lost", ""))
	requireProblem(t, 422, "min_tools", w.ask("POST", "/v1/proposals", `{"min_tools":9}`))
	requireProblem(t, 422, "beauty", w.ask("POST", "/v1/proposals", `{"rubric":{"id":"x","dimensions":[{"name":"beauty","weight":1,"scale":{"min":0,"max":10}}]}}`))
	requireProblem(t, 422, "rubric", w.ask("POST", "/v1/proposals", `{"rubric":{"id":"x"}}`))
	w.mined(`{"rubric":"id: x\ndimensions: [{name: support, weight: 1, scale: {min: 0, max: 10}}]"}`)
	w.mined(`{"rubric":{"id":"x","dimensions":[{"name":"support","weight":1,"scale":{"min":0,"max":10}}]},"support":2}`)
}
