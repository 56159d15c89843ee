package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// mcp sends one JSON-RPC message.
func (w web) mcp(body string, header ...string) reply {
	w.t.Helper()
	return w.ask("POST", "/mcp", body, append(header, "Accept: application/json, text/event-stream")...)
}

// A stateless request of revision 2026-07-28, by hand.
func modern(method, name string, params string) (body string, header []string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"by-hand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		params += ","
	}
	header = []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		header = append(header, "Mcp-Name: "+name)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta), header
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"by-hand","version":"1"}}}`

// ofSession are the headers of a session that an answer began.
func ofSession(r reply) []string {
	return []string{"Mcp-Session-Id: " + r.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version: 2025-11-25"}
}

// A client that has not opened the stream of its session (GET) hears of progress all the same: it comes with the
// answer.
func TestProgressComesWithTheAnswer(t *testing.T) {
	w := newWeb(t)
	session := ofSession(w.mcp(hello))
	w.mcp(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...)
	r := w.mcp(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rebuild","arguments":{},"_meta":{"progressToken":"mine"}}}`, session...)
	assert.Contains(t, r.body, `"method":"notifications/progress"`)
	assert.Contains(t, r.body, `"progressToken":"mine"`)
	assert.Contains(t, r.body, "rebuilt in ")
	assert.Equal(t, "text/event-stream", r.header.Get("Content-Type"))
}

// The workspace, the scopes and the source come from the key of each request; a session cannot be
// taken over with another key, and dies with its own.
func TestKeysDecide(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	key := func(workspace string, set api.Scopes) (id, token string) {
		info, token, err := w.createKey(t.Context(), "test", workspace, set, "")
		require.NoError(t, err)
		return info.ID, token
	}
	assert.Equal(t, 401, w.mcp(hello).status)
	idA, a := key(api.DefaultWorkspace, api.ScopeRead)
	_, b := key("other", api.ScopeRead|api.ScopeWrite)

	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		open := func(token string) *mcp.ClientSession {
			client := &http.Client{Transport: withHeader{"Authorization", "Bearer " + token}}
			return connect(t, &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: client}, revision, nil)
		}
		reader, other := open(a), open(b)
		describe := map[string]any{"ids": []string{"fs:read_file"}}
		assert.False(t, call(t, reader, "describe_tool", describe).IsError)
		assert.Contains(t, textOf(t, call(t, other, "describe_tool", describe)), "unknown tool")
		assert.True(t, call(t, reader, "record_episode", map[string]any{"steps": []any{map[string]any{"tool": "x"}}}).IsError)
		assert.False(t, call(t, other, "record_episode", map[string]any{"steps": []any{map[string]any{"tool": "x"}}}).IsError)
	}

	session := ofSession(w.mcp(hello, bearerOf(a)))
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	with := func(token string) []string { return append(session, bearerOf(token)) }
	w.mcp(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, with(a)...)
	assert.Equal(t, 200, w.mcp(list, with(a)...).status)
	assert.Equal(t, 403, w.mcp(list, with(b)...).status)
	require.NoError(t, w.keys().Delete(t.Context(), keyRow+idA))
	assert.Equal(t, 401, w.mcp(list, with(a)...).status)
}
