package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/gateway"
	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	"waymark/server/internal/scoring"
	mcpserver "waymark/server/mcp"
	"waymark/storage"
)

// Access configures which clients may send requests to a server.
type Access struct {
	LocalToken string   // bearer token with full access, for the command line of the same user
	RequireKey bool     // every request needs an API key; required for each bind that is not loopback
	Hosts      []string // accepted Host names besides loopback names and the local address of the connection
	Origins    []string // accepted browser origins besides the server's own
	Proxies    []string // addresses of reverse proxies: limits per address do not apply to them
}

// Limits bounds the resources that clients may use. A field with the zero value has its default.
type Limits struct {
	Rate           float64       // requests per second and key, operator ten times as many; default 1000, negative: no limit
	Burst          int           // default 2000, ten times as many for the operator
	MaxBody        int64         // bytes of one body or NDJSON line; default 1 MiB
	MaxBodies      int64         // bytes of all bodies being read at the same time; default 64 MiB
	MaxConnections int           // default 1024; also the most concurrent requests and the most MCP sessions
	Timeout        time.Duration // of a response whose route or MCP tool sets no other; default 30 s
	Drain          time.Duration // time for open requests to finish at shutdown; default 10 s

	grace time.Duration // default slowGrace; only tests change it
}

// Config configures a server.
type Config struct {
	Store      *storage.Store
	Workspaces *live.Workspaces
	Judges     score.Judges // models that scorers may call; none by default
	// RecordScores records runs of scorers as episodes, which makes them part of the graph.
	RecordScores bool
	Upstream     mcpserver.Upstream // the servers behind the gateway
	Caller       run.Caller         // calls the tools of these servers; nil if there are none
	Logger       *slog.Logger       // default: nothing is logged
	Version      string
	Now          func() time.Time // default time.Now

	KeepFor time.Duration // age of the last step above which an episode is erased; 0: no limit

	Data string // directory of the store and of the files of hooks; may be empty

	Settings any // with which the server was started; shown to the operator

	Access
	Limits
	TLS *tls.Config // of the first listener of Serve; nil: no TLS

	// Traces records an OpenTelemetry export request, in JSON or protobuf; nil: the server takes no traces.
	Traces func(ctx context.Context, workspace, source string, body []byte, protobuf bool) error

	// KeepKey stores the digest key of a workspace where hooks and importers of this machine find it; may be nil.
	KeepKey func(ctx context.Context, workspace string) error

	// extendMCP changes the options of each MCP server and returns a function that registers more on it. For tests
	// only.
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
	rates   sync.Map  // *rate.Limiter by credential: at most as many as there are keys
	bodies  api.Share // bytes of bodies being read
	open    api.Share // requests being answered
	streams api.Share // open requests that are streams without an end of their own
	page    pageSessions
	ports   sync.Map // of Serve, by their decimal text

	keyed atomic.Pointer[keyed]

	description func() (description, error)

	draining  chan struct{} // closed when shutdown begins
	drainOnce sync.Once
}

// engine returns the engine of the request's workspace. It creates no workspace.
func (s *Server) engine(ctx context.Context) (*live.Engine, error) {
	return s.cfg.Workspaces.Get(ctx, api.From(ctx).Workspace)
}

// gateway returns the gateway of the caller's workspace.
func (s *Server) gateway(ctx context.Context) (*gateway.Gateway, error) {
	g := s.cfg.Upstream.Gateway
	if g == nil || api.From(ctx).Workspace != s.cfg.Upstream.Workspace {
		return nil, api.Problem(http.StatusServiceUnavailable, "no servers are defined in this workspace; define them with `waymark gateway add`")
	}
	return g, nil
}

// workspaces returns the sorted names of the workspaces that can be queried.
func (s *Server) workspaces(ctx context.Context) ([]string, error) {
	names, err := s.cfg.Workspaces.List(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, api.DefaultWorkspace) { // it exists before anything is recorded in it
		names = append(names, api.DefaultWorkspace)
	}
	slices.Sort(names)
	return names, nil
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

// streamPart limits streams without an end of their own to Config.MaxConnections / streamPart.
const streamPart = 4

func (s *Server) clientsOf(a api.Access) []api.Client { return api.ClientsOf(a, s.isProxy) }

// isProxy reports whether an address is that of a configured reverse proxy, which many clients share.
func (s *Server) isProxy(address string) bool {
	return slices.ContainsFunc(s.cfg.Proxies, func(p string) bool { return api.AddressOf(p) == address })
}

const ndjson = "application/x-ndjson"

// question is a request with a body.
type question[B any] struct{ Body B }
