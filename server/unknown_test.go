package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

// Every answer names the unknown ids of its context and the known ids spelled like them, and keeps its warning.
func TestUnknownIDs(t *testing.T) {
	w := newWeb(t)
	want := []suggest.UnknownID{{ID: "fs.raed_file", DidYouMean: []string{"fs:read_file"}, Message: `unknown tool "fs.raed_file"; did you mean fs:read_file?`}}
	for path, body := range map[string]string{
		"/v1/next":   `{"context":["fs.raed_file"]}`,
		"/v1/dag":    `{"intent":"read a file","context":["fs.raed_file"]}`,
		"/v1/search": `{"query":"read a file","context":["fs.raed_file"]}`,
	} {
		a := parse[suggest.NextAnswer](t, 200, w.ask("POST", path, body))
		assert.Equal(t, want, a.UnknownIDs, path)
		assert.Contains(t, a.Warnings, suggest.WarnUnknownContext, path)
		assert.NotContains(t, w.ask("POST", path, strings.ReplaceAll(body, "raed", "read")).body, "unknown_ids", path)
	}
	e := parse[suggest.ExplainAnswer](t, 200, w.ask("POST", "/v1/explain", `{"id":"fs.raed_file"}`))
	assert.Equal(t, want, e.UnknownIDs)
	assert.Equal(t, want[0].Message, e.Reason)
	assert.Equal(t, suggest.AbsentUnknown, e.Absent)
	p := w.ask("GET", "/v1/tools/fs.raed_file", "")
	require.Equal(t, 404, p.status)
	assert.Contains(t, p.body, `unknown tool \"fs.raed_file\"; did you mean fs:read_file?`)

	// The plan of an answer with unknown ids can be run as it stands.
	dag := w.ask("POST", "/v1/dag", `{"intent":"read a file","context":["fs.raed_file"]}`)
	run := w.ask("POST", "/v1/runs", dag.body)
	assert.NotContains(t, run.body, "unknown_ids")
}

// Hosts get the same field, and the sentence for the model.
func TestUnknownIDsOverMCP(t *testing.T) {
	w := newWeb(t)
	for tool, arguments := range map[string]string{
		"suggest_next": `{"context":["fs.raed_file"]}`,
		"suggest_dag":  `{"intent":"read a file","context":["fs.raed_file"]}`,
		"find_tool":    `{"query":"read a file","context":["fs.raed_file"]}`,
	} {
		ask, header := modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
		_, body := post(t, http.DefaultClient, w.url+"/mcp", ask, header)
		assert.Contains(t, body, `"unknown_ids":[{"id":"fs.raed_file","did_you_mean":["fs:read_file"]`, tool)
		if tool == "suggest_next" {
			assert.Contains(t, body, `Left out of the context: unknown tool \"fs.raed_file\"; did you mean fs:read_file?`)
		}
	}
	ask, header := modern("tools/call", "describe_tool", `"name":"describe_tool","arguments":{"ids":["fs.raed_file"]}`)
	_, body := post(t, http.DefaultClient, w.url+"/mcp", ask, header)
	assert.Contains(t, body, `ids: unknown tool \"fs.raed_file\"; did you mean fs:read_file?`)
}
