package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/live"
	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
	"waymark/suggest"
)

// office is a small catalog and what was done with it.
//
//	fs:read_file ──▶ json:parse ──▶ fs:write_file      (9 times)
//	github:search_issues ──▶ github:get_issue           (5 times, on the way back to json:parse once)
func office(t testing.TB, engine *live.Engine) {
	t.Helper()
	schema := func(properties string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":["path"]}`)
	}
	_, err := engine.PutTools(t.Context(), []catalog.Tool{
		{ID: "fs:read_file", Name: "read_file", Server: "fs", Description: "Read a text file from disk", InputSchema: schema(`"path":{"type":"string"}`)},
		{ID: "fs:write_file", Name: "write_file", Server: "fs", Description: "Write a text file to disk", InputSchema: schema(`"path":{"type":"string"},"text":{"type":"string"}`)},
		{ID: "github:get_issue", Name: "get_issue", Server: "github", Description: "Get one issue by number"},
		{ID: "github:search_issues", Name: "search_issues", Server: "github", Description: "Search issues of a repository by words"},
		{ID: "json:parse", Name: "parse", Server: "json", Description: "Parse JSON text into values"},
		{ID: "slack:get_issue", Name: "get_issue", Server: "slack", Description: "Get the thread of an incident"},
	}, live.Approver)
	require.NoError(t, err)
	_, err = engine.PutCapabilities(t.Context(), []catalog.Capability{
		{ID: "reformat", Description: "Reformat a JSON file", Intent: "reformat a json file", Tools: []string{"fs:read_file", "json:parse", "fs:write_file"}},
	}, live.Approver)
	require.NoError(t, err)
	episodes := []episodic.Episode{}
	add := func(n int, intent string, tools ...string) {
		for i := range n {
			e := episodic.Episode{ID: fmt.Sprintf("%s %d", intent, i), Intent: intent, Outcome: episodic.Success}
			for _, tool := range tools {
				e.Steps = append(e.Steps, episodic.Step{Tool: tool, Outcome: episodic.Success})
			}
			episodes = append(episodes, e)
		}
	}
	add(9, "reformat a json file", "fs:read_file", "json:parse", "fs:write_file")
	add(4, "find the issue about a crash", "github:search_issues", "github:get_issue")
	add(1, "export an issue as json", "github:search_issues", "github:get_issue", "json:parse")
	r, err := engine.Record(t.Context(), "test", episodes)
	require.NoError(t, err)
	require.Equal(t, len(episodes), r.Accepted)
	_, err = engine.Build(t.Context())
	require.NoError(t, err)
}

// unlearned are the options of engines that fit no profile learned: what is served of it is the matter of other tests.
var unlearned = live.Options{Measure: suggest.MeasureOptions{WithoutLearned: true}}

// newOffice is a server with the office in workspace "default".
func newOffice(t testing.TB, adjust ...func(*Config)) *Server {
	t.Helper()
	store := memory(t)
	cfg := Config{Store: store, Workspaces: live.NewWorkspaces(store, unlearned), Version: "test", Access: Access{LocalToken: "local-token"}}
	for _, f := range adjust {
		f(&cfg)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, cfg.Workspaces.Close(ctx))
		assert.NoError(t, store.Close())
	})
	s, err := New(cfg)
	require.NoError(t, err)
	engine, err := cfg.Workspaces.Get(t.Context(), api.DefaultWorkspace)
	require.NoError(t, err)
	office(t, engine)
	return s
}

func defaultEngine(t testing.TB, s *Server) *live.Engine {
	t.Helper()
	engine, err := s.cfg.Workspaces.Get(t.Context(), api.DefaultWorkspace)
	require.NoError(t, err)
	return engine
}

// connect opens a client session and closes it with the test.
func connect(t testing.TB, transport mcp.Transport, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-host", Version: "1"}, o)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func overMemory(t testing.TB, s *Server, o *mcp.ClientOptions) *mcp.ClientSession {
	return inMemory(t, s.mcp.NewServer(api.DefaultWorkspace), api.AllScopes, o)
}

func inMemory(t testing.TB, srv *mcp.Server, scopes api.Scopes, o *mcp.ClientOptions) *mcp.ClientSession {
	near, far := mcp.NewInMemoryTransports()
	ctx := api.With(t.Context(), api.Access{Workspace: api.DefaultWorkspace, Scopes: scopes, Source: "memory"})
	session, err := srv.Connect(ctx, far, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return connect(t, near, "", o)
}

// overHTTP listens on loopback and talks one revision of the protocol.
func overHTTP(revision string) func(testing.TB, *Server, *mcp.ClientOptions) *mcp.ClientSession {
	return func(t testing.TB, s *Server, o *mcp.ClientOptions) *mcp.ClientSession {
		return connect(t, &mcp.StreamableClientTransport{Endpoint: webOf(t, s).url + "/mcp"}, revision, o)
	}
}

// overPipes runs serve between two pipes, and demands that it ends well when the client hangs up.
func overPipes(t testing.TB, revision string, o *mcp.ClientOptions, serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error) *mcp.ClientSession {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(context.WithoutCancel(t.Context()), in, out) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		select {
		case err := <-done:
			assert.NoError(t, err)
		case <-time.After(10 * time.Second):
			t.Error("the server did not end with its input")
		}
	})
	return connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, revision, o)
}

// relayTo is a relay to a server.
func relayTo(url, token, workspace, agent string) func(context.Context, io.ReadCloser, io.WriteCloser) error {
	return func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return mcpserver.Relay(ctx, in, out, func() (mcpserver.Owner, error) { return mcpserver.Owner{Endpoint: url + "/mcp", Token: token}, nil }, workspace, agent)
	}
}

// relayed is a relay to s as it is started for a host.
func relayed(t testing.TB, s *Server) func(context.Context, io.ReadCloser, io.WriteCloser) error {
	return relayTo(webOf(t, s).url, "local-token", api.DefaultWorkspace, "")
}

func overRelay(revision string) func(testing.TB, *Server, *mcp.ClientOptions) *mcp.ClientSession {
	return func(t testing.TB, s *Server, o *mcp.ClientOptions) *mcp.ClientSession {
		return overPipes(t, revision, o, relayed(t, s))
	}
}

// ways reach the tools over each transport, and in each revision of the protocol.
var ways = []struct {
	name string
	open func(testing.TB, *Server, *mcp.ClientOptions) *mcp.ClientSession
}{
	{"memory", overMemory},
	{"http 2025-06-18", overHTTP("2025-06-18")},
	{"http 2026-07-28", overHTTP("2026-07-28")},
	{"stdio 2025-11-25", overRelay("2025-11-25")},
}

// eachWay runs a test over every transport and revision, and looks for goroutines left behind.
func eachWay(t *testing.T, f func(t *testing.T, client *mcp.ClientSession)) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, running) })
			f(t, way.open(t, newOffice(t), nil))
		})
	}
}

func call(t testing.TB, client *mcp.ClientSession, tool string, arguments any) *mcp.CallToolResult {
	t.Helper()
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	return r
}

func textOf(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	text, ok := r.Content[0].(*mcp.TextContent)
	require.True(t, ok)
	return text.Text
}

// answerOf is the structured answer of a call that must succeed.
func answerOf[T any](t testing.TB, r *mcp.CallToolResult) T {
	t.Helper()
	require.False(t, r.IsError, "%v", r.Content)
	data, err := json.Marshal(r.StructuredContent)
	require.NoError(t, err)
	var v T
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// memory is an empty store, closed at the end of the test.
func memory(t testing.TB) *storage.Store {
	store := storage.NewMemory()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
