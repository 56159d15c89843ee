package server

import (
	"bytes"
	"context"
	"encoding/json"
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

	"waymark/live"
	"waymark/server/internal/request"
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

// tools/list is the same bytes whatever the catalog holds and whichever server answers.
func TestToolsListIsByteStable(t *testing.T) {
	body, header := modern("tools/list", "", "")
	var lists []string
	for range 2 {
		s := newOffice(t)
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		for range 2 {
			resp, list := post(t, web.Client(), web.URL+"/mcp", body, header)
			require.Equal(t, http.StatusOK, resp.StatusCode, list)
			lists = append(lists, list)
			call(t, overMemory(t, s, nil), "record_episode", map[string]any{"id": "x", "steps": []any{map[string]any{"tool": "new:tool"}}})
		}
	}
	assert.Contains(t, lists[0], `"name":"suggest_next"`)
	for _, list := range lists[1:] {
		assert.Equal(t, lists[0], list)
	}
}

// One address, both lives of the protocol: only the old one has sessions.
func TestBothLives(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	resp, body := post(t, web.Client(), web.URL+"/mcp", hello, nil)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	assert.NotEmpty(t, resp.Header.Get("Mcp-Session-Id"))
	assert.Contains(t, body, `"protocolVersion":"2025-11-25"`)
	assert.Contains(t, body, "call suggest_next with the ids")

	ask, header := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{"context":["fs:read_file"]}`)
	resp, body = post(t, web.Client(), web.URL+"/mcp", ask, header)
	assert.Equal(t, http.StatusOK, resp.StatusCode, body)
	assert.Empty(t, resp.Header.Get("Mcp-Session-Id"))
	assert.Contains(t, body, `"json:parse"`)

	header["Mcp-Name"] = "find_tool" // the header must agree with the body
	resp, _ = post(t, web.Client(), web.URL+"/mcp", ask, header)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	header["Mcp-Name"], header["Mcp-Protocol-Version"] = "suggest_next", "2099-01-01"
	resp, _ = post(t, web.Client(), web.URL+"/mcp", ask, header)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
}

// letters embeds a text as how often it has each of eight letters.
type letters struct{}

func (letters) Model() string { return "letters" }

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		for _, c := range "aeiorsnt" {
			out[i] = append(out[i], float32(1+strings.Count(text, string(c))))
		}
	}
	return out, nil
}

// The same question has the same answer over HTTP and MCP, with an embeddings endpoint too.
func TestSameAnswerAsHTTP(t *testing.T) {
	for _, embedder := range []live.Embedder{nil, letters{}} {
		s := newOffice(t, func(c *Config) {
			c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Embedder: embedder})
		})
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		client := overMemory(t, s, nil)
		for _, c := range []struct{ tool, route, question string }{
			{"suggest_next", "/v1/next", `{"context":["fs:read_file"],"intent":"change a file","explain":true}`},
			{"suggest_next", "/v1/next", `{"explain":true}`},
			{"suggest_dag", "/v1/dag", `{"intent":"rewrite the settings file","explain":true}`},
		} {
			resp, want := post(t, web.Client(), web.URL+c.route, c.question, nil)
			require.Equal(t, http.StatusOK, resp.StatusCode, want)
			got := answerOf[map[string]any](t, call(t, client, c.tool, json.RawMessage(c.question)))
			delete(got, "message")
			assert.JSONEq(t, want, canonical(t, got), "%s %s", c.tool, c.question)
		}
	}
}

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
	assert.Contains(t, answer, "The model was rebuilt")
	assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	resp, answer = post(t, http.DefaultClient, w.url+"/mcp", `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`, session)
	assert.Equal(t, "application/json", resp.Header.Get("Content-Type"), "an answer alone is no stream")
	assert.True(t, json.Valid([]byte(answer)))
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
	key := func(workspace string, set request.Scopes) (id, token string) {
		info, token, err := s.createKey(t.Context(), "test", workspace, set, "")
		require.NoError(t, err)
		return info.ID, token
	}
	resp, _ := post(t, web.Client(), url, hello, nil)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	idA, a := key(request.DefaultWorkspace, request.ScopeRead)
	_, b := key("other", request.ScopeRead|request.ScopeWrite)

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
	require.NoError(t, s.keys().Revoke(t.Context(), idA))
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

func BenchmarkSuggestNextHTTP(b *testing.B) {
	s := newOffice(b, func(c *Config) { c.Rate = -1 })
	web := httptest.NewServer(s.Handler())
	b.Cleanup(web.Close)
	body, header := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{"context":["fs:read_file"]}`)
	for _, c := range []struct {
		name string
		run  func(b *testing.B)
	}{
		{"life=stateless", func(b *testing.B) {
			for b.Loop() {
				req, _ := http.NewRequest(http.MethodPost, web.URL+"/mcp", bytes.NewReader([]byte(body)))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", "application/json, text/event-stream")
				for k, v := range header {
					req.Header.Set(k, v)
				}
				resp, err := web.Client().Do(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					b.Fatal(resp.Status)
				}
			}
		}},
		{"life=session", func(b *testing.B) {
			client := connect(b, &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: web.Client()}, "2025-11-25", nil)
			for b.Loop() {
				call(b, client, "suggest_next", map[string]any{"context": []string{"fs:read_file"}})
			}
		}},
		{"life=memory", func(b *testing.B) {
			client := overMemory(b, s, nil)
			for b.Loop() {
				call(b, client, "suggest_next", map[string]any{"context": []string{"fs:read_file"}})
			}
		}},
	} {
		b.Run(c.name, c.run)
	}
}

// A message that nothing here answers gets a JSON-RPC error, or is ignored if it is a notification; the session goes on.
func TestMessagesThatNothingAnswers(t *testing.T) {
	w := newWeb(t)
	resp, _ := post(t, http.DefaultClient, w.url+"/mcp", hello, nil)
	session := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	post(t, http.DefaultClient, w.url+"/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	for _, row := range []struct {
		message string
		status  int
		want    string
	}{
		{`{"jsonrpc":"2.0","id":"x","method":"nope"}`, 200, `{"error":{"code":-32601,"message":"method \"nope\" not found"},"id":"x","jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 200, `{"error":{"code":-32602,"message":"invalid request: missing required \"params\""},"id":7,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","method":"notifications/unheard"}`, 202, ""},
	} {
		resp, body := post(t, http.DefaultClient, w.url+"/mcp", row.message, session)
		assert.Equal(t, row.status, resp.StatusCode, row.message)
		assert.Equal(t, row.want, strings.TrimSpace(body), row.message)
	}
	resp, _ = post(t, http.DefaultClient, w.url+"/mcp", `no message`, session)
	assert.Equal(t, 400, resp.StatusCode)
	_, body := post(t, http.DefaultClient, w.url+"/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, session)
	assert.Contains(t, body, "find_tool")
}
