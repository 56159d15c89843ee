package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/live"
	"waymark/suggest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line that is no message is answered as JSON-RPC has it, and the session goes on.
func TestABadFrameDoesNotEndTheSession(t *testing.T) {
	p := newPipe(t.Context(), t, newOffice(t))
	ask := func(line string) (m map[string]any) {
		p.send(line)
		require.NoError(t, json.Unmarshal([]byte(p.receive()), &m))
		return m
	}
	code := func(m map[string]any) any { return m["error"].(map[string]any)["code"] }
	for line, want := range map[string]float64{
		"hello": -32700, "{\"jsonrpc\":\"2.0\"": -32700, "{} {}": -32700, "\xff\xfe": -32700,
		"5": -32600, "[ ]": -32600, `{"jsonrpc":"1.0","id":7,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":1,"Method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`: -32700, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}": -32700,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_tool","arguments":{"query":"a","query":"b"}}}`: -32700,
		`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 4<<20) + `"}`: -32600,
	} {
		assert.Equal(t, want, code(ask(line)), "%.60q", line)
	}
	assert.Equal(t, 7.0, ask(`{"jsonrpc":"1.0","id":7,"method":"ping"}`)["id"])
	assert.Equal(t, 8.0, ask(`{"jsonrpc":"2.0","id":8,"method":"ping","method":"tools/list"}`)["id"], "whoever sent it does not wait for an answer")
	assert.Nil(t, ask(`{"jsonrpc":"2.0","id":8,"id":9,"method":"ping"}`)["id"], "which of the two is unknown")
	assert.NotNil(t, ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)["error"], "before the handshake")
	m := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	assert.NotNil(t, m["result"], "%v", m)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	m = ask(`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	assert.Equal(t, -32600.0, code(m), "no batches in this revision: %v", m)
	assert.NotNil(t, ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)["result"])
	require.NoError(t, p.in.Close())
	require.NoError(t, p.ended())
}

// pipe is a relay with a host on the other end.
type pipe struct {
	t       *testing.T
	in      *io.PipeWriter
	answers *bufio.Scanner
	done    chan error
}

func newPipe(ctx context.Context, t *testing.T, s *Server) *pipe {
	return newPipeTo(ctx, t, relayed(t, s))
}

func newPipeTo(ctx context.Context, t *testing.T, relay func(context.Context, io.ReadCloser, io.WriteCloser) error) *pipe {
	hostIn, serverOut := io.Pipe()
	serverIn, hostOut := io.Pipe()
	p := &pipe{t, hostOut, bufio.NewScanner(hostIn), make(chan error, 1)}
	p.answers.Buffer(nil, 1<<20)
	t.Cleanup(func() { hostIn.Close(); hostOut.Close() })
	go func() { p.done <- relay(ctx, serverIn, serverOut) }()
	return p
}

func (p *pipe) send(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
}

func (p *pipe) receive() string {
	p.t.Helper()
	require.True(p.t, p.answers.Scan(), "no answer: %v", p.answers.Err())
	return p.answers.Text()
}

func (p *pipe) ended() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(time.Minute):
		require.Fail(p.t, "the session does not end")
		return nil
	}
}

// slowAnswers makes questions wait for release, whatever becomes of their requests; asked has a token for each.
func slowAnswers(t testing.TB) (adjust func(*Config), asked chan struct{}, release func()) {
	asked = make(chan struct{}, 1000)
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	return func(c *Config) {
		t.Cleanup(release)
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Measure: unlearned.Measure, Withheld: func(string) *suggest.Exclusions {
			asked <- struct{}{}
			<-gate
			return nil
		}})
	}, asked, release
}

// A call in flight when the process receives a signal to stop is answered, and a later one is refused.
func TestPipeAtShutdown(t *testing.T) {
	adjust, asked, release := slowAnswers(t)
	s := newOffice(t, adjust)
	ctx, shutdown := context.WithCancel(t.Context())
	defer shutdown()
	p := newPipe(ctx, t, s)
	p.send(hello)
	p.receive()
	p.send(nextCall(2))
	<-asked
	shutdown()
	refused := make(chan struct{})
	go func() {
		for id := 3; ; id++ { // the signal and the line come at once
			select {
			case <-refused:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if _, err := io.WriteString(p.in, nextCall(id)+"\n"); err != nil {
				return
			}
		}
	}()
	assert.Contains(t, p.receive(), "shutting down")
	close(refused)
	release()
	var finished strings.Builder
	for p.answers.Scan() {
		finished.WriteString(p.answers.Text() + "\n")
	}
	assert.Regexp(t, `(?m)^.*"id":2,.*structuredContent.*$|^.*structuredContent.*"id":2.*$`, finished.String())
	require.NoError(t, p.ended())
}

// A question after an episode counts it, though both come at once.
func TestPipeKeepsTheOrderOfEpisodes(t *testing.T) {
	p := newPipe(t.Context(), t, newOffice(t))
	p.send(hello)
	p.receive()
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"record_episode","arguments":{"steps":[{"tool":"fs:read_file"},{"tool":"new:tool"}]}}}` +
		"\n" + nextCall(3))
	assert.Contains(t, p.receive(), "Recorded 2 steps")
	assert.Contains(t, p.receive(), "new:tool")
	require.NoError(t, p.in.Close())
	require.NoError(t, p.ended())
}

// A question to the host fails when its input ends: no answer can follow.
func TestPipeEndsWithAQuestionOpen(t *testing.T) {
	p := newPipe(t.Context(), t, newOffice(t, func(c *Config) {
		c.extendMCP = func(*mcp.ServerOptions) func(*mcp.Server) {
			return func(srv *mcp.Server) {
				mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "well?"})
					return nil, nil, err
				})
			}
		}
	}))
	p.send(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	p.receive()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	assert.Contains(t, p.receive(), "elicitation/create")
	require.NoError(t, p.in.Close())
	assert.Contains(t, p.receive(), "closed its end")
	require.NoError(t, p.ended())
}

// A call that does not end after shutdown began does not keep the process.
func TestPipeAtShutdownWithoutEnd(t *testing.T) {
	t.Parallel()
	adjust, asked, release := slowAnswers(t)
	s := newOffice(t, adjust)
	ctx, shutdown := context.WithCancel(t.Context())
	p := newPipe(ctx, t, s)
	p.send(hello)
	p.receive()
	p.send(nextCall(2))
	<-asked
	shutdown()
	_ = p.ended()
	release()
}

func nextCall(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"suggest_next","arguments":{"context":["fs:read_file"]}}}`, id)
}
