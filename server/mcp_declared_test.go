package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mcpserver "waymark/server/mcp"
)

// What hosts decide by: a tool that is said to change nothing may be called unasked, one that is said to be
// idempotent may be called again.
func TestAnnotations(t *testing.T) {
	type hints struct{ readOnly, idempotent, destructive, openWorld bool }
	reads := hints{readOnly: true, idempotent: true}
	want := map[string]hints{
		"find_tool": reads, "describe_tool": reads, "suggest_next": reads, "suggest_dag": reads,
		"record_episode": {},                // without an id each call counts
		"triangulate":    {openWorld: true}, // records an episode; may search with a tool of another server
		"score":          {openWorld: true}, // records an episode and scores; a judge may be asked
		"rebuild":        {},                // each build is noted in the log
		"call_tool":      {readOnly: true, openWorld: true},
		"run_dag":        {destructive: true, openWorld: true},

		"call_changing_tool": {destructive: true, openWorld: true},
	}
	s, _ := newOfficeWithDesk(t, mcpserver.ModeDeferred)
	tools, err := overMemory(t, s, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	got := map[string]hints{}
	for _, tool := range tools.Tools {
		a := tool.Annotations
		require.NotNil(t, a, tool.Name)
		require.NotNil(t, a.OpenWorldHint, tool.Name) // left out it would mean true
		require.NotNil(t, a.DestructiveHint, tool.Name)
		got[tool.Name] = hints{a.ReadOnlyHint, a.IdempotentHint, *a.DestructiveHint, *a.OpenWorldHint}
	}
	assert.Equal(t, want, got)
}

// The annotations of tools that are said to change nothing are true: no event is added to the log.
func TestReadOnlyToolsRecordNothing(t *testing.T) {
	s := newOffice(t, func(c *Config) { c.RecordScores = true })
	client := overMemory(t, s, nil)
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, q := range questions {
		before := defaultEngine(t, s).Head()
		call(t, client, q.tool, q.arguments)
		after := defaultEngine(t, s).Head()
		for _, tool := range tools.Tools {
			if tool.Name == q.tool && tool.Annotations.ReadOnlyHint {
				assert.Equal(t, before, after, "%s %v", q.tool, q.arguments)
			}
			if tool.Name == q.tool && (q.tool == "score" || q.tool == "triangulate" || q.tool == "record_episode") {
				assert.NotEqual(t, before, after, "%s %v", q.tool, q.arguments)
			}
		}
	}
}
