package server

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"

	"waymark/live"
	"waymark/server/internal/api"
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
