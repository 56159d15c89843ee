package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/server/internal/request"
	mcpserver "waymark/server/mcp"
)

// writer is an io.WriteCloser around a builder.
type writer struct{ lockedBuffer }

func (*writer) Close() error { return nil }

// Whatever is asked before the input ends is still answered: a script may pipe a request in.
func TestPipedRequestIsAnswered(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	ask, _ := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{"context":["fs:read_file"]}`)
	var out writer
	require.NoError(t, mcpserver.Bridge(t.Context(), io.NopCloser(strings.NewReader(ask+"\n")), &out, web.URL+"/mcp", "local-token", request.DefaultWorkspace, ""))
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	assert.Contains(t, out.String(), `"json:parse"`)
}

// The host is told why nothing works, and the program ends with an error.
func TestBridgeTellsWhatIsWrong(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	for _, c := range []struct{ name, endpoint, token, want string }{
		{"wrong token", web.URL + "/mcp", "wrong", "Unauthorized"},
		{"no server", gone.URL + "/mcp", "local-token", "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			in, host := io.Pipe()
			var out writer
			done := make(chan error, 1)
			go func() {
				done <- mcpserver.Bridge(context.WithoutCancel(t.Context()), in, &out, c.endpoint, c.token, "", "")
			}()
			_, err := io.WriteString(host, hello+"\n")
			require.NoError(t, err)
			require.Eventually(t, func() bool { return strings.Contains(out.String(), "\n") }, 2*time.Minute, 5*time.Millisecond)
			assert.Contains(t, out.String(), `"error"`)
			assert.Contains(t, out.String(), c.want)
			if c.name == "wrong token" {
				_ = host.Close()
			}
			select { // without a server it ends by itself
			case err := <-done:
				assert.ErrorContains(t, err, c.want)
			case <-time.After(10 * time.Second):
				t.Fatal("the bridge did not end")
			}
			_ = host.Close()
			goleak.VerifyNone(t, running)
		})
	}
}

// One that leaned on a server ends with it, though its host asks nothing.
func TestBridgeEndsWithItsServer(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	in, host := io.Pipe()
	defer host.Close()
	var out writer
	done := make(chan error, 1)
	go func() {
		done <- mcpserver.Bridge(context.WithoutCancel(t.Context()), in, &out, web.URL+"/mcp", "local-token", request.DefaultWorkspace, "")
	}()
	_, err := io.WriteString(host, hello+"\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "\n") }, 2*time.Minute, 5*time.Millisecond)
	assert.Contains(t, out.String(), `"result"`)
	web.CloseClientConnections()
	web.Close()
	select {
	case err := <-done:
		assert.ErrorContains(t, err, "the waymark process that had the data directory has ended")
	case <-time.After(20 * time.Second):
		t.Fatal("the bridge did not end")
	}
}

// Calls travel side by side: a slow one holds up nobody.
func TestBridgeCarriesCallsSideBySide(t *testing.T) {
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
	client := overPipes(t, "2026-07-28", nil, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return mcpserver.Bridge(ctx, in, out, web.URL+"/mcp", "local-token", request.DefaultWorkspace, "")
	})
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

// The end of the context ends both forms of stdio, though the host keeps its pipe open.
func TestContextEndsStdio(t *testing.T) {
	s := newOffice(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	for name, serve := range map[string]func(context.Context, io.ReadCloser, io.WriteCloser) error{
		"stdio": func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return s.ServeStdio(ctx, in, out, request.DefaultWorkspace, "")
		},
		"bridge": func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return mcpserver.Bridge(ctx, in, out, web.URL+"/mcp", "local-token", request.DefaultWorkspace, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			ctx, cancel := context.WithCancel(t.Context())
			in, host := io.Pipe()
			defer host.Close()
			done := make(chan error, 1)
			go func() { done <- serve(ctx, in, new(writer)) }()
			time.AfterFunc(20*time.Millisecond, cancel)
			select {
			case err := <-done:
				assert.NoError(t, err)
			case <-time.After(5 * time.Second):
				t.Fatal("did not end")
			}
			goleak.VerifyNone(t, running)
		})
	}
}
