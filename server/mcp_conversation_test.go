package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/server/internal/request"
)

// callers notes the sessions of the calls that pass on.
type callers struct {
	run.Caller
	mu       sync.Mutex
	sessions []string
	hostIDs  []string
}

func (c *callers) Call(ctx context.Context, call run.Call) (run.Result, error) {
	c.mu.Lock()
	c.sessions, c.hostIDs = append(c.sessions, call.Session), append(c.hostIDs, call.HostID)
	c.mu.Unlock()
	return c.Caller.Call(ctx, call)
}

func officeWithCallers(t testing.TB) (*Server, *callers) {
	c := &callers{}
	s, _ := officeWithDesk(t, func(cfg *Config) { c.Caller, cfg.Caller = cfg.Caller, c })
	return s, c
}

func stamp(t testing.TB, client *mcp.ClientSession, meta mcp.Meta) {
	t.Helper()
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "call_tool", Arguments: map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": "to Ada"}}})
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r.Content)
}

// Two hosts of one name and credential are two conversations wherever anything tells them apart.
func TestConversations(t *testing.T) {
	for _, way := range ways[1:] {
		t.Run(way.name, func(t *testing.T) {
			s, c := officeWithCallers(t)
			one, other := way.open(t, s, nil), way.open(t, s, nil)
			stamp(t, one, nil)
			stamp(t, other, nil)
			stamp(t, one, nil)
			require.Len(t, c.sessions, 3)
			assert.Equal(t, c.sessions[0], c.sessions[2])
			if way.name == "http 2026-07-28" { // nothing does
				assert.Equal(t, []string{"test-host at 127.0.0.1", "test-host at 127.0.0.1"}, c.sessions[:2])
				return
			}
			assert.NotEqual(t, c.sessions[0], c.sessions[1])
			assert.NotContains(t, c.sessions, "")
		})
	}
}

// A request without a session names its conversation in the ways hosts do, or by the header.
func TestNamedConversations(t *testing.T) {
	s, c := officeWithCallers(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	open := func(name string) *mcp.ClientSession {
		client := &http.Client{Transport: withHeader{web.Client().Transport, request.HeaderConversation, name}}
		return connect(t, &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: client}, "2026-07-28", nil)
	}
	plain, headed := open(""), open("talk-1")
	for _, meta := range []mcp.Meta{{"threadId": "t1"}, {"openai/session": "o1"}, {"ai.opencode/sessionID": "p1"}, {"antigravity.google/conversation_id": "g1"}, {"claudecode/toolUseId": "toolu_1"}} {
		stamp(t, plain, meta)
	}
	stamp(t, headed, nil)
	stamp(t, headed, mcp.Meta{"threadId": "a name\nin lines"})
	stamp(t, headed, mcp.Meta{"threadId": strings.Repeat("x", 4096)})
	assert.Equal(t, []string{"t1", "o1", "p1", "g1", "test-host at 127.0.0.1", "talk-1"}, c.sessions[:6])
	assert.Len(t, c.sessions[6], 32)
	assert.Len(t, c.sessions[7], 32)
	assert.Equal(t, []string{"", "", "", "", "toolu_1", "", "", ""}, c.hostIDs)
}

// Hosts of one name without sessions are told apart by their connections, and calls that one of them makes at once, over
// several connections, stay together.
func TestHostsOfOneName(t *testing.T) {
	s, c := officeWithCallers(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	t.Cleanup(func() { stop(); assert.NoError(t, <-served) })
	open := func() *mcp.ClientSession {
		pool := &http.Transport{MaxIdleConnsPerHost: 8}
		t.Cleanup(pool.CloseIdleConnections)
		return connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + ln.Addr().String() + "/mcp", HTTPClient: &http.Client{Transport: pool}}, "2026-07-28", nil)
	}
	stampNext := func(host *mcp.ClientSession) string {
		stamp(t, host, nil)
		return c.sessions[len(c.sessions)-1]
	}
	const first, second = "test-host at 127.0.0.1", "test-host at 127.0.0.1 #2"
	one := open()
	for range 10 {
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				_, err := one.CallTool(ctx, &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": "to Ada"}}})
				assert.NoError(t, err)
			})
		}
		calls.Wait()
		require.Equal(t, first, stampNext(one))
	}
	for _, session := range c.sessions {
		require.Equal(t, first, session)
	}
	var other *mcp.ClientSession
	require.Eventually(t, func() bool { // until the connections of the first have been idle for a second
		time.Sleep(300 * time.Millisecond)
		other = open()
		return stampNext(other) == second
	}, time.Minute, time.Millisecond)
	for range 3 {
		assert.Equal(t, first, stampNext(one))
		assert.Equal(t, second, stampNext(other))
	}
}

// withHeader adds a header to each request.
type withHeader struct {
	http.RoundTripper
	key, value string
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if h.value != "" {
		r.Header.Set(h.key, h.value)
	}
	return h.RoundTripper.RoundTrip(r)
}
