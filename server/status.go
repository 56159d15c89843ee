package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	webpage "waymark/server/page"
)

// pageRoutes are the routes that are no API: for people, probes and scrapers.
func (s *Server) pageRoutes(r *gin.Engine) error {
	get := func(path string, ru route.Rule, handler gin.HandlerFunc) {
		s.routes.Rules["GET "+path], s.routes.Rules["HEAD "+path] = ru, ru
		r.GET(path, handler)
		r.HEAD(path, handler)
	}
	public := route.Rule{Public: true}
	files, err := pageOnce()
	if err != nil {
		return err
	}
	for path, f := range files {
		get(path, public, func(c *gin.Context) {
			f.Serve(c.Writer, c.Request)
			c.Writer.WriteHeaderNow() // of HEAD nothing is written
		})
	}
	get("/docs", public, func(c *gin.Context) { c.Redirect(http.StatusFound, "/openapi.json") })
	get("/openapi.json", public, s.serveOpenAPI)
	get("/healthz", public, func(c *gin.Context) { c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`)) })
	get("/readyz", public, s.serveReady)
	get("/metrics", route.Rule{Scope: request.ScopeRead}, s.serveMetrics)
	return nil
}

var pageOnce = sync.OnceValues(webpage.Load) // tests make many servers

// readyPatience is shorter than probes wait for an answer; the workspace goes on loading.
const readyPatience = 250 * time.Millisecond

// errNotReady is what a probe waits for.
var errNotReady = errors.New("not ready")

// serveReady says whether requests should be sent here: writes are accepted, the default workspace
// is loaded, no fitted profile would keep a question waiting, and no shutdown has begun.
func (s *Server) serveReady(c *gin.Context) {
	reason, unwritable := "", s.cfg.Store.Writable()
	switch {
	case s.isDraining():
		reason = "the server is shutting down"
	case unwritable != nil:
		reason = problem.Of(unwritable).Detail
	default:
		ctx, cancel := context.WithTimeout(c.Request.Context(), readyPatience)
		defer cancel()
		if e, err := s.cfg.Workspaces.Get(ctx, request.DefaultWorkspace); err != nil {
			reason = "the model is not loaded"
		} else if e.Warming() {
			reason = "profile learned is being loaded"
		}
	}
	if reason != "" {
		problem.Fail(c, problem.New(http.StatusServiceUnavailable, reason))
		request.ExchangeFrom(c.Request.Context()).Failure = fmt.Errorf("%w: %s", errNotReady, reason)
		return
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ready"}`))
}

// builtWhen says when a model was built.
func builtWhen(at time.Time) string {
	if at.IsZero() {
		return "time of the build not known"
	}
	return "built " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func (s *Server) serveOpenAPI(c *gin.Context) {
	text, err := s.description()
	if err != nil {
		problem.Fail(c, err)
		return
	}
	c.Data(http.StatusOK, "application/openapi+json", text)
}
