package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/endpoint"
	"waymark/run"
)

// overHTTP is a server of ours at an address; tamper may answer a request in its place.
func overHTTP(t *testing.T, o mcp.StreamableHTTPOptions, tamper func(http.ResponseWriter, *http.Request, string) bool) Definition {
	s := goodServer()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &o)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if tamper == nil || !tamper(w, r, string(body)) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { closeHTTP(srv, s) })
	return Definition{ID: "web", URL: srv.URL, Headers: map[string]string{"Authorization": "Bearer ${WEB_TOKEN}"}}
}

// closeHTTP ends a server of the test with its sessions: a client that was cut off has sent no DELETE for its own.
func closeHTTP(web *httptest.Server, s *mcp.Server) {
	web.CloseClientConnections()
	web.Close()
	for session := range s.Sessions() {
		_ = session.Close()
	}
}

func TestOverHTTP(t *testing.T) {
	t.Setenv("WEB_TOKEN", "t0ken")
	for name, o := range map[string]mcp.StreamableHTTPOptions{"sessions": {}, "sessions, JSON": {JSONResponse: true}, "stateless": {Stateless: true}, "stateless, JSON": {Stateless: true, JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			var unsigned atomic.Int32
			d := overHTTP(t, o, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
				if r.Header.Get("Authorization") != "Bearer t0ken" {
					unsigned.Add(1)
				}
				return false
			})
			g := open(t, quick(t))
			connect(t, g, d)
			ready(t, g, "web")
			assert.Equal(t, "http", server(g, "web").Transport)
			r := call(t, g, "web:echo", `{"text":"hello"}`)
			assert.Empty(t, r.Failure, r.Message)
			assert.JSONEq(t, `{"text":"hello"}`, string(r.Structured))
			assert.Empty(t, r.Unvalidated)
			r = call(t, g, "web:fail", `{"text":"no"}`)
			assert.Equal(t, run.FailedTool, r.Failure)
			assert.Zero(t, unsigned.Load())
		})
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Setenv("WEB_TOKEN", "t0ken")
	isCall := func(body string) bool { return strings.Contains(body, `"tools/call"`) }
	for _, tt := range []struct {
		name    string
		answer  func(http.ResponseWriter)
		failure run.Failure
		message string
	}{
		{"refused", func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, run.FailedAuth, "HTTP 401"},
		{"busy", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, run.FailedUnavailable, "HTTP 429"},
		{"broken", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, run.FailedUnavailable, "HTTP 502"},
		{"huge", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
			x := strings.Repeat("x", 1<<20)
			for range 20 {
				if _, err := io.WriteString(w, x); err != nil {
					return
				}
			}
		}, run.FailedTool, "longer than 1048576 bytes"},
		{"no JSON", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `<html>`)
		}, run.FailedUnavailable, ""},
		{"elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/steal")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, run.FailedUnavailable, ""},
		{"slow", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			for range 100 {
				_, _ = io.WriteString(w, ` `)
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, run.FailedTimeout, "no answer within 500ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var well atomic.Bool
			d := overHTTP(t, mcp.StreamableHTTPOptions{}, func(w http.ResponseWriter, _ *http.Request, body string) bool {
				if !isCall(body) || well.Load() {
					return false
				}
				tt.answer(w)
				return true
			})
			o := quick(t)
			if tt.failure == run.FailedTimeout {
				o.CallTimeout = 500 * time.Millisecond
			}
			g := open(t, o)
			connect(t, g, d)
			ready(t, g, "web")
			r := call(t, g, "web:echo", `{"text":"x"}`)
			assert.Equal(t, tt.failure, r.Failure, r.Message)
			assert.Contains(t, r.Message, tt.message)
			well.Store(true)
			require.Eventually(t, func() bool { return call(t, g, "web:echo", `{"text":"x"}`).Failure == "" }, 2*time.Minute, 5*time.Millisecond, "it is well again")
		})
	}
}

func TestUnreachableServer(t *testing.T) {
	g := open(t, quick(t))
	connect(t, g, Definition{ID: "web", URL: "http://127.0.0.1:1/mcp"})
	require.Eventually(t, func() bool { return server(g, "web").State == Waiting }, 2*time.Minute, time.Millisecond)
	assert.Contains(t, call(t, g, "web:echo", `{}`).Message, "refused")
}

// Waymark does not connect to a Waymark, under whatever address it finds one.
func TestItself(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "waymark", Version: "1"}, nil)
	for name, o := range map[string]mcp.StreamableHTTPOptions{"sessions": {}, "stateless": {Stateless: true}} {
		srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &o))
		t.Cleanup(func() { closeHTTP(srv, s) })
		g := open(t, quick(t))
		connect(t, g, Definition{ID: "web", URL: srv.URL})
		require.Eventually(t, func() bool { return server(g, "web").Problem != "" }, 2*time.Minute, time.Millisecond, name)
		assert.Contains(t, server(g, "web").Problem, "the server is Waymark", name)
	}
}

// An address is looked at when it is dialled: a name may lead anywhere.
func TestReservedAddressesAreNotDialled(t *testing.T) {
	way := new(Definition).reach(time.Second)
	for _, address := range []string{"169.254.169.254:80", "100.100.100.200:80", "[64:ff9b::a9fe:a9fe]:80"} {
		_, err := way.DialContext(t.Context(), "tcp", address)
		assert.ErrorIs(t, err, endpoint.ErrAddress, address)
	}
}
