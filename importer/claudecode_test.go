package importer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// The fixture follows the layout of ecosystem section 9 A; what could be private has SECRET in it.
func TestClaudeCode(t *testing.T) {
	items, seen, report := read(t, "testdata/claude", Options{})
	require.Len(t, items, 8, "%q", seen)
	assert.Equal(t, "import:claude-code", items[1].Episode.Source)
	got, err := json.MarshalIndent(items[1].Episode, "", " ")
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"`+items[1].ID+`","intent":"Fix the build","time":"2026-08-10T12:00:00Z","session":"s1","source":"import:claude-code","outcome":"unknown","steps":[
		{"id":"1","tool":"fs:read","group":"1","outcome":"success","duration_ms":1250,"shape":"{limit:integer,path:string,range:{from:number},tags:[string]}"},
		{"id":"2","tool":"Bash","group":"1","outcome":"failure","error_kind":"timeout","duration_ms":2000,"shape":"{*:integer,command:string}"},
		{"id":"3","tool":"github:search_issues","outcome":"unknown","shape":"{query:string}"},
		{"id":"4","tool":"jira:create","group":"2","outcome":"unknown","shape":"{title:string}"},
		{"id":"5","tool":"Task","group":"2","outcome":"success","shape":"{prompt:string}"}]}`, string(got))
	assert.Equal(t, []string{"/commit all files", "call_tool"}, []string{items[2].Episode.Intent, items[2].Episode.Steps[0].Tool})
	side := items[4].Episode
	assert.Equal(t, "Look for callers", side.Intent)
	assert.Equal(t, "s1/s0", side.Session)
	assert.Equal(t, []string{"Grep", "failure", "policy"}, []string{side.Steps[0].Tool, string(side.Steps[0].Outcome), side.Steps[0].ErrorKind})
	assert.Equal(t, []string{"s2/a7", "Glob", "{}"}, []string{items[5].Episode.Session, items[5].Episode.Steps[0].Tool, items[5].Episode.Steps[0].Shape})
	assert.True(t, items[6].Duplicate, "a resumed session repeats an earlier one")
	assert.Equal(t, &Tally{Lines: 25}, items[7].Tally)
	assert.Contains(t, items[0].Dropped, "want a list")
	assert.Contains(t, items[3].Dropped, "cut off")
	assert.Equal(t, Counts{Episodes: 4}, report.Taken)
	for _, it := range items {
		b, err := json.Marshal(it)
		require.NoError(t, err)
		assert.NotContains(t, string(b), "SECRET")
	}

	again, _, _ := read(t, "testdata/claude", Options{})
	assert.Equal(t, items, again, "reading again finds the same")
}

func TestUnwrapCall(t *testing.T) {
	known := catalog.NewResolver([]string{"fs:read", "a:b__c", "a__b:c"})
	for _, tt := range []struct{ name, arguments, tool, shape string }{
		{"Bash", `{"command":"ls"}`, "Bash", "{command:string}"},
		{"mcp__fs__read", `{}`, "fs:read", "{}"},
		{"call_tool", `{"tool":"fs.read","arguments":{"path":"x"}}`, "fs:read", "{path:string}"},
		{"mcp__waymark__call_tool", `{"name":"fs:read","args":{"path":"x"}}`, "fs:read", "{path:string}"},
		{"hub.run_tool", `{"tool_name":"mcp__new__tool","input":"{\"a\":null}"}`, "new:tool", "{a:null}"},
		{"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":{}}`, "s:t", "{}"},
		{"execute_tool", `{"tool":"mcp__hub__call_tool","arguments":{"tool":"fs__read","arguments":{"path":1.5}}}`, "fs:read", "{path:number}"},
		{"call_tool", `{"tool":"fs:read"}`, "fs:read", ""},
		{"call_tool", `{"tool":5}`, "call_tool", "{tool:integer}"},
		{"call_tool", `[1]`, "call_tool", "[integer]"},
		{"recall_tool", `{"tool":"fs:read"}`, "recall_tool", "{tool:string}"},
	} {
		tool, arguments, err := unwrapCall(known, tt.name, json.RawMessage(tt.arguments))
		require.NoError(t, err, tt.name)
		assert.Equal(t, []string{tt.tool, tt.shape}, []string{tool, shape(arguments)}, "%s %s", tt.name, tt.arguments)
	}
	_, _, err := unwrapCall(known, "mcp__a__b__c", nil)
	var ambiguous *catalog.AmbiguousError
	assert.ErrorAs(t, err, &ambiguous)
}

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		``:                               "",
		`{"b":true,"a":"x","c":null}`:    "{a:string,b:boolean,c:null}",
		`{"a":{"b":{"c":1}}}`:            "{a:{b:{…}}}",
		`{"a":[],"b":[{"c":1},{"d":2}]}`: "{a:[],b:[{…}]}",
		`{"me@example.com":1,"/etc":2}`:  "{*:integer}",
		`{"a-1":1e3,"1a":-2}`:            "{*:integer,a-1:number}",
		`{"a":`:                          "",
	} {
		assert.Equal(t, want, shape(json.RawMessage(in)), in)
	}
	assert.LessOrEqual(t, len(shape(json.RawMessage("{"+strings.Repeat(`"`+strings.Repeat("a", 60)+`":1,`, 99)+`"b":2}`))), shapeBytes+3)
	assert.NotPanics(t, func() { shape(json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))) })
}

// The texts are those of hosts and servers: Claude Code, HTTP, JSON-RPC.
func TestErrorKind(t *testing.T) {
	for text, want := range map[string]string{
		"The user doesn't want to proceed with this tool use. The tool use was rejected": "policy",
		"Claude requested permissions to use Bash, but you haven't granted it yet.":      "policy",
		"Command timed out after 2m 0.0s":                                                "timeout",
		"context deadline exceeded":                                                      "timeout",
		"HTTP 401 Unauthorized":                                                          "auth",
		"Bad credentials":                                                                "auth",
		"MCP error -32602: Invalid arguments for tool read":                              "argument",
		"InputValidationError: Read failed":                                              "argument",
		"ENOENT: no such file or directory":                                              "tool",
		"":                                                                               "tool",
	} {
		assert.Equal(t, want, errorKind(text), text)
	}
}
