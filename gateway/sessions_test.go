package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"

	"waymark/run"
)

// A session that a server forgot, in whatever words, is opened anew, and the call is sent again.
func TestLostSessions(t *testing.T) {
	t.Setenv("WEB_TOKEN", "t0ken")
	for name, answer := range map[string]func(http.ResponseWriter){
		"404":             func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"404 with words":  func(w http.ResponseWriter) { http.Error(w, "Session not found", http.StatusNotFound) },
		"404 of no call":  func(w http.ResponseWriter) { jsonError(w, http.StatusNotFound, "null", "Session not found") },
		"404 of the call": func(w http.ResponseWriter) { jsonError(w, http.StatusNotFound, "3", "Session not found") },
		"400": func(w http.ResponseWriter) {
			jsonError(w, http.StatusBadRequest, "null", "No valid session ID provided")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var forgotten, calls atomic.Int32
			d := overHTTP(t, mcp.StreamableHTTPOptions{}, func(w http.ResponseWriter, r *http.Request, body string) bool {
				if strings.Contains(body, `"initialize"`) {
					forgotten.Store(0)
				}
				if !strings.Contains(body, `"tools/call"`) || calls.Add(1) == 1 || forgotten.Load() == 0 && calls.Load() > 2 {
					return false
				}
				forgotten.Store(1)
				answer(w)
				return true
			})
			g := open(t, quick(t))
			connect(t, g, d)
			ready(t, g, "web")
			for range 4 {
				r := call(t, g, "web:echo", `{"text":"a"}`)
				assert.Empty(t, r.Failure, r.Message)
			}
		})
	}
}

func jsonError(w http.ResponseWriter, status int, id, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":%q}}`, id, text)
}

// A server that answers one tool with something that is no result loses that call, and nothing else.
func TestOneToolThatFailsOverHTTP(t *testing.T) {
	t.Setenv("WEB_TOKEN", "t0ken")
	for _, tt := range []struct {
		status  int
		kind    string
		body    string
		failure run.Failure
	}{
		{401, "", "", run.FailedAuth}, {403, "text/plain", "forbidden", run.FailedAuth}, {400, "text/plain", "bad", run.FailedTool}, {404, "text/plain", "no such tool", run.FailedTool},
		{413, "", "", run.FailedTool}, {422, "application/json", `{"detail":"n is missing"}`, run.FailedTool}, {429, "", "", run.FailedUnavailable}, {502, "text/html", "<html>", run.FailedUnavailable},
		{200, "text/html", "<html>login", run.FailedUnavailable}, {200, "application/json", "{oops", run.FailedUnavailable}, {200, "application/json", "", run.FailedUnavailable}, {202, "", "", run.FailedUnavailable},
		{200, "text/event-stream", "", run.FailedUnavailable}, {200, "text/event-stream", "data: {oops\n\n", run.FailedUnavailable},
	} {
		t.Run(fmt.Sprint(tt.status, " ", tt.kind, " ", tt.body), func(t *testing.T) {
			t.Parallel()
			d := overHTTP(t, mcp.StreamableHTTPOptions{Stateless: true}, func(w http.ResponseWriter, _ *http.Request, body string) bool {
				if !strings.Contains(body, `"fail"`) {
					return false
				}
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
				return true
			})
			g := open(t, quick(t))
			connect(t, g, d)
			ready(t, g, "web")
			for range 2 {
				r := call(t, g, "web:fail", `{"text":"no"}`)
				assert.Equal(t, tt.failure, r.Failure, r.Message)
				r = call(t, g, "web:echo", `{"text":"a"}`)
				assert.Empty(t, r.Failure, r.Message)
			}
			assert.EqualValues(t, 1, server(g, "web").Starts)
		})
	}
}

// A server of the transport of 2024 works, also where the configuration does not say that it is one.
func TestSSE(t *testing.T) {
	s := goodServer()
	web := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { closeHTTP(web, s) })
	for _, said := range []bool{true, false} {
		g := open(t, quick(t))
		connect(t, g, Definition{ID: "web", URL: web.URL, SSE: said})
		ready(t, g, "web")
		for range 2 {
			r := call(t, g, "web:echo", `{"text":"hello"}`)
			assert.Empty(t, r.Failure, r.Message)
			assert.JSONEq(t, `{"text":"hello"}`, string(r.Structured))
		}
	}
}
