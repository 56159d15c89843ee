// Package server is the rim of the program: it takes requests from the network, decodes them, calls
// one function of package live or suggest, and encodes what that returns.
//
//	           ┌ observe ─ recover ─ guard ─ authorize ─ limit ┐
//	request ──▶│ id, log   panics    Host,   key →       rate, │──▶ huma: validate ──▶ one call
//	           │ metrics   no answer Origin  workspace   bytes │      (gin routes)     in its time limit
//	           └───────────────────────────────────────────────┘
//
// Whatever is not the answer asked for is a problem document (RFC 9457); package api is the one place
// where an error becomes a status. Who may do what is decided by the credential alone: it
// names the workspace, the scopes and the source under which episodes count.
//
//	s, err := server.New(server.Config{Store: store, Workspaces: live.NewWorkspaces(store, live.Options{})})
//	…
//	err = s.Serve(ctx, listener) // until ctx ends, then drains
package server

import (
	"cmp"
	"context"
	"crypto/tls"
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	"waymark/server/internal/scoring"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
)

// Access is who may ask a server.
type Access struct {
	LocalToken string   // bearer of full access, for the command line of the same user
	RequireKey bool     // every request needs an API key: for each bind that is not loopback
	Hosts      []string // Host names answered beside loopback names and the address of the bind
	Origins    []string // browser origins answered beside the server's own
	Proxies    []string // addresses of reverse proxies: what comes from them is not limited by address
}

// Limits bound what clients may take of a server. The zero value of each means its default.
type Limits struct {
	Rate           float64       // requests a second and key, the operator ten times as many; default 1000, negative: no limit
	Burst          int           // default 2000, the operator ten times as many
	MaxBody        int64         // bytes of one body or NDJSON line; default 1 MiB
	MaxBodies      int64         // bytes of all bodies being read; default 64 MiB
	MaxConnections int           // default 1024; as many requests are answered at the same time, and as many MCP sessions kept
	Timeout        time.Duration // of an answer, where its route or MCP tool has none of its own; default 30 s
	Drain          time.Duration // grace of open requests at shutdown; default 10 s

	grace time.Duration // slowGrace, but for tests
}

// Config is what a server needs.
type Config struct {
	Store      *storage.Store
	Workspaces *live.Workspaces
	Judges     score.Judges // models that scorers may ask; none by default
	// RecordScores records runs of scorers as episodes, which makes them part of the graph.
	RecordScores bool
	Upstream     mcpserver.Upstream // other servers
	Caller       run.Caller         // of the tools of other servers; nil: there are none
	Logger       *slog.Logger       // default: nothing is logged
	Version      string
	Now          func() time.Time // default time.Now

	KeepFor time.Duration // age of the last step above which an episode is forgotten; 0: no limit

	Data string // directory of the store and of what hooks say; may be empty

	Settings any // that the server was started with, for the operator

	Access
	Limits
	TLS *tls.Config // of the listener of Serve; nil: none

	// Traces takes an export request of OpenTelemetry, in JSON or protobuf; nil: none are taken.
	Traces func(ctx context.Context, workspace, source string, body []byte, protobuf bool) error

	// KeepKey leaves the key of a workspace's digests where hooks and importers of this machine find it; may be nil.
	KeepKey func(ctx context.Context, workspace string) error

	// extendMCP changes the options of each MCP server and returns what registers more on it. For tests only.
	extendMCP func(*mcp.ServerOptions) (register func(*mcp.Server))
}

func (c *Config) setDefaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Version = cmp.Or(c.Version, "dev")
	c.Upstream.Workspace = cmp.Or(c.Upstream.Workspace, api.DefaultWorkspace)
	l := &c.Limits
	l.Rate, l.Burst = cmp.Or(l.Rate, 1000), cmp.Or(l.Burst, 2000)
	l.MaxBody, l.MaxBodies = cmp.Or(l.MaxBody, 1<<20), cmp.Or(l.MaxBodies, 64<<20)
	l.MaxConnections = cmp.Or(l.MaxConnections, 1024)
	l.Timeout, l.Drain, l.grace = cmp.Or(l.Timeout, writeTimeout), cmp.Or(l.Drain, 10*time.Second), cmp.Or(l.grace, slowGrace)
}

// Server answers HTTP and MCP for the workspaces of one store.
type Server struct {
	cfg     Config
	handler http.Handler
	mcp     *mcpserver.Endpoint
	scoring *scoring.Service
	runs    *runs.Runs
	routes  *api.Table
	metrics *metrics
	csrf    *http.CrossOriginProtection
	rates   sync.Map  // of *rate.Limiter, by credential: at most as many as there are keys
	bodies  api.Share // bytes of bodies being read
	open    api.Share // requests being answered
	streams api.Share // of these, the ones without an end of their own
	page    pageSessions

	baselines sync.Map // of baseline, by workspace
	keyed     atomic.Pointer[keyed]

	description func() (description, error)

	draining  chan struct{} // closed when shutdown begins
	drainOnce sync.Once
}

// New wires the routes. It starts nothing.
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
	// Ids hold slashes and colons, so paths are matched as they were escaped, and unescapePath unescapes each id once,
	// as a path segment (gin would read + as a space).
	r.UseEscapedPath, r.UnescapePathValues = true, false
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	if err := r.SetTrustedProxies(nil); err != nil { // a client's X-Forwarded-For is a claim, not an address
		return nil, err
	}
	r.Use(s.observe, s.recoverPanic,
		checks(s.refuseDraining, s.guard, s.authorize, s.limitRate, s.limitOpen, s.limitBody, unescapePath))
	r.NoRoute(func(c *gin.Context) { api.Fail(c, api.Problem(http.StatusNotFound, "there is no such route")) })
	r.NoMethod(func(c *gin.Context) {
		api.Fail(c, api.Problem(http.StatusMethodNotAllowed, c.Request.Method+" is not a method of this route"))
	})

	s.wire()
	s.register(humagin.New(r, s.humaConfig()))
	if err := s.pageRoutes(r); err != nil {
		return nil, err
	}
	s.headRoutes(r)
	s.routes.Rules["ANY /mcp"] = api.Rule{Stream: true, ToolSet: true} // any credential: each tool asks for its own scope
	r.Any("/mcp", gin.WrapH(s.mcp))
	s.handler = r
	return s, nil
}

// wire makes the parts behind the routes.
func (s *Server) wire() {
	cfg := s.cfg
	s.routes = &api.Table{
		Workspaces: cfg.Workspaces,
		MaxBody:    cfg.MaxBody, Timeout: cfg.Timeout, Turns: api.NewTurns(2 * runtime.GOMAXPROCS(0)),
		Rules: map[string]api.Rule{},
	}
	s.scoring = &scoring.Service{
		Store: cfg.Store, Workspaces: cfg.Workspaces, Judges: cfg.Judges, Caller: cfg.Caller, Workspace: cfg.Upstream.Workspace, Record: cfg.RecordScores, Logger: cfg.Logger, Now: cfg.Now,
	}
	s.runs = runs.New(runs.Config{
		Service: s.scoring, Gateway: cfg.Upstream.Gateway, Holders: s.holdersOf, Draining: s.draining, Grace: cfg.Drain / 2,
	})
	s.mcp = mcpserver.New(mcpserver.Config{
		Workspaces: cfg.Workspaces, CallerOf: s.runs.CallerOf, Upstream: cfg.Upstream, Routes: s.routes,
		Logger: cfg.Logger, Now: cfg.Now, Version: cfg.Version, MaxBody: cfg.MaxBody, MaxSessions: cfg.MaxConnections,
		Holders: s.holdersOf, Draining: s.draining, Extend: cfg.extendMCP,
	})
}

// Operation is an operation of the API, as commands see it.
type Operation = api.Operation

// Field is a field of the request of an operation.
type Field = api.Field

// Problem is the body of a refusal (RFC 9457), ProblemPart one thing that is wrong with a request.
type (
	Problem     = huma.ErrorModel
	ProblemPart = huma.ErrorDetail
)

// Operations are the operations of the API.
func Operations() []Operation {
	s := &Server{routes: &api.Table{Rules: map[string]api.Rule{}}}
	s.operations()
	return s.routes.Operations
}

// register registers the operations of the API.
func (s *Server) register(api huma.API) {
	s.routes.API = api
	s.operations()
	mend(api.OpenAPI().Components.Schemas)
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

// headRoutes answers HEAD where GET is answered at once; net/http leaves out the body.
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

// schemaName tells apart the types that have one name in two packages, by a prefix.
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

// ruleOf is the rule of the matched route; ok is false for paths that lead nowhere.
func (s *Server) ruleOf(c *gin.Context) (api.Rule, bool) {
	if ru, ok := s.routes.Rules[c.Request.Method+" "+c.FullPath()]; ok {
		return ru, true
	}
	ru, ok := s.routes.Rules["ANY "+c.FullPath()]
	return ru, ok
}

// engine is the workspace of the request, for questions: they create none.
func (s *Server) engine(ctx context.Context) (*live.Engine, error) {
	return s.cfg.Workspaces.Get(ctx, api.From(ctx).Workspace)
}

// recorder is the workspace of the request for what only records: it waits for no build, and creates a
// workspace that does not exist.
func (s *Server) recorder(ctx context.Context) (*live.Engine, error) {
	return s.cfg.Workspaces.Open(ctx, api.From(ctx).Workspace)
}

// Handler answers every route. It can be mounted without Serve; the limits on headers and
// connections and the graceful shutdown come from Serve.
func (s *Server) Handler() http.Handler { return s.handler }

// Time limits of one connection. Routes set their own deadlines (see observe), because one limit
// for all would cut streams.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 60 * time.Second
	writeTimeout      = 30 * time.Second

	maxHeaderBytes = 32 << 10
)

// Close ends what goes on without a request: runs get a moment for the calls under way, and what is left of
// them is resumed by the next start.
func (s *Server) Close() {
	s.runs.Close()
}

// Serve answers on ln until ctx ends, and resumes the runs that the process before left. Then it refuses new
// requests with 503 and stops accepting, lets open requests finish for Config.Drain (10 s), cancels the others, which
// are answered with 503, and, after half that time again, closes its connections.
// It refuses an address that others can reach unless every request needs a key.
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
	s.runs.Start(ctx)
	defer s.Close()
	ctx, stop := context.WithCancel(ctx) // also where the listener fails
	retained := s.retainBehind(ctx)
	know := func() { _, _ = s.needsKey(ctx) } // while the database answers: later it may not
	know()
	go s.keys().Table.Follow(ctx, know)
	defer func() {
		stop()
		select {
		case <-retained:
		case <-time.After(s.cfg.Drain / 2): // as long as work without a request may take
		}
	}()
	done := make(chan error, 1+len(local))
	for i, l := range append([]net.Listener{ln}, local...) {
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

// isDraining reports whether shutdown has begun.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
