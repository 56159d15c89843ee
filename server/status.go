package server

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waymark/server/internal/jsonio"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/server/internal/transport"
	webpage "waymark/server/page"
	"waymark/suggest"
)

// The status page and the documentation are plain HTML: no script, no font, nothing from anywhere else, and a policy that would
// not let it run. What they show of ids and descriptions is escaped by html/template.
//
//go:embed pages
var pageFiles embed.FS

const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var docsPage = template.Must(template.ParseFS(pageFiles, "pages/docs.html", "pages/style.html"))

var statusPage = template.Must(template.ParseFS(pageFiles, "pages/status.html", "pages/style.html"))

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
	for name, f := range files {
		get(webpage.PathOf(name), public, func(c *gin.Context) { f.Serve(c.Writer, c.Request) })
	}
	get("/status", public, s.serveStatus)
	get("/docs", public, s.serveDocs)
	get("/openapi.json", public, s.serveOpenAPI)
	get("/healthz", public, func(c *gin.Context) { c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`)) })
	get("/readyz", public, s.serveReady)
	get("/metrics", route.Rule{Scope: request.ScopeRead}, s.serveMetrics)
	return nil
}

var pageOnce = sync.OnceValues(webpage.Load) // packing them takes a moment, and tests make many servers

func servePage(c *gin.Context, page []byte) {
	c.Header("Content-Security-Policy", pagePolicy)
	c.Header("X-Frame-Options", "DENY")
	c.Header("Referrer-Policy", "no-referrer")
	c.Data(http.StatusOK, "text/html; charset=utf-8", page)
}

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
		e, err := s.cfg.Workspaces.Get(ctx, request.DefaultWorkspace)
		if err != nil {
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

// serveStatus shows what runs here. The numbers of the model are for those who may read.
func (s *Server) serveStatus(c *gin.Context) {
	var shown struct {
		Version, Workspace, URL string
		NeedsKey                bool
		Stats                   *suggest.Stats
		BuiltAt, Problem        string
		Stdio                   string // how a host starts a process on the same store, as JSON; empty: not shown
	}
	shown.Version = s.cfg.Version
	shown.NeedsKey, _ = s.needsKey(c.Request.Context()) // the numbers below say what fails
	scheme := "http"
	if transport.OverTLS(c.Request) != nil {
		scheme = "https"
	}
	shown.URL = scheme + "://" + c.Request.Host
	if a := request.From(c.Request.Context()); a.May(request.ScopeRead) {
		shown.Workspace = a.Workspace
		e, err := s.engine(c.Request.Context())
		if err != nil {
			problem.Fail(c, err)
			return
		}
		stats := e.Model().Stats()
		shown.Stats, shown.BuiltAt = &stats, builtWhen(stats.Model.BuiltAt)
		if shown.Stdio, err = s.stdio(a.Workspace); err != nil {
			problem.Fail(c, err)
			return
		}
	}
	if s.cfg.Store.Writable() != nil {
		shown.Problem = "The storage does not accept writes; reads go on."
	}
	var b bytes.Buffer
	if err := statusPage.Execute(&b, shown); err != nil {
		problem.Fail(c, err)
		return
	}
	servePage(c, b.Bytes())
}

// stdio is the entry of a host's configuration that opens the store of this server, in a workspace.
func (s *Server) stdio(workspace string) (string, error) {
	entry := struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{cmp.Or(s.cfg.Program, "waymark"), []string{"mcp"}}
	if s.cfg.Data != "" {
		entry.Args = append(entry.Args, "--data", s.cfg.Data)
	}
	if workspace != request.DefaultWorkspace {
		entry.Args = append(entry.Args, "--workspace", workspace)
	}
	text, err := jsonio.Encode(entry)
	return strings.TrimSpace(string(text)), err
}

// builtWhen says when a model was built.
func builtWhen(at time.Time) string {
	if at.IsZero() {
		return "time of the build not known"
	}
	return "built " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func (s *Server) serveDocs(c *gin.Context) {
	d, err := s.description()
	if err != nil {
		problem.Fail(c, err)
		return
	}
	servePage(c, d.Page)
}

func (s *Server) serveOpenAPI(c *gin.Context) {
	d, err := s.description()
	if err != nil {
		problem.Fail(c, err)
		return
	}
	c.Data(http.StatusOK, "application/openapi+json", d.OpenAPI)
}
