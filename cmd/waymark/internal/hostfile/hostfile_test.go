package hostfile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

var server = map[string]any{"command": "/bin/waymark", "args": []string{"mcp"}}

// What is set and removed again leaves the file as it was, and everything else is never touched.
func TestSetAndRemove(t *testing.T) {
	for name, tt := range map[string]struct{ before, after, left string }{
		"absent": {"", "{\n  \"mcpServers\": {\n    \"waymark\": {\n      \"args\": [\n        \"mcp\"\n      ],\n      \"command\": \"/bin/waymark\"\n    }\n  }\n}\n", "{\n  \"mcpServers\": {}\n}\n"},
		"others": {"{\n\t\"a\":  1,\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\":\"g\"}\n\t}\n}",
			"{\n\t\"a\":  1,\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\":\"g\"},\n\t\t\"waymark\": {\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t],\n\t\t\t\"command\": \"/bin/waymark\"\n\t\t}\n\t}\n}", ""},
		"one line":     {`{"mcpServers":{"git":{}},"z":{"waymark":2}}` + "\n", `{"mcpServers":{"git":{}, "waymark": {"args":["mcp"],"command":"/bin/waymark"}},"z":{"waymark":2}}` + "\n", ""},
		"other object": {`{"z": 1}`, `{"z": 1, "mcpServers": {"waymark":{"args":["mcp"],"command":"/bin/waymark"}}}`, `{"z": 1, "mcpServers": {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := Set([]byte(tt.before), server, "mcpServers", "waymark")
			require.NoError(t, err)
			require.Equal(t, tt.after, string(after))
			require.True(t, json.Valid(after))
			again, err := Set(after, server, "mcpServers", "waymark")
			require.NoError(t, err)
			require.JSONEq(t, string(after), string(again))
			removed, ok, err := Remove(after, "mcpServers", "waymark")
			require.NoError(t, err)
			require.True(t, ok)
			if tt.left != "" {
				tt.before = tt.left
			}
			require.Equal(t, tt.before, string(removed))
			same, ok, err := Remove(removed, "mcpServers", "waymark")
			require.NoError(t, err)
			require.False(t, ok)
			require.Equal(t, string(removed), string(same))
		})
	}
	first, ok, err := Remove([]byte(`{"m":{"waymark":{},"git":{"x":[1, 2]}}}`), "m", "waymark")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, `{"m":{"git":{"x":[1, 2]}}}`, string(first))
	odd, _, err := Remove([]byte(`{"waymark":1, "a\"b":2}`), "waymark")
	require.NoError(t, err)
	require.Equal(t, `{"a\"b":2}`, string(odd))
}

// What is put into a list and taken out again leaves the formatting of the others.
func TestAppendAndDrop(t *testing.T) {
	for before, after := range map[string]string{
		"{\n\t\"a\": {\"l\": []}\n}":                       "{\n\t\"a\": {\"l\": [\n\t\t{\n\t\t\t\"own\": 1\n\t\t}\n\t]}\n}",
		`{"a": {"l": [ {"x":1},2 ]}}`:                      `{"a": {"l": [ {"x":1},2, {"own":1} ]}}`,
		"{\"a\":{\n    \"l\": [\n        [1,\n2]\n    ]}}": "{\"a\":{\n    \"l\": [\n        [1,\n2],\n        {\n            \"own\": 1\n        }\n    ]}}",
	} {
		got, err := Append([]byte(before), map[string]any{"own": 1}, "a", "l")
		require.NoError(t, err)
		require.Equal(t, after, string(got))
		got, err = Drop(got, func(e json.RawMessage) bool { return bytes.Contains(e, []byte("own")) }, "a", "l")
		require.NoError(t, err)
		require.Equal(t, before, string(got))
	}
	_, err := Append([]byte(`{"a": null}`), 1, "a")
	require.ErrorContains(t, err, "a is no list")
	_, err = Append([]byte(`{}`), 1, "a")
	require.ErrorContains(t, err, "a is no list")
}

func TestRefuses(t *testing.T) {
	for _, text := range []string{"{ // comment\n}", "[]", `{"mcpServers":[]}`, `{"a":1`, `{} {}`, `{"mcpServers":{"a":1,}}`} {
		_, err := Set([]byte(text), server, "mcpServers", "waymark")
		require.Error(t, err, text)
	}
	for text, want := range map[string]string{
		"{\n // mine\n}":    "line 2 has a comment or a trailing comma",
		"{\"a\": [\n1,\n]}": "line 3 has a comment or a trailing comma",
		"{\n\"a\": b}":      "line 2: jsontext: ",
	} {
		_, err := Get([]byte(text), "a")
		require.ErrorContains(t, err, want)
	}
}

func TestTables(t *testing.T) {
	const others = "model = \"x\" # mine\n\n[mcp_servers.git]\ncommand = \"g\"\n"
	block := "[mcp_servers.waymark]\ncommand = \"w\""
	set := SetTable([]byte(others), "mcp_servers.waymark", block)
	require.Equal(t, others+"\n"+block+"\n", string(set))
	require.Equal(t, string(set), string(SetTable(set, "mcp_servers.waymark", block)))
	removed, ok := RemoveTable(set, "mcp_servers.waymark")
	require.True(t, ok)
	require.Equal(t, others, string(removed))
	between := "[mcp_servers.waymark]\ncommand = \"w\"\n[mcp_servers.waymark.env]\nA = \"b\"\n[mcp_servers.waymark2]\ncommand = \"g\"\n"
	removed, ok = RemoveTable([]byte(between), "mcp_servers.waymark")
	require.True(t, ok)
	require.Equal(t, "[mcp_servers.waymark2]\ncommand = \"g\"\n", string(removed))
}

func TestDiff(t *testing.T) {
	require.Equal(t, "- b\n+ c\n+ d\n", Diff([]byte("a\nb\nz\n"), []byte("a\nc\nd\nz\n")))
	require.Equal(t, "+ a\n", Diff(nil, []byte("a\n")))
	require.Empty(t, Diff([]byte("a\n"), []byte("a\n")))
}
