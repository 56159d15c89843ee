package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score"
	"waymark/score/judge"
	"waymark/suggest"
)

// What is answered is kept, whatever becomes of the record of its run.
func TestATriangulationIsKeptBeforeItsRunIsRecorded(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RecordScores = true })
	require.NoError(t, w.cfg.Workspaces.Close(t.Context())) // no run can be recorded any more
	a := parse[score.TriangulateAnswer](t, 200, w.ask("POST", "/v1/triangulations",
		`{"question":"Why?","hypotheses":[{"id":"h1","text":"it rains"},{"id":"h2","text":"it snows"}]}`))
	got := parse[score.TriangulateAnswer](t, 200, w.ask("GET", "/v1/triangulations/"+a.ID, ""))
	assert.Equal(t, a, got)
}

const proposals = `{"hypotheses":[{"text":"Scour washed out the pier foundation","rationale":"Fast water digs at piers","key_fact":"A hole in the river bed"},` +
	`{"text":"Metal fatigue cracked the tie rods","rationale":"Old iron rods","key_fact":"Cracks"},{"text":"An overloaded truck broke the deck","rationale":"Heavy traffic","key_fact":"A truck"},` +
	`{"text":"An earthquake shook the abutments","rationale":"A fault is near","key_fact":"A quake"},{"text":"Frost split the arch stones","rationale":"A cold winter","key_fact":"Split stones"}]}`

// An inquiry is kept as a triangulation, counts as a run of it, and is the same over MCP.
func TestInquiry(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.RecordScores = true
		c.Judges = score.OneJudge("m", replying(func(judge.Question) string { return proposals }))
	})
	const inquiry = `{"question":"Why did the bridge fall?","even_if_easy":true,"documents":[{"text":"Divers found that scour had washed out the foundation of the pier."},{"text":"Fast water had washed out gravel below the pier foundation."}]}`
	r := w.ask("POST", "/v1/inquiries?after=fs:read_file", inquiry)
	a := parse[score.InquiryAnswer](t, 200, r)
	require.NotNil(t, a.Triangulation)
	assert.Equal(t, "h1", a.Triangulation.Ranking[0].Hypothesis)
	assert.Equal(t, "/v1/triangulations/"+a.ID, r.header.Get("Location"))
	kept := parse[score.TriangulateAnswer](t, 200, w.ask("GET", "/v1/triangulations/"+a.ID, ""))
	assert.Equal(t, *a.Triangulation, kept.Result)
	m := w.rebuilt()
	next, err := m.Next(suggest.NextRequest{Context: []string{"fs:read_file"}, Limit: 50})
	require.NoError(t, err)
	ids := []string{}
	for _, s := range next.Suggestions {
		ids = append(ids, s.ID)
	}
	assert.Contains(t, ids, score.TriangulateID)

	client := overMemory(t, w.Server, nil)
	over := call(t, client, "score", map[string]any{"rubric": "inquiry", "input": json.RawMessage(inquiry)})
	require.False(t, over.IsError, "%v", over.Content)
	assert.Equal(t, a.ID, over.StructuredContent.(map[string]any)["id"])
	over = call(t, client, "score", map[string]any{"rubric": "hypotheses", "input": map[string]any{"question": "Why?", "even_if_easy": true}})
	require.False(t, over.IsError, "%v", over.Content)
	assert.Len(t, over.StructuredContent.(map[string]any)["hypotheses"], 5)
	requireProblem(t, 422, "no servers", w.ask("POST", "/v1/inquiries", `{"question":"Why?","search_tool":"web:search"}`))
}
