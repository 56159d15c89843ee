// Package server is the outermost layer of the program: it receives requests from the network, decodes each, calls one
// function of package live or suggest, and encodes the result.
//
//	           ┌ observe ─ recover ─ guard ─ authorize ─ limit ┐
//	request ──▶│ id, log   panics    Host,   key →       rate, │──▶ huma: validate ──▶ one call
//	           │ metrics   no answer Origin  workspace   bytes │      (gin routes)     in its time limit
//	           └───────────────────────────────────────────────┘
//
// Every error response is a problem document (RFC 9457); package api is the only place that maps an error to a status.
// The credential alone determines the permissions: it names the workspace, the scopes and the source under which
// episodes are recorded.
//
//	s, err := server.New(server.Config{Store: store, Workspaces: live.NewWorkspaces(store, live.Options{})})
//	…
//	err = s.Serve(ctx, listener) // until ctx ends, then drains
package server

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"waymark/catalog"
	"waymark/internal/numeric"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	"waymark/server/internal/scoring"
	mcpserver "waymark/server/mcp"
)

// New registers the routes. It starts no background work.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Workspaces == nil {
		return nil, errors.New("a server needs a store and its workspaces")
	}
	cfg.setDefaults()
	s := &Server{
		cfg: cfg, metrics: newMetrics(), csrf: http.NewCrossOriginProtection(),
		draining: make(chan struct{}),
		bodies:   api.NewShare("bytes of request bodies", cfg.MaxBodies),
		open:     api.NewShare("requests", int64(cfg.MaxConnections)),
		streams:  api.NewShare("streams", max(int64(cfg.MaxConnections)/streamPart, 1)),
	}
	for _, origin := range cfg.Origins {
		if err := s.csrf.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("allowed origin %q: %w", origin, err)
		}
		if u, err := url.Parse(origin); err != nil || u.Host == "" {
			return nil, fmt.Errorf("allowed origin %q is not scheme://host", origin)
		}
	}

	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	// Ids contain slashes and colons. So gin matches the escaped path, and unescapePath unescapes each id once, as a
	// path segment (gin would read + as a space).
	r.UseEscapedPath, r.UnescapePathValues = true, false
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	if err := r.SetTrustedProxies(nil); err != nil { // a client can forge X-Forwarded-For
		return nil, err
	}
	r.Use(s.observe, s.recoverPanic,
		checks(s.refuseDraining, s.guard, s.authorize, s.limitRate, s.limitOpen, s.limitBody, unescapePath))
	r.NoRoute(func(c *gin.Context) { fail(c, api.Problem(http.StatusNotFound, "there is no such route")) })
	r.NoMethod(func(c *gin.Context) {
		fail(c, api.Problem(http.StatusMethodNotAllowed, c.Request.Method+" is not a method of this route"))
	})

	s.wire()
	s.register(humagin.New(r, s.humaConfig()))
	if err := s.pageRoutes(r); err != nil {
		return nil, err
	}
	s.headRoutes(r)
	s.routes.Rules["ANY /mcp"] = api.Rule{Stream: true, ToolSet: true} // any credential: each tool checks its own scope
	r.Any("/mcp", gin.WrapH(s.mcp))
	s.handler = r
	return s, nil
}

// wire creates the components behind the routes.
func (s *Server) wire() {
	cfg := s.cfg
	s.routes = &api.Table{
		Workspaces: cfg.Workspaces,
		MaxBody:    cfg.MaxBody, Timeout: cfg.Timeout, Limiter: api.NewComputeLimiter(2 * runtime.GOMAXPROCS(0)),
		Rules: map[string]api.Rule{},
	}
	s.scoring = &scoring.Service{
		Store: cfg.Store, Workspaces: cfg.Workspaces, Judges: cfg.Judges, Caller: cfg.Caller, Workspace: cfg.Upstream.Workspace, Record: cfg.RecordScores, Logger: cfg.Logger, Now: cfg.Now,
	}
	s.runs = runs.New(runs.Config{
		Service: s.scoring, Gateway: cfg.Upstream.Gateway, Clients: s.clientsOf, Draining: s.draining, Grace: cfg.Drain / 2,
	})
	s.mcp = mcpserver.New(mcpserver.Config{
		Workspaces: cfg.Workspaces, CallerOf: s.runs.CallerOf, Upstream: cfg.Upstream, Routes: s.routes,
		Logger: cfg.Logger, Now: cfg.Now, Version: cfg.Version, MaxBody: cfg.MaxBody, MaxSessions: cfg.MaxConnections,
		Clients: s.clientsOf, Draining: s.draining, Extend: cfg.extendMCP,
	})
}

// Operation describes an operation of the API to the command line.
type Operation = api.Operation

// Field is a field of the request of an operation.
type Field = api.Field

// Problem is the body of an error response (RFC 9457). ProblemPart is one error in it.
type (
	Problem     = huma.ErrorModel
	ProblemPart = huma.ErrorDetail
)

// Operations returns the operations of the API.
func Operations() []Operation {
	s := &Server{routes: &api.Table{Rules: map[string]api.Rule{}}}
	s.operations()
	return s.routes.Operations
}

// register registers the operations of the API.
func (s *Server) register(api huma.API) {
	s.routes.API = api
	s.operations()
	fixSchemas(api.OpenAPI().Components.Schemas)
	illustrate(api.OpenAPI())
	s.description = sync.OnceValues(func() (description, error) { return describe(api.OpenAPI()) })
}

func (s *Server) operations() {
	r := s.routes
	s.suggestionRoutes(r)
	s.episodeRoutes(r)
	s.traceRoutes(r)
	s.catalogRoutes(r)
	s.jobRoutes(r)
	s.proposalRoutes(r)
	s.graphRoutes(r)
	s.peopleRoutes(r)
	s.evaluationRoutes(r)
	s.scoring.Routes(r)
	s.runs.Routes(r)
	s.upstreamRoutes(r)
	ruleRoutes(r)
	s.adminRoutes(r)
	s.signInRoutes(r)
}

// headRoutes registers HEAD for each GET route that is not a stream; net/http omits the body.
func (s *Server) headRoutes(r *gin.Engine) {
	for _, route := range r.Routes() {
		if ru := s.routes.Rules[route.Method+" "+route.Path]; route.Method == http.MethodGet && !ru.Stream {
			s.routes.Rules["HEAD "+route.Path] = ru
			r.HEAD(route.Path, route.HandlerFunc)
		}
	}
}

func (s *Server) humaConfig() huma.Config {
	cfg := huma.DefaultConfig("Waymark", s.cfg.Version)
	cfg.Info.Description = "Which tool comes next: search, suggestions, DAGs of tools, and the history they are learned from. " +
		"An answer that takes longer than its time limit (30 s where the operation names no other) is refused with 504, and one that shutdown cuts off with 503. " +
		"HEAD is answered like GET, without the body, except for streams."
	cfg.Servers = []*huma.Server{{URL: "/", Description: "The server that this description comes from"}}
	cfg.Info.Contact = &huma.Contact{Name: "The operator of this server"}
	cfg.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	cfg.Tags = api.Tags
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[score.Decimal](), reflect.TypeFor[float64]())
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath, cfg.CreateHooks = "", "", "", nil
	cfg.Formats = map[string]huma.Format{"application/json": strictFormat, "json": strictFormat}
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "An API key wmk_<id>_<secret>. A server on a loopback address asks for none."},
	}
	cfg.Transformers = []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
		if p, ok := v.(*huma.ErrorModel); ok {
			if after := api.RetryAfter(p.Status); after != "" {
				ctx.SetHeader("Retry-After", after)
			}
			return api.Sign(ctx.Context(), p), nil
		}
		return v, nil
	}}
	return cfg
}

// schemaName adds a prefix to types that have the same name in two packages.
func schemaName(t reflect.Type, hint string) string {
	own, name := t, huma.DefaultSchemaNamer(t, hint)
	if t.Kind() == reflect.Pointer {
		own = t.Elem()
	}
	pkg, prefix := own.PkgPath(), ""
	switch last := path.Base(pkg); {
	case own == reflect.TypeFor[catalog.Task]():
		prefix = "Capability"
	case last == "mine":
		prefix = "Proposal"
	case last == "run", last == "runs" && token.IsExported(own.Name()):
		prefix = "Run"
	case strings.HasPrefix(pkg, "waymark/score"):
		prefix = strings.ToUpper(last[:1]) + last[1:]
	}
	return prefix + strings.TrimPrefix(name, prefix)
}

// ruleOf returns the rule of the matched route; ok is false if no route matched.
func (s *Server) ruleOf(c *gin.Context) (api.Rule, bool) {
	if ru, ok := s.routes.Rules[c.Request.Method+" "+c.FullPath()]; ok {
		return ru, true
	}
	ru, ok := s.routes.Rules["ANY "+c.FullPath()]
	return ru, ok
}

// Handler returns the handler of all routes. It can be mounted without Serve; the limits on headers and connections and
// the graceful shutdown are part of Serve only.
func (s *Server) Handler() http.Handler { return s.handler }

// Time limits of one connection. Routes set their own deadlines (see observe), because one limit for all routes would
// cut streams.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 60 * time.Second
	writeTimeout      = 30 * time.Second

	maxHeaderBytes = 32 << 10
)

// Close ends the work that runs outside of requests. Runs get a short time for their calls in progress; the next start
// resumes the runs that are left.
func (s *Server) Close() {
	s.runs.Close()
}

// Serve answers requests on ln until ctx ends, and resumes the runs that the previous process left. When ctx has ended,
// it refuses new requests with 503, stops accepting connections and waits up to Config.Drain (10 s) for open requests.
// Then it cancels the remaining requests, which are answered with 503, and after half that time closes its connections.
// It returns an error for an address that is not loopback unless every request needs a key.
//
// local are further listeners for this machine, without TLS.
func (s *Server) Serve(ctx context.Context, ln net.Listener, local ...net.Listener) error {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && !s.cfg.RequireKey {
		return fmt.Errorf("serve %s: an address beyond loopback needs API keys", ln.Addr())
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         api.NoteState,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	numeric.Spare(1)
	s.runs.Start(ctx)
	defer s.Close()
	ctx, stop := context.WithCancel(ctx) // stop also ends the background work if the listener fails
	retained := make(chan struct{})
	go func() {
		defer close(retained)
		s.retainDaily(ctx)
	}()
	know := func() { _, _ = s.needsKey(ctx) } // cache the result while the database is available
	know()
	go s.keys().Table.Follow(ctx, know)
	defer func() {
		stop()
		select {
		case <-retained:
		case <-time.After(s.cfg.Drain / 2): // the time limit of work outside of requests
		}
	}()
	done := make(chan error, 1+len(local))
	for i, l := range append([]net.Listener{ln}, local...) {
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			s.ports.Store(strconv.Itoa(tcp.Port), true)
		}
		config := s.cfg.TLS
		if i > 0 {
			config = nil
		}
		counted := api.NewConnections(l, s.cfg.MaxConnections, s.isProxy, s.metrics.crowded.Inc, config)
		go func() { done <- srv.Serve(counted) }()
	}

	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.drainOnce.Do(func() { close(s.draining) })
	err := shutdown(srv, s.cfg.Drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Logger.Warn("requests did not finish in time and are cancelled", "after", s.cfg.Drain)
		cancel()
		if err = shutdown(srv, s.cfg.Drain/2); errors.Is(err, context.DeadlineExceeded) {
			s.cfg.Logger.Error("requests ignored their cancellation and are cut off", "after", s.cfg.Drain/2)
			err = srv.Close()
		}
	}
	for range 1 + len(local) {
		<-done // http.ErrServerClosed
	}
	if err != nil {
		return fmt.Errorf("shut down %s: %w", ln.Addr(), err)
	}
	return nil
}

func shutdown(srv *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return srv.Shutdown(ctx)
}
