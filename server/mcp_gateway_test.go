package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/gateway"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
	"waymark/suggest"
)

// frontDesk is another server: what it says of its tools can be changed while it runs.
type frontDesk struct {
	*mcp.Server
	url string
}

func newFrontDesk(t testing.TB) *frontDesk {
	d := &frontDesk{Server: mcp.NewServer(&mcp.Implementation{Name: "desk"}, nil)}
	d.offer("stamp", "Put a stamp on a letter.", true)
	d.offer("shred", "Destroy a letter.", false)
	d.AddTool(&mcp.Tool{Name: "sign", Description: "Sign a letter.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(r.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{RequestState: "letter 7", InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who signs?"}}}, nil
			}
			who := r.Params.InputResponses["who"].(*mcp.ElicitResult).Content["name"]
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s signed by %v", r.Params.RequestState, who)}}}, nil
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return d.Server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	d.url = web.URL
	return d
}

func (d *frontDesk) offer(name, description string, harmless bool) {
	schema := json.RawMessage(`{"type":"object","properties":{"letter":{"type":"string"}},"required":["letter"]}`)
	d.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: schema, OutputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: harmless}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}, StructuredContent: r.Params.Arguments}, nil
		})
}

// engineCatalog puts tools into a workspace.
type engineCatalog struct{ *live.Workspaces }

func (c engineCatalog) PutTools(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) error {
	e, err := c.Open(ctx, api.DefaultWorkspace)
	if err == nil {
		_, err = e.PutToolsWith(ctx, tools, rows)
	}
	return err
}

func (c engineCatalog) RemoveTools(ctx context.Context, ids []string) error {
	e, err := c.Open(ctx, api.DefaultWorkspace)
	for _, id := range ids {
		if err == nil {
			_, err = e.Remove(ctx, catalog.KindTool, id, live.Approver)
		}
	}
	return err
}

// officeWithDesk is the office, connected to a desk.
func officeWithDesk(t testing.TB, adjust func(*Config)) (*Server, *frontDesk) {
	d := newFrontDesk(t)
	return officeBeside(t, d, 3, adjust), d
}

// officeBeside is the office, connected to a desk of which it takes so many tools.
func officeBeside(t testing.TB, d *frontDesk, tools int, adjust func(*Config)) *Server {
	var g *gateway.Gateway
	s := newOffice(t, func(c *Config) {
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Measure: unlearned.Measure, Withheld: func(string) *suggest.Exclusions {
			held := map[string]suggest.Exclusion{}
			for _, w := range g.Withheld() {
				held[w.ID] = suggest.Exclusion{Absent: suggest.AbsentQuarantined, Detail: w.Detail}
			}
			return suggest.NewExclusions(held)
		}})
		var err error
		g, err = gateway.Open(t.Context(), gateway.Options{Table: c.Store.Table(api.DefaultWorkspace), Catalog: engineCatalog{c.Workspaces}, Poll: 20 * time.Millisecond, Settle: 10 * time.Millisecond})
		require.NoError(t, err)
		c.Upstream = mcpserver.Upstream{Gateway: g, Workspace: api.DefaultWorkspace, Reload: func() error { return nil }}
		c.Caller = g
		adjust(c)
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, g.Close(ctx))
	})
	definition := gateway.Definition{ID: "desk", URL: d.url}
	require.NoError(t, g.Agree(t.Context(), "desk", definition.Digest()))
	require.NoError(t, g.Connect([]gateway.Definition{definition}))
	require.Eventually(t, func() bool { return len(g.Tools()) == tools }, 2*time.Minute, time.Millisecond)
	return s
}

func listedNames(t testing.TB, client *mcp.ClientSession) (names []string) {
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// A host that asks while npx still downloads a server learns which servers are not ready.
func TestAnswerNamesServersThatStart(t *testing.T) {
	s, _ := officeWithDesk(t, func(*Config) {})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	client := ways[0].open(t, s, nil)
	assert.Len(t, call(t, client, "find_tool", map[string]any{"query": "stamp"}).Content, 1)

	g := s.cfg.Upstream.Gateway
	slow := gateway.Definition{ID: "slow", URL: "http://" + silent.Addr().String()}
	require.NoError(t, g.Agree(t.Context(), slow.ID, slow.Digest()))
	require.NoError(t, g.Connect([]gateway.Definition{slow}))
	ok, line := serversWell(g.Servers())
	assert.True(t, ok, "the first start has not failed")
	assert.Contains(t, line, "slow is starting")
	content := call(t, client, "find_tool", map[string]any{"query": "walk the dog"}).Content
	require.Len(t, content, 2)
	assert.Contains(t, content[1].(*mcp.TextContent).Text, "servers slow")
}

func TestCallTool(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s, _ := officeWithDesk(t, func(c *Config) { c.Caller = telling{c.Caller} })
			heard := make(chan *mcp.ProgressNotificationParams, 10)
			client := way.open(t, s, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					assert.Equal(t, "Who signs?", r.Params.Message)
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params },
			})
			for _, tool := range []struct {
				name      string
				arguments any
			}{
				{"call_tool", map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": "a"}}},
				{"call_tool", map[string]any{"tool": "mcp__desk__stamp", "arguments": map[string]any{"letter": "a"}}},
				{"desk__stamp", map[string]any{"letter": "a"}},
			} {
				r := call(t, client, tool.name, tool.arguments)
				assert.Equal(t, "done", textOf(t, r))
				assert.Equal(t, map[string]any{"letter": "a"}, answerOf[map[string]any](t, r))
			}
			r := call(t, client, "call_tool", map[string]any{"tool": "desk:sign"})
			assert.Equal(t, "letter 7 signed by Ada", textOf(t, r))

			assert.Empty(t, heard, "nobody gave a token")
			for i, tool := range []string{"call_tool", "desk__stamp"} {
				params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": "a"}, "letter": "a"}}
				if tool == "call_tool" {
					delete(params.Arguments.(map[string]any), "letter")
				}
				params.SetProgressToken(fmt.Sprint("mine-", i))
				_, err := client.CallTool(t.Context(), params)
				require.NoError(t, err)
				select {
				case p := <-heard:
					assert.Equal(t, mcp.ProgressNotificationParams{ProgressToken: fmt.Sprint("mine-", i), Progress: 1, Total: 2, Message: "half of it"}, *p)
				case <-time.After(10 * time.Second):
					t.Error("nothing was heard")
				}
			}

			for _, refused := range []struct{ arguments, says, kind string }{
				{`{"tool":"desk:shred","arguments":{"letter":"a"}}`, "waymark gateway grant desk:shred", "policy"},
				{`{"tool":"desk:stamp"}`, "letter", "argument"},
				{`{"tool":"desk:none"}`, "no tool", "unknown_tool"},
				{`{"tool":"fs:read_file"}`, "no connected server", "unknown_tool"},
			} {
				r := call(t, client, "call_changing_tool", json.RawMessage(refused.arguments))
				assert.True(t, r.IsError)
				assert.Contains(t, textOf(t, r), refused.says)
				assert.Equal(t, refused.kind, r.Meta["io.waymark/failure"])
			}
			assert.Contains(t, textOf(t, call(t, client, "call_tool", map[string]any{"tool": "x", "args": 1})), "args")
			assert.Contains(t, textOf(t, call(t, client, "call_tool", map[string]any{})), "expected required property tool to be present")
		})
	}
}

// telling is a caller whose calls report how far they are.
type telling struct{ run.Caller }

func (c telling) Call(ctx context.Context, call run.Call) (run.Result, error) {
	if call.Progress != nil {
		call.Progress(1, 2, "half\nof it")
	}
	return c.Caller.Call(ctx, call)
}

// A host's replies to a server's question are those to this server's question about this tool.
func TestRequestStateIsSigned(t *testing.T) {
	s, _ := officeWithDesk(t, func(*Config) {})
	client := overHTTP("2026-07-28")(t, s, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}})
	ask := func(state string) *mcp.CallToolResult {
		p := &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "desk:sign"}, RequestState: state}
		if state != "" {
			p.InputResponses = mcp.InputResponseMap{"who": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Eve"}}}
		}
		r, err := client.CallTool(t.Context(), p)
		require.NoError(t, err)
		return r
	}
	first := ask("")
	require.True(t, first.NeedsInput())
	assert.NotContains(t, first.RequestState, "letter 7")
	assert.Equal(t, "letter 7 signed by Eve", textOf(t, ask(first.RequestState)))
	forged := ask("letter 8")
	assert.True(t, forged.IsError)
	assert.Contains(t, textOf(t, forged), "requestState")
}

// A hybrid list holds the tools with most calls when it was made, whatever is called later.
func TestPreload(t *testing.T) {
	s, d := officeWithDesk(t, func(c *Config) { c.Upstream.Mode, c.Upstream.Preload = mcpserver.ModeHybrid, 1 })
	w := webOf(t, s)
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"one","steps":[{"tool":"desk:sign"},{"tool":"desk:sign"},{"tool":"desk:stamp"}]}`).status)
	w.current()
	client := ways[0].open(t, s, nil)
	ofDesk := func() []string {
		return slices.DeleteFunc(listedNames(t, client), func(name string) bool { return !strings.HasPrefix(name, "desk__") })
	}
	assert.Equal(t, []string{"desk__sign"}, ofDesk())
	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"two","steps":[{"tool":"desk:stamp"},{"tool":"desk:stamp"}]}`).status)
	d.offer("more", "One more.", true)
	require.Eventually(t, func() bool { return len(s.cfg.Upstream.Gateway.Withheld()) == 1 }, 2*time.Minute, 5*time.Millisecond)
	assert.Equal(t, []string{"desk__sign"}, ofDesk())
}
