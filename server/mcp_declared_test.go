//lint:file-ignore SA1019 clients of today still set a log level

package server

import (
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mcpserver "waymark/server/mcp"
)

func codeOf(t testing.TB, err error) int64 {
	t.Helper()
	var said *jsonrpc.Error
	require.True(t, errors.As(err, &said), "%v", err)
	return said.Code
}

// What the server does not declare it does not answer, in any revision.
func TestUndeclaredMethodsAreNotFound(t *testing.T) {
	eachWay(t, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		_, err := client.ListPrompts(t.Context(), nil)
		assert.Equal(t, int64(jsonrpc.CodeMethodNotFound), codeOf(t, err))
		_, err = client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "x"})
		assert.Equal(t, int64(jsonrpc.CodeMethodNotFound), codeOf(t, err))
		_, err = client.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "x"}, Argument: mcp.CompleteParamsArgument{Name: "id"}})
		assert.Equal(t, int64(jsonrpc.CodeMethodNotFound), codeOf(t, err))
		if init := client.InitializeResult(); init.ProtocolVersion < "2026-07-28" { // the method ends there
			assert.Nil(t, init.Capabilities.Prompts)
			assert.Nil(t, init.Capabilities.Completions)
			assert.Nil(t, init.Capabilities.Logging)
			err = client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
			assert.Equal(t, int64(jsonrpc.CodeMethodNotFound), codeOf(t, err))
		}
	})
	web := newWeb(t)
	ask := func(method, params string) string {
		body, header := modern(method, "", params)
		_, answer := post(t, http.DefaultClient, web.url+"/mcp", body, header)
		return answer
	}
	assert.Contains(t, ask("logging/setLevel", `"level":"info"`), `"code":-32601`)
	assert.Contains(t, ask("prompts/list", ""), `"code":-32601`)
	discovered := ask("server/discover", "")
	assert.NotContains(t, discovered, `"completions"`)
	assert.NotContains(t, discovered, `"prompts"`)
	assert.NotContains(t, discovered, `"logging"`)
}

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
		"call_tool":      {destructive: true, openWorld: true},
		"run_dag":        {destructive: true, openWorld: true},
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
