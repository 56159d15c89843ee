package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/suggest"
)

// A rule holds over HTTP and MCP alike; only the scope admin adds and undoes one, and undoing restores the answer to the
// byte.
func TestRulesHoldForEveryInterface(t *testing.T) {
	w := newWeb(t)
	key, root := w.writeKey(), bearerOf("local-token")
	client := overMemory(t, w.Server, nil)
	const question = `{"context":["fs:read_file"],"limit":20}`
	next := func() string { return w.ask("POST", "/v1/next", question, key).body }
	overMCP := func() string {
		return textOf(t, call(t, client, "suggest_next", map[string]any{"context": []string{"fs:read_file"}, "limit": 20}))
	}
	before, beforeMCP := next(), overMCP()
	first := parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", question, key)).Suggestions[0].ID
	require.Contains(t, beforeMCP, first)

	ban := `{"kind":"ban","tool":"` + first + `"}`
	require.Equal(t, 403, w.ask("POST", "/v1/rules", ban, key).status)
	require.Equal(t, 422, w.ask("POST", "/v1/rules", `{"kind":"ban","tool":"`+first+`","intent":""}`, root).status, "an empty request is not every request")
	rule := parse[live.Rule](t, 200, w.ask("POST", "/v1/rules", ban, root))
	require.Equal(t, "ban:"+first, rule.ID)
	require.Contains(t, w.ask("GET", "/v1/rules", "", key).body, rule.ID)
	for _, s := range parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", question, key)).Suggestions {
		require.NotEqual(t, first, s.ID)
	}
	require.NotContains(t, overMCP(), first)

	require.Equal(t, 403, w.ask("DELETE", "/v1/rules/"+rule.ID, "", key).status)
	require.Equal(t, 204, w.ask("DELETE", "/v1/rules/"+rule.ID, "", root).status)
	require.Equal(t, 404, w.ask("DELETE", "/v1/rules/"+rule.ID, "", root).status)
	require.Equal(t, before, next())
	require.Equal(t, beforeMCP, overMCP())

	pin := parse[live.Rule](t, 200, w.ask("POST", "/v1/rules", `{"kind":"pin","tool":"`+first+`"}`, root))
	start := parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", `{}`, key))
	require.Equal(t, first, start.Suggestions[0].ID)
	require.Contains(t, start.Suggestions[0].Reason, pin.ID)
	require.Equal(t, before, next(), "a pin at the start holds at the start")
}
