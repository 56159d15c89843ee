package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waymark/server/internal/api"
	webpage "waymark/server/page"

	"github.com/danielgtaylor/huma/v2"
)

// The documentation is plain HTML in the style of the page, without scripts.
//
//go:embed pages
var pageFiles embed.FS

const docsPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var docsPage = template.Must(template.ParseFS(pageFiles, "pages/docs.html"))

// pageRoutes registers the routes that are not part of the API: for people, probes and scrapers.
func (s *Server) pageRoutes(r *gin.Engine) error {
	get := func(path string, ru api.Rule, handler gin.HandlerFunc) {
		s.routes.Rules["GET "+path] = ru
		r.GET(path, handler)
	}
	public := api.Rule{Public: true}
	files, err := pageOnce()
	if err != nil {
		return err
	}
	for path, f := range files {
		get(path, public, func(c *gin.Context) {
			f.Serve(c.Writer, c.Request)
			c.Writer.WriteHeaderNow() // for HEAD nothing was written
		})
	}
	get("/docs", public, s.document("text/html; charset=utf-8", func(d description) []byte { return d.page }))
	get("/status", public, func(c *gin.Context) { c.Redirect(http.StatusFound, "/#/operations/status") })
	get("/openapi.json", public, s.document("application/openapi+json", func(d description) []byte { return d.openAPI }))
	get("/healthz", public, func(c *gin.Context) { c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`)) })
	get("/readyz", public, s.serveReady)
	get("/metrics", api.Rule{Scope: api.ScopeRead}, s.serveMetrics)
	return nil
}

var pageOnce = sync.OnceValues(webpage.Load) // shared, because tests create many servers

// readyPatience is shorter than the time that probes wait for a response; the workspace continues to load afterwards.
const readyPatience = 250 * time.Millisecond

// errNotReady marks the failure of a readiness probe, which is not logged as an error.
var errNotReady = errors.New("not ready")

// serveReady reports whether the server can take requests: writes are accepted, the default workspace is loaded, no
// request would wait for a fitted profile, and shutdown has not begun.
func (s *Server) serveReady(c *gin.Context) {
	reason, unwritable := "", s.cfg.Store.Writable()
	switch {
	case s.isDraining():
		reason = "the server is shutting down"
	case unwritable != nil:
		reason = api.ProblemOf(unwritable).Detail
	default:
		ctx, cancel := context.WithTimeout(c.Request.Context(), readyPatience)
		defer cancel()
		if e, err := s.cfg.Workspaces.Get(ctx, api.DefaultWorkspace); err != nil {
			reason = "the model is not loaded"
		} else if e.Warming() {
			reason = "profile learned is being loaded"
		}
	}
	if reason != "" {
		fail(c, api.Problem(http.StatusServiceUnavailable, reason))
		api.ExchangeFrom(c.Request.Context()).Failure = fmt.Errorf("%w: %s", errNotReady, reason)
		return
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ready"}`))
}

// builtWhen returns a text with the time when a model was built.
func builtWhen(at time.Time) string {
	if at.IsZero() {
		return "time of the build not known"
	}
	return "built " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// description is the API as an OpenAPI document and as an HTML page.
type description struct{ openAPI, page []byte }

// describe is called at the first request for the description, because it is rarely requested.
func describe(spec *huma.OpenAPI) (d description, err error) {
	text, wrong := json.MarshalIndent(spec, "", "  ")
	shown := map[string]any{"Info": spec.Info, "Tags": spec.Tags, "Operations": operationsOf(spec)}
	files, failed := pageOnce()
	for path := range files {
		if strings.HasSuffix(path, "/style.css") {
			shown["Style"] = path
		}
	}
	var page bytes.Buffer
	err = errors.Join(wrong, failed, docsPage.Execute(&page, shown))
	return description{append(text, '\n'), page.Bytes()}, err
}

// document returns a handler that serves one of the two descriptions.
func (s *Server) document(kind string, of func(description) []byte) gin.HandlerFunc {
	return func(c *gin.Context) {
		d, err := s.description()
		if err != nil {
			fail(c, err)
			return
		}
		c.Header("Content-Security-Policy", docsPolicy)
		c.Header("X-Frame-Options", "DENY")
		c.Header("Referrer-Policy", "no-referrer")
		c.Data(http.StatusOK, kind, of(d))
	}
}
