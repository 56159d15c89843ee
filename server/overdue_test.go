package server

import (
	"bytes"
	"log/slog"
	"net/http"
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
