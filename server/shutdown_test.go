package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
	"waymark/suggest"
)

// serve starts Serve on a loopback port and returns its address and a way to stop it.
func serve(t testing.TB, s *Server) (addr string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	return ln.Addr().String(), sync.OnceValue(func() error { cancel(); return <-done })
}

// Shutdown waits for a request that ends in time, cancels one that obeys its context, and cuts off
// one that obeys nothing; new requests are refused from its beginning.
func TestShutdown(t *testing.T) {
	newHanging := func(drain time.Duration, hang func(context.Context, *Server)) (*Server, string, func() error, chan struct{}) {
		server := newOffice(t, func(c *Config) { c.Drain = drain })
		entered := make(chan struct{})
		api.Add(web{Server: server, t: t}.testAPI(), api.Rule{Scope: api.ScopeRead, Stream: true}, testOperation("hang", "/v1/test/hang"),
			func(ctx context.Context, _ *struct{}) (s suggest.Stats, err error) {
				close(entered)
				hang(ctx, server)
				return s, nil
			})
		addr, stop := serve(t, server)
		return server, addr, stop, entered
	}
	get := func(addr string) <-chan error {
		out := make(chan error, 1)
		go func() {
			resp, err := http.Get("http://" + addr + "/v1/test/hang")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != 200 {
					err = errors.New(resp.Status)
				}
			}
			out <- err
		}()
		return out
	}

	t.Run("in time", func(t *testing.T) {
		s, addr, stop, entered := newHanging(time.Hour, func(ctx context.Context, s *Server) { <-s.draining })
		answer := get(addr)
		<-entered
		require.NoError(t, stop())
		assert.NoError(t, <-answer)
		assert.True(t, s.isDraining())
		_, err := net.DialTimeout("tcp", addr, time.Second)
		assert.Error(t, err, "nothing listens any more")
	})
	t.Run("cancelled", func(t *testing.T) {
		_, addr, stop, entered := newHanging(time.Second, func(ctx context.Context, _ *Server) { <-ctx.Done() })
		answer := get(addr)
		<-entered
		require.NoError(t, stop())
		assert.NoError(t, <-answer, "the handler had its time to answer, and was not cut off")
	})
	t.Run("cut off", func(t *testing.T) {
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		_, addr, stop, entered := newHanging(50*time.Millisecond, func(context.Context, *Server) { <-never })
		answer := get(addr)
		<-entered
		require.NoError(t, stop())
		assert.Error(t, <-answer)
	})
	t.Run("readiness", func(t *testing.T) {
		w := newWeb(t)
		assert.Equal(t, 200, w.ask("GET", "/readyz", "").status)
		w.drainOnce.Do(func() { close(w.draining) })
		requireProblem(t, 503, "shutting down", w.ask("GET", "/readyz", ""))
		assert.Equal(t, 200, w.ask("GET", "/healthz", "").status)
	})
}

// Clients that only listen do not hold up a shutdown.
func TestShutdownEndsListeners(t *testing.T) {
	s := newOffice(t, func(c *Config) { c.Drain = time.Hour })
	addr, stop := serve(t, s)
	w := web{Server: s, t: t, url: "http://" + addr}
	req, err := http.NewRequest(http.MethodGet, w.url+"/mcp", nil)
	require.NoError(t, err)
	for _, h := range append(ofSession(w.mcp(hello)), "Accept: text/event-stream") {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	stream, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	require.NoError(t, stop())
	_, _ = io.Copy(io.Discard, stream.Body) // it has ended
}
