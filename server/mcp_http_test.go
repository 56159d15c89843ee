package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// post sends one JSON-RPC message and returns the answer as it is.
func post(t testing.TB, client *http.Client, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(data)
}

// A stateless request of revision 2026-07-28, by hand.
func modern(method, name string, params string) (body string, header map[string]string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"by-hand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		params += ","
	}
	header = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		header["Mcp-Name"] = name
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta), header
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"by-hand","version":"1"}}}`

// A client that has not opened the stream of its session (GET) hears of progress all the same: it comes with the
// answer.
func TestProgressComesWithTheAnswer(t *testing.T) {
	w := newWeb(t)
	resp, _ := post(t, http.DefaultClient, w.url+"/mcp", hello, nil)
	session := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	post(t, http.DefaultClient, w.url+"/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	resp, answer := post(t, http.DefaultClient, w.url+"/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rebuild","arguments":{},"_meta":{"progressToken":"mine"}}}`, session)
	assert.Contains(t, answer, `"method":"notifications/progress"`)
	assert.Contains(t, answer, `"progressToken":"mine"`)
	assert.Contains(t, answer, "rebuilt in ")
	assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
}

// A page in a browser cannot talk to the server of whoever looks at it.
func TestForeignOriginIsRefused(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	ask, header := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{}`)
	for _, c := range []struct {
		body   string
		header map[string]string
	}{{hello, map[string]string{}}, {ask, header}} {
		c.header["Origin"] = "http://evil.example"
		resp, body := post(t, web.Client(), web.URL+"/mcp", c.body, c.header)
		assert.Equal(t, http.StatusForbidden, resp.StatusCode, body)
		assert.NotContains(t, body, "jsonrpc")
	}
}

// bearer adds a credential to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// The workspace, the scopes and the source come from the key of each request; a session cannot be
// taken over with another key, and dies with its own.
func TestKeysDecide(t *testing.T) {
	s := newOffice(t, func(c *Config) { c.RequireKey = true })
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	url := web.URL + "/mcp"
	key := func(workspace string, set api.Scopes) (id, token string) {
		info, token, err := s.createKey(t.Context(), "test", workspace, set, "")
		require.NoError(t, err)
		return info.ID, token
	}
	resp, _ := post(t, web.Client(), url, hello, nil)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	idA, a := key(api.DefaultWorkspace, api.ScopeRead)
	_, b := key("other", api.ScopeRead|api.ScopeWrite)

	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		open := func(token string) *mcp.ClientSession {
			client := &http.Client{Transport: bearer{token, http.DefaultTransport}}
			return connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client}, revision, nil)
		}
		reader, other := open(a), open(b)
		describe := map[string]any{"ids": []string{"fs:read_file"}}
		assert.False(t, call(t, reader, "describe_tool", describe).IsError)
		assert.Contains(t, textOf(t, call(t, other, "describe_tool", describe)), "unknown tool")
		assert.True(t, call(t, reader, "record_episode", map[string]any{"steps": []any{map[string]any{"tool": "x"}}}).IsError)
		assert.False(t, call(t, other, "record_episode", map[string]any{"steps": []any{map[string]any{"tool": "x"}}}).IsError)
	}

	resp, _ = post(t, web.Client(), url, hello, map[string]string{"Authorization": "Bearer " + a})
	session := resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	with := func(token string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
	}
	post(t, web.Client(), url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with(a))
	resp, _ = post(t, web.Client(), url, list, with(a))
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	resp, _ = post(t, web.Client(), url, list, with(b))
	assert.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.NoError(t, s.keys().Delete(t.Context(), keyRow+idA))
	resp, _ = post(t, web.Client(), url, list, with(a))
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
}

// Clients that only listen do not hold up a shutdown.
func TestShutdownEndsListeners(t *testing.T) {
	s := newOffice(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	url := "http://" + ln.Addr().String() + "/mcp"
	resp, _ := post(t, http.DefaultClient, url, hello, nil)
	session := resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	for k, v := range map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"} {
		req.Header.Set(k, v)
	}
	stream, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("the shutdown waits for a listener")
	}
	_, _ = io.Copy(io.Discard, stream.Body) // it has ended
}

// A body beyond the limit is refused while it is read.
func TestLargeMessageIsRefused(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	body, header := modern("tools/call", "find_tool", `"name":"find_tool","arguments":{"query":"`+strings.Repeat("x", 2<<20)+`"}`)
	resp, _ := post(t, web.Client(), web.URL+"/mcp", body, header)
	assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}
