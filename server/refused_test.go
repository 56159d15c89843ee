package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
)

// routeOf are the operations of HTTP that ask what a tool of MCP asks.
var routeOf = map[string]string{
	"find_tool": "/v1/search", "suggest_next": "/v1/next", "suggest_dag": "/v1/dag", "rebuild": "/v1/rebuild",
}

// A wrong argument is refused in the same words over HTTP and MCP, with its place, and the connection lives on.
func TestRefusedArguments(t *testing.T) {
	w := newWeb(t)
	w.settle(parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[{"id":"a:b__c"},{"id":"a__b:c"}]`)))
	client := overMemory(t, w.Server, nil)
	for _, c := range []struct{ tool, arguments, at, says string }{
		{"find_tool", `{}`, "", "expected required property query to be present"},
		{"find_tool", `{"query":7}`, "query", ""},
		{"find_tool", `{"query":"x","Limit":1}`, "Limit", `unknown field "Limit"; its name is written "limit"`},
		{"describe_tool", `{"id":"json:parse"}`, "id", `unknown field "id"; known are ids`},
		{"find_tool", `{"query":"x","tool_description":"y"}`, "tool_description", `unknown field "tool_description"`},
		{"find_tool", `{"query":"x","context":7}`, "context", ""},
		{"find_tool", `{"query":"x","limit":0}`, "limit", "expected number >= 1"},
		{"find_tool", `{"query":"x","limit":1.5}`, "limit", ""},
		{"find_tool", `{"query":"` + strings.Repeat("x", 10_000) + `"}`, "query", "expected length <= 8192"},
		{"suggest_next", `{"limit":101}`, "limit", "expected number <= 100"},
		{"suggest_next", `{"context":[""]}`, "context[0]", "is empty"},
		{"suggest_next", `{"context":[1]}`, "context[0]", ""},
		{"suggest_next", `{"context":["a__b__c"]}`, "context[0]", `"a__b__c" may mean any of ["a:b__c" "a__b:c"]`},
		{"suggest_next", `{"allow":["fs:*",""]}`, "allow[1]", "is empty"},
		{"suggest_next", `{"profile":"auto"}`, "profile", `expected value to be one of "learned, seed"`},
		{"suggest_dag", `{}`, "intent", "is empty"},
		{"suggest_dag", `{"intent":"x","max_steps":26}`, "max_steps", "expected number <= 25"},
		{"rebuild", `{"verify":"yes"}`, "verify", ""},
		{"describe_tool", `{}`, "", "expected required property ids to be present"},
		{"describe_tool", `{"ids":["fs:read_file","fs:nope","a b"]}`, "ids",
			`unknown tool "fs:nope"; unknown tool "a b". Known: fs:read_file. find_tool finds ids by words`},
		{"record_episode", `{"steps":[{"tool":"a"},{}]}`, "steps[1]", "expected required property tool to be present"},
		{"record_episode", `{"id":"cycle","steps":[{"id":"s","tool":"a","depends_on":["s"]}]}`, "", "depends"},
		{"record_episode", `{"steps":[{"tool":"a"}],"time":"yesterday"}`, "time", ""},
	} {
		place, location := c.at+": ", "body."+c.at
		if c.at == "" {
			place, location = "", "body"
		}
		if path := routeOf[c.tool]; path != "" {
			p := requireProblem(t, 422, "", w.ask("POST", path, c.arguments))
			require.NotEmpty(t, p.Errors, c.arguments)
			assert.Equal(t, location, p.Errors[0].Location, c.arguments)
			assert.Contains(t, p.Errors[0].Message, c.says)
		}
		r := call(t, client, c.tool, json.RawMessage(c.arguments))
		require.True(t, r.IsError, "%s %s", c.tool, c.arguments)
		assert.Nil(t, r.StructuredContent)
		assert.Contains(t, textOf(t, r), place+c.says)
	}
	_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{}})
	assert.ErrorContains(t, err, "call_tool")
	assert.True(t, call(t, client, "suggest_next", json.RawMessage(`[]`)).IsError)
	assert.False(t, call(t, client, "suggest_dag", map[string]any{"context": []string{"fs:read_file"}}).IsError, "a context alone will do")
}

// What only HTTP has is refused with its place, too.
func TestRefusedRequests(t *testing.T) {
	w := newWeb(t)
	for _, c := range []struct {
		route, body string
		status      int
		mention     string
		location    string
	}{
		{"POST /v1/next", `[]`, 422, "object", "body"},
		{"POST /v1/next", `{"limit":"3"}`, 422, "body.limit", "body.limit"},
		{"POST /v1/next", ``, 400, "body", ""},
		{"POST /v1/search", `{"query":"x","kinds":["robot"]}`, 422, "kinds", "body.kinds[0]"},
		{"POST /v1/explain", `{}`, 422, "id", "body"},
		{"POST /v1/feedback", `{"used":true}`, 422, "id", "body.id"},
		{"POST /v1/feedback", `{"used":true,"suggestion_id":"nope"}`, 404, "suggestion_id", "body.suggestion_id"},
		{"POST /v1/feedback", `{"used":true,"id":"json:parse","outcome":"perhaps"}`, 422, "outcome", "body.outcome"},
		{"POST /v1/rebuild", `{"dry_run":true,"verify":true}`, 422, "neither verify nor force", ""}, // a judgement alone
		{"POST /v1/rebuild", `{"dry_run":true,"force":true}`, 422, "neither verify nor force", ""},
		{"GET /v1/tools?limt=5", "", 422, "query.limt", ""},
		{"GET /v1/graph?format=png", "", 422, "format", ""},
		{"DELETE /v1/keys/a%20b", "", 404, `there is no key \"a b\"`, ""}, // ids lose their percent-encoding
	} {
		method, path, _ := strings.Cut(c.route, " ")
		p := requireProblem(t, c.status, c.mention, w.ask(method, path, c.body))
		if c.location != "" {
			require.NotEmpty(t, p.Errors)
			assert.Equal(t, c.location, p.Errors[0].Location)
		}
	}
	assert.Contains(t, w.ask("POST", "/v1/rebuild", `{"dry_run":true}`).body, `"judge"`)
}
