package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"

	"waymark/server/internal/api"
	"waymark/suggest"
)

// testAPI registers more routes on a running server.
func (w web) testAPI() *api.Table {
	r := *w.routes
	r.API = humagin.New(w.handler.(*gin.Engine), w.humaConfig())
	return &r
}

func testOperation(id, path string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path}
}

func testHandler[A any](f func() (A, error)) func(context.Context, *struct{}) (A, error) {
	return func(context.Context, *struct{}) (A, error) { return f() }
}

// lockedLog is a log that can be read while requests go on.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) logTo(c *Config) { c.Logger = slog.New(slog.NewTextHandler(l, nil)) }

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// No secret of a request reaches the log: not from the query, the headers, the body or the path.
func TestLogHoldsNoSecrets(t *testing.T) {
	var log lockedLog
	w := newWeb(t, log.logTo)
	const marker = "SECRET-MARKER"
	w.ask("GET", "/v1/tools?cursor="+marker, "")
	w.ask("GET", "/v1/tools/"+marker, "")
	w.ask("GET", "/"+marker, "")
	w.ask("POST", "/v1/next", `{"intent":"`+marker+`"}`, "Authorization: Bearer "+marker, "Cookie: "+marker, "User-Agent: "+marker)
	w.ask("POST", "/v1/next", `{"intent":"`+marker+`"}`, "X-Request-Id: <"+marker)
	w.ask("POST", "/v1/search", `{"query":"`+marker+`"}`)
	assert.Contains(t, log.String(), "route=/v1/next")
	assert.NotContains(t, log.String(), marker)
}

// A panic ends one request; what it said stays in the log.
func TestPanicIsolation(t *testing.T) {
	var log lockedLog
	w := newWeb(t, log.logTo)
	table := w.testAPI()
	ru := api.Rule{Scope: api.ScopeRead}
	api.Add(table, ru, testOperation("panic", "/v1/test/panic"), testHandler(func() (suggest.Stats, error) { panic("secret in a panic") }))
	api.Add(table, ru, testOperation("error", "/v1/test/error"), testHandler(func() (suggest.Stats, error) {
		return suggest.Stats{}, errors.New("secret in an error")
	}))
	api.Raw(table, ru, testOperation("late", "/v1/test/late"), func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(c huma.Context) {
			_, _ = c.BodyWriter().Write([]byte("half"))
			panic("after the first byte")
		}}, nil
	})
	for _, path := range []string{"/v1/test/panic", "/v1/test/error"} {
		p := requireProblem(t, 500, "internal error", w.ask("GET", path, ""))
		assert.NotContains(t, fmt.Sprint(p), "secret")
	}
	req, _ := http.NewRequest("GET", w.url+"/v1/test/late", nil)
	fresh := &http.Transport{DisableKeepAlives: true} // over a used connection the client would ask again
	resp, err := fresh.RoundTrip(req)
	if err == nil { // the head may have gone out; the body must not look whole
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	assert.Error(t, err)
	assert.Equal(t, 200, w.ask("POST", "/v1/next", "{}").status, "the process goes on")
	assert.Contains(t, w.ask("GET", "/metrics", "").body, "waymark_panics_total 2")
	for _, said := range []string{"secret in a panic", "secret in an error", "after the first byte"} {
		assert.Contains(t, log.String(), said)
	}
}

// A request that outlives its time limit is answered with a problem.
func TestTimeLimit(t *testing.T) {
	var log lockedLog
	w := newWeb(t, log.logTo, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	api.Add(w.testAPI(), api.Rule{Scope: api.ScopeRead}, testOperation("slow", "/v1/test/slow"), func(ctx context.Context, _ *struct{}) (api.None, error) {
		<-ctx.Done()
		return api.None{}, ctx.Err()
	})
	r := w.ask("GET", "/v1/test/slow", "")
	requireProblem(t, 504, "time limit", r)
	assert.NotEmpty(t, r.header.Get("Retry-After"))
	assert.Regexp(t, "route=/v1/test/slow status=504", log.String())
}

// A handler that wrote nothing is a fault, not an empty answer.
func TestHandlerWithoutAnswer(t *testing.T) {
	var log lockedLog
	w := newWeb(t, log.logTo)
	w.handler.(*gin.Engine).GET("/v1/test/empty", func(*gin.Context) {})
	requireProblem(t, 500, "internal error", w.ask("GET", "/v1/test/empty", ""))
	assert.Contains(t, log.String(), "route=/v1/test/empty status=500")
	assert.Contains(t, log.String(), "wrote no answer")
}
