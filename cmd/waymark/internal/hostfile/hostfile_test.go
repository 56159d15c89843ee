package hostfile

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

var server = map[string]any{"command": "/bin/waymark", "args": []string{"mcp"}}

// What is set and removed again leaves the file as it was, and everything else is never touched.
func TestSetAndRemove(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"absent": {"", "{\n  \"mcpServers\": {\n    \"waymark\": {\n      \"args\": [\n        \"mcp\"\n      ],\n      \"command\": \"/bin/waymark\"\n    }\n  }\n}\n"},
		"others": {"{\n\t\"a\":  1,\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\":\"g\"}\n\t}\n}",
			"{\n\t\"a\":  1,\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\":\"g\"},\n\t\t\"waymark\": {\n\t\t  \"args\": [\n\t\t    \"mcp\"\n\t\t  ],\n\t\t  \"command\": \"/bin/waymark\"\n\t\t}\n\t}\n}"},
		"one line":     {`{"mcpServers":{"git":{}},"z":{"waymark":2}}` + "\n", `{"mcpServers":{"git":{}, "waymark": {"args":["mcp"],"command":"/bin/waymark"}},"z":{"waymark":2}}` + "\n"},
		"other object": {`{"z": 1}`, `{"z": 1, "mcpServers": {"waymark":{"args":["mcp"],"command":"/bin/waymark"}}}`},
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
			if tt.before == "" {
				tt.before = "{}\n"
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

func TestRefuses(t *testing.T) {
	for _, text := range []string{"{ // comment\n}", "[]", `{"mcpServers":[]}`, `{"a":1`, `{} {}`, `{"mcpServers":{"a":1,}}`} {
		_, err := Set([]byte(text), server, "mcpServers", "waymark")
		require.Error(t, err, text)
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
