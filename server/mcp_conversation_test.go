package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/server/internal/api"
)

// callers notes the calls that pass on.
type callers struct {
	run.Caller
	mu       sync.Mutex
	sessions []string
	sources  []string
}

func (c *callers) Call(ctx context.Context, call run.Call) (run.Result, error) {
	c.mu.Lock()
	c.sessions, c.sources = append(c.sessions, call.Session), append(c.sources, call.Source)
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
	w := webOf(t, s)
	open := func(name string) *mcp.ClientSession {
		client := &http.Client{Transport: withHeader{api.HeaderConversation, name}}
		return connect(t, &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: client}, "2026-07-28", nil)
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
}

// withHeader adds a header to each request.
type withHeader struct{ key, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if h.value != "" {
		r.Header.Set(h.key, h.value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
