package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/suggest"
)

// slowAnswers makes questions wait for release, whatever becomes of their requests; asked has a token for each.
func slowAnswers(t testing.TB) (adjust func(*Config), asked chan struct{}, release func()) {
	asked = make(chan struct{}, 1000)
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	return func(c *Config) {
		t.Cleanup(release)
		c.Workspaces = live.NewWorkspaces(c.Store, live.Options{Withheld: func(string) *suggest.Exclusions {
			asked <- struct{}{}
			<-gate
			return nil
		}})
	}, asked, release
}

// lockedLog is a log that can be read while requests go on.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) logTo(c *Config) {
	c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&l.mu, &l.buf}, nil))
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A request that outlives its time limit is answered with a problem; its work goes on, and the next one succeeds.
func TestTimeLimit(t *testing.T) {
	adjust, _, release := slowAnswers(t)
	var log lockedLog
	w := newWeb(t, adjust, log.logTo, func(c *Config) { c.Timeout = time.Second })
	for path, body := range map[string]string{
		"/v1/next": `{"context":["fs:read_file"]}`, "/v1/search": `{"query":"read"}`, "/v1/dag": `{"intent":"reformat a json file"}`,
	} {
		r := w.ask("POST", path, body)
		requireProblem(t, 504, "time limit of 1s", r)
		assert.Contains(t, r.body, "repeat the request")
		assert.NotEmpty(t, r.header.Get("Retry-After"), path)
		assert.Regexp(t, "route="+path+" status=504", log.String())
	}
	body, header := modern("tools/call", "suggest_next", `"name":"suggest_next","arguments":{}`)
	resp, answer := post(t, http.DefaultClient, w.url+"/mcp", body, header)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, answer, `"id":1`)
	assert.Contains(t, answer, `"isError":true`)
	assert.Contains(t, answer, "time limit of 1s")
	release()
	require.Eventually(t, func() bool { return w.ask("POST", "/v1/next", `{}`).status == 200 }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return w.routes.Overdue.Running() == 0 }, time.Minute, 10*time.Millisecond)
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

// A request on a connection that was open before shutdown began is refused with 503.
func TestRequestAfterShutdownBegan(t *testing.T) {
	w := newWeb(t)
	require.Equal(t, 200, w.ask("GET", "/v1/stats", "").status)
	w.drainOnce.Do(func() { close(w.draining) })
	body, header := modern("tools/list", "", "")
	for _, path := range []string{"/v1/stats", "/v1/next", "/mcp"} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, w.url+path, strings.NewReader(body))
		if path == "/v1/stats" {
			req, err = http.NewRequestWithContext(context.Background(), http.MethodGet, w.url+path, nil)
		}
		require.NoError(t, err)
		for k, v := range header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		data, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		requireProblem(t, 503, "shutting down", reply{resp.StatusCode, resp.Header, string(data)})
		assert.True(t, resp.Close, "the connection ends with the answer")
		assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	}
}
