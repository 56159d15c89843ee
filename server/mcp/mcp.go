// Package mcpserver serves MCP: the tools, the apps and the protocol, over HTTP and pipes.
package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
)

// The Model Context Protocol has two variants. Up to revision 2025-11-25 a client performs a handshake and then has a
// session; from 2026-07-28 on every request is independent and names its revision in a header. One endpoint serves
// both:
//
//	                      Mcp-Protocol-Version ≥ 2026-07-28
//	             ┌─ yes ─▶ stateless ─┐
//	POST /mcp ───┤                    ├─▶ the workspace's mcp.Server ─▶ eight tools, two apps
//	             └─ no ──▶ stateful ──┘
//
// A pipe uses either variant through the same endpoint (relay.go).
const (
	headerProtocol  = "Mcp-Protocol-Version"
	HeaderMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
	firstStateless  = "2026-07-28"
	sessionIdle     = 30 * time.Minute
	mcpInstructions = "Waymark knows which tools exist here, and from recorded work which one usually comes next. " +
		"After a tool has run, call suggest_next with the ids of the tools used so far, in order; it answers with ranked ids and a confidence. " +
		"When unsure which tool does a thing, call find_tool with a few words; its text has the arguments of each. " +
		"For a task of several steps, call suggest_dag with the intent first. " +
		"When a task is finished, call record_episode once, so that later suggestions are better. " +
		"To judge hypotheses, answers or contributions, call score; to weigh competing answers by evidence, call triangulate. " +
		"Suggestions are evidence, not orders: a low confidence means that little is known."
)

// Config configures an Endpoint.
type Config struct {
	Workspaces *live.Workspaces
	CallerOf   func(workspace string) run.Caller // calls the tools of upstream servers; nil if there are none
	Routes     *api.Table                        // complete before the first request
	Upstream   Upstream                          // the upstream servers
	Logger     *slog.Logger
	Now        func() time.Time
	Version    string

	MaxBody     int64 // bytes of one message over HTTP
	MaxSessions int
	// Clients returns the clients that a session counts against.
	Clients  func(api.Access) []api.Client
	Draining <-chan struct{} // closed when shutdown begins

	// Extend changes the options of each SDK server and returns a function that registers more on it; for tests only.
	Extend func(*mcp.ServerOptions) (register func(*mcp.Server))
}

// Endpoint is the handler of /mcp. The context of each request must already contain its access (see [api.With]).
type Endpoint struct {
	cfg       Config
	stateful  http.Handler
	stateless http.Handler
	streaming http.Handler // stateless, with an event stream: for calls that may report progress

	sessions mcpSessions

	mu      sync.Mutex
	servers map[string]*mcp.Server // by workspace
}

// New returns the endpoint for MCP over HTTP.
func New(cfg Config) *Endpoint {
	e := &Endpoint{cfg: cfg, servers: map[string]*mcp.Server{}}
	e.sessions = mcpSessions{
		Share: api.NewShare("MCP sessions", int64(cfg.MaxSessions)), clientsOf: cfg.Clients, live: e.live, known: map[string]*api.Hold{},
	}
	// A session belongs to the caller that opened it: the SDK compares UserID on every later request. The permissions
	// of a call come from its own credential, not from that of the handshake.
	bind := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		a := api.From(ctx)
		return &auth.TokenInfo{UserID: a.Workspace + "\n" + a.Source, Extra: map[string]any{accessInfo: a}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	handler := func(o mcp.StreamableHTTPOptions) http.Handler {
		o.Logger = cfg.Logger
		o.MaxRequestBodyBytes = cfg.MaxBody
		o.DisableLocalhostProtection = true // the server checks Host itself, and has more names to allow
		return bind(mcp.NewStreamableHTTPHandler(e.serverOf, &o))
	}
	// Progress and questions are sent on the event stream of their call. With JSONResponse they would go to the
	// session's own stream (GET), and would be lost while the client has not opened it.
	e.stateful = handler(mcp.StreamableHTTPOptions{SessionTimeout: sessionIdle})
	e.stateless = handler(mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
	e.streaming = handler(mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return e
}

// accessInfo is the key of a request's access inside the SDK.
const accessInfo = "waymark.access"

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if api.From(r.Context()).Workspace == "" {
		api.Fail(w, r, api.ErrNoCredential)
		return
	}
	// The credential was checked before. The SDK only needs to see that there is one, and handlers must not see its
	// text.
	r = r.WithContext(r.Context())
	if r.Method == http.MethodGet || r.Header.Get(HeaderMethod) == "subscriptions/listen" {
		var cancel context.CancelFunc
		r, cancel = e.untilDrained(r)
		defer cancel()
	}
	if r.Header.Get(headerProtocol) < firstStateless {
		finished, err := e.sessions.enter(api.From(r.Context()), r, w)
		if err != nil {
			api.Fail(w, r, err)
			return
		}
		defer finished()
	}
	r.Header = r.Header.Clone()
	r.Header.Set("Authorization", "Bearer checked")
	switch {
	case r.Header.Get(headerProtocol) < firstStateless: // revisions are dates and compare as text
		e.stateful.ServeHTTP(w, r)
	case r.Header.Get(HeaderMethod) == "tools/call" && !slices.Contains(quickTools, r.Header.Get(headerName)):
		e.streaming.ServeHTTP(w, r)
	default:
		e.stateless.ServeHTTP(w, r)
	}
}

// serverOf returns the server of the request's workspace, and creates it for the first request.
func (e *Endpoint) serverOf(r *http.Request) *mcp.Server {
	workspace := api.From(r.Context()).Workspace
	e.mu.Lock()
	defer e.mu.Unlock()
	srv := e.servers[workspace]
	if srv == nil {
		srv = e.NewServer(workspace)
		e.servers[workspace] = srv
	}
	return srv
}

// live returns the ids of the sessions that have not ended.
func (e *Endpoint) live() map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	open := map[string]bool{}
	for _, srv := range e.servers {
		for session := range srv.Sessions() {
			open[session.ID()] = true
		}
	}
	return open
}

// untilDrained cancels a stream that has no end of its own when shutdown begins, so that a graceful shutdown does not
// wait for clients that only listen.
func (e *Endpoint) untilDrained(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		select {
		case <-e.cfg.Draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return r.WithContext(ctx), cancel
}

// NewServer returns a server with all tools and apps. These work for any workspace, because each call takes the
// workspace from its own access. Only the upstream tools belong to one workspace.
func (e *Endpoint) NewServer(workspace string) *mcp.Server {
	cfg := e.cfg
	upstream := cfg.CallerOf(workspace) != nil
	m := &mcpTools{cfg: cfg, stateKey: []byte(rand.Text()), results: newKeptResults()}
	options := &mcp.ServerOptions{
		Instructions: mcpInstructions,
		// Waymark's own list never changes while the program runs: suggestions are sent in results.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: upstream}, Resources: &mcp.ResourceCapabilities{},
			Extensions: map[string]any{extensionApps: map[string]any{"mimeTypes": []string{mimeApp}}}},
	}
	if upstream {
		options.Instructions += upstreamInstructions
		options.Capabilities.Prompts = &mcp.PromptCapabilities{}
	}
	register := func(*mcp.Server) {}
	if cfg.Extend != nil {
		register = cfg.Extend(options)
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: cfg.Version}, options)
	for _, t := range cfg.Routes.Tools {
		if upstream || !t.Servers {
			m.offer(srv, t)
		}
	}
	if upstream {
		offerUpstream(srv, m)
	}
	addApps(srv)
	register(srv)
	srv.AddReceivingMiddleware(isolate(cfg.Logger), m.passOn)
	return srv
}

// isolate turns a panic of a handler into an error for the client. Without it the process would end.
func isolate(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
			defer func() {
				recovered := recover()
				if recovered == nil {
					return
				}
				log.ErrorContext(ctx, "panic while answering an MCP request", "method", method, "panic", recovered, "stack", string(debug.Stack()))
				if method == "tools/call" {
					result, err = refusal(api.Internal), nil
					return
				}
				result, err = nil, fmt.Errorf("%s: %w", method, api.Internal)
			}()
			return next(ctx, method, req)
		}
	}
}
