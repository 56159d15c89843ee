package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
)

// writer is an io.WriteCloser around a builder.
type writer struct{ lockedLog }

func (*writer) Close() error { return nil }

// Whatever is asked before the input ends is still answered: a script may pipe a request in.
func TestPipedRequestIsAnswered(t *testing.T) {
	ask, _ := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{"context":["fs:read_file"]}`)
	var out writer
	require.NoError(t, relayed(t, newOffice(t))(t.Context(), io.NopCloser(strings.NewReader(ask+"\n")), &out))
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	assert.Contains(t, out.String(), `"json:parse"`)
}

// While no process owns the data directory the host receives an error with the reason, and may ask again.
func TestRelayTellsWhatIsWrong(t *testing.T) {
	t.Parallel() // it waits for an owner
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	url := newWeb(t).url
	for _, c := range []struct{ name, url, token, want string }{
		{"wrong token", url, "wrong", "Unauthorized"},
		{"no server", gone.URL, "local-token", "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPipeTo(context.WithoutCancel(t.Context()), t, relayTo(c.url, c.token, "", ""))
			p.send(hello)
			p.send(hello)
			for range 2 {
				answer := p.receive()
				assert.Contains(t, answer, `"error"`)
				assert.Contains(t, answer, c.want)
			}
			require.NoError(t, p.in.Close())
			require.NoError(t, p.ended())
		})
	}
}

// Calls travel side by side: a slow one holds up nobody.
func TestRelayCarriesCallsSideBySide(t *testing.T) {
	s := newOffice(t)
	release, entered := make(chan struct{}), make(chan struct{})
	var once sync.Once
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "find_tool" {
			once.Do(func() { close(entered) })
			<-release
		}
		s.Handler().ServeHTTP(w, r)
	})
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	client := overPipes(t, "2026-07-28", nil, relayTo(web.URL, "local-token", api.DefaultWorkspace, ""))
	slow := make(chan bool, 1)
	go func() {
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_tool", Arguments: map[string]any{"query": "read"}})
		slow <- err == nil && !r.IsError
	}()
	<-entered
	assert.False(t, call(t, client, "suggest_next", map[string]any{}).IsError)
	close(release)
	assert.True(t, <-slow)
}

// However many calls of a host wait for its answers to questions, the answers and the end of a call reach the owner, the
// owner has connections left for other windows and commands; beyond a limit calls are refused.
func TestRelayLeavesConnections(t *testing.T) {
	t.Parallel()
	s := newOffice(t, func(c *Config) {
		c.MaxConnections = 512 // of which an address has half
		c.extendMCP = func(*mcp.ServerOptions) func(*mcp.Server) {
			return func(srv *mcp.Server) {
				mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "well?"})
					return &mcp.CallToolResult{}, nil, err
				})
			}
		}
	})
	addr, stop := serve(t, s)
	t.Cleanup(func() { assert.NoError(t, stop()) })
	asked, release := make(chan struct{}, 1024), make(chan struct{})
	client := overPipes(t, "2025-11-25", &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-release
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}, relayTo("http://"+addr, "local-token", api.DefaultWorkspace, ""))
	ctx, cancel := context.WithCancel(t.Context())
	ask := func(ctx context.Context) error {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{}})
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- ask(ctx) }()
	<-asked
	answers := make(chan error, 1023)
	for range cap(answers) {
		go func() {
			err := ask(t.Context())
			for err != nil && strings.Contains(err.Error(), "send this one again") { // a question below had its place for a moment
				time.Sleep(10 * time.Millisecond)
				err = ask(t.Context())
			}
			answers <- err
		}()
	}
	for range 127 {
		<-asked
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		assert.ErrorContains(c, ask(ctx), "1024 calls wait for their answers")
	}, time.Minute, 10*time.Millisecond)
	w := web{Server: s, t: t, url: "http://" + addr}
	assert.Equal(t, http.StatusOK, w.ask("GET", "/v1/stats", "", "Authorization: Bearer local-token").status)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	<-asked // by the call that came in its place
	close(release)
	for range cap(answers) {
		require.NoError(t, <-answers)
	}
}

// A host that writes its calls before it reads is answered.
func TestRelayAnswersAHostThatReadsLate(t *testing.T) {
	t.Parallel()
	const calls = 1000
	p := newPipe(t.Context(), t, newOffice(t))
	p.send(hello)
	p.receive()
	for id := range calls {
		p.send(nextCall(id + 2))
	}
	for range calls {
		assert.Regexp(t, "json:parse|1024 calls wait for their answers", p.receive())
	}
	require.NoError(t, p.in.Close())
	require.NoError(t, p.ended())
}

// When the owner ends in the middle of calls, those that read are answered by the next one. Of the others it is unknown
// what became of them: they fail, and none of them is carried out again.
func TestRelayGoesToTheNextOwner(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			s := newOffice(t)
			arrived := make(chan string, 10)
			owns := func(calls chan string, dies bool) *httptest.Server {
				ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err == nil && bytes.Contains(body, []byte(`"tools/call"`)) {
						calls <- string(body)
						if dies {
							<-r.Context().Done()
							return
						}
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					s.Handler().ServeHTTP(w, r)
				}))
				t.Cleanup(ts.Close)
				return ts
			}
			calls := make(chan string, 10)
			dying, next := owns(arrived, true), owns(calls, false)
			var owner atomic.Pointer[string]
			owner.Store(&dying.URL)
			listed := make(chan struct{}, 10)
			client := overPipes(t, revision, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { listed <- struct{}{} }},
				func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
					return mcpserver.Relay(ctx, in, out, func() (mcpserver.Owner, error) {
						return mcpserver.Owner{Endpoint: *owner.Load() + "/mcp", Token: "local-token"}, nil
					}, api.DefaultWorkspace, "")
				})
			reads, writes := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "suggest_next", Arguments: map[string]any{}})
				reads <- err
			}()
			go func() {
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "rebuild", Arguments: map[string]any{}})
				writes <- err
			}()
			<-arrived
			<-arrived
			owner.Store(&next.URL)
			require.NoError(t, dying.Listener.Close())
			dying.CloseClientConnections()
			require.NoError(t, <-reads)
			require.ErrorContains(t, <-writes, "ask again if doing it twice does no harm")
			require.Contains(t, <-calls, `"suggest_next"`)
			require.Empty(t, calls)
			if revision == "2025-11-25" {
				<-listed
			}
			assert.False(t, call(t, client, "find_tool", map[string]any{"query": "read"}).IsError)
		})
	}
}

// An episode that is recorded again through another owner is the same one, though the MCP session is another.
func TestRelayRecordsOnce(t *testing.T) {
	s := newOffice(t)
	for _, want := range []string{"Recorded 1 step as", "was recorded before; nothing changed."} {
		client := overRelay("2025-11-25")(t, s, nil)
		said := textOf(t, call(t, client, "record_episode", map[string]any{"id": "e", "steps": []any{map[string]any{"tool": "fs:read_file"}}}))
		assert.Contains(t, said, want)
	}
}

// The end of the context ends a relay, though the host keeps its pipe open.
func TestContextEndsRelay(t *testing.T) {
	relay := relayed(t, newOffice(t))
	running := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	in, host := io.Pipe()
	defer host.Close()
	done := make(chan error, 1)
	go func() { done <- relay(ctx, in, new(writer)) }()
	cancel()
	require.NoError(t, <-done)
	goleak.VerifyNone(t, running)
}
