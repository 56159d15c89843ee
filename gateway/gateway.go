// Package gateway connects to the MCP servers of a user. It starts each server once somebody has agreed to it, restarts
// it when it fails, and calls the tools of all servers as one [run.Caller].
//
//	Definition ── agreed to? ──▶ upstream: start, list, watch, restart      one per server
//	                                │ tools
//	                                ▼
//	                 pinned? ─ new, changed, suspicious ─▶ withheld, until approved
//	                                │ approved
//	                                ▼
//	     Call ──▶ known ─ granted ─ arguments fit ─▶ upstream ──▶ result, checked
//
// Text from a server is untrusted data. The name of a tool is prefixed with the id that the operator gave the server. A
// contract is used only in the form that was approved. Answers are bounded in size and time, and a server that hangs,
// floods or crashes does not affect the others.
package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waymark/catalog"
	"waymark/internal/endpoint"
	"waymark/run"
	"waymark/storage"
)

// The errors of an operator's request.
var (
	ErrUnknown      = errors.New("no server, tool, prompt or resource has this name")
	ErrChangedAgain = errors.New("it changed again after it was shown")
)

// Catalog receives the tools that may be used.
type Catalog interface {
	// PutTools stores tools. For each tool it also sets the row that rows has under its id, in one transaction with the
	// event of the tool.
	PutTools(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) error
	RemoveTools(ctx context.Context, ids []string) error
}

// Options of a gateway. A limit that is zero takes its default.
type Options struct {
	Table   storage.Table // table of the workspace that stores the agreements
	Catalog Catalog       // nil: tools are used, but not stored in a catalog
	Logger  *slog.Logger
	Version string
	Now     func() time.Time
	Logins  *Logins // OAuth tokens of servers over HTTP; nil: none

	CallTimeout  time.Duration // of one call without progress; default 60 s
	StartTimeout time.Duration // from the start of a server to its handshake; default 4 min
	ListTimeout  time.Duration // to list all tools of a server; default 30 s
	Poll         time.Duration // between two lists of the tools; default 5 min
	Settle       time.Duration // from a notice of changed tools to listing them; default 1 s
	FirstWait    time.Duration // before the first restart; default 0.5 s, doubled each time
	LongestWait  time.Duration // longest wait between restarts; default 1 min
	IdleStop     time.Duration // idle time until a server stops; default 10 min; negative: never, and all start at once
	Limits       ServerLimits

	StrictResults bool // a result that does not fit the output schema of its tool is a failure
}

// ServerLimits bounds what one server may use.
type ServerLimits struct {
	BreakAfter  int           // calls in a row without an answer that open the circuit breaker; default 5
	BreakFor    time.Duration // time for which the breaker then stays open; default 15 s
	Concurrency int           // concurrent calls to one server; default 8
	MaxAnswer   int           // bytes of one message from a server; default 4 MiB
}

func (o Options) filled() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Version = cmp.Or(o.Version, "dev")
	o.CallTimeout = cmp.Or(o.CallTimeout, time.Minute)
	// Half of it is for the newest protocol revision. In this half npx waits 60 s for the lock of an npx that was killed,
	// and downloads the server.
	o.StartTimeout = cmp.Or(o.StartTimeout, 4*time.Minute)
	o.ListTimeout = cmp.Or(o.ListTimeout, 30*time.Second)
	o.Poll = cmp.Or(o.Poll, 5*time.Minute)
	o.Settle = cmp.Or(o.Settle, time.Second)
	o.FirstWait = cmp.Or(o.FirstWait, 500*time.Millisecond)
	o.LongestWait = cmp.Or(o.LongestWait, time.Minute)
	o.IdleStop = cmp.Or(o.IdleStop, 10*time.Minute)
	o.Limits.BreakAfter = cmp.Or(o.Limits.BreakAfter, 5)
	o.Limits.BreakFor = cmp.Or(o.Limits.BreakFor, 15*time.Second)
	o.Limits.Concurrency = cmp.Or(o.Limits.Concurrency, 8)
	o.Limits.MaxAnswer = cmp.Or(o.Limits.MaxAnswer, 4<<20)
	return o
}

// reach returns the HTTP transport to a server. Unless the definition is Reserved, it checks addresses with
// [endpoint.Dialer].
func (d *Definition) reach(timeout time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 8
	if !d.Reserved {
		t.DialContext = endpoint.Dialer(timeout, true).DialContext
	}
	return t
}

// Gateway manages all servers of one workspace. All methods may be called concurrently.
type Gateway struct {
	opts     Options
	register *register
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	changing sync.Mutex // serializes changes of the definitions and of the running servers

	mu     sync.Mutex
	defs   map[string]Definition
	agents map[string][]string // patterns of tool ids, by name of the agent
	idle   bool                // no server is started
	ups    map[string]*upstream
	notify []func()

	shown atomic.Pointer[shown]
}

// shown is a snapshot of the tools that the gateway offers and withholds. It is never changed.
type shown struct {
	usable   map[string]*contract // tools that may be called, by id
	tools    []catalog.Tool       // the usable tools, sorted by id
	withheld map[string]Withheld
}

// Withheld is a tool that is neither suggested nor called, with the reason.
type Withheld struct {
	ID          string       `json:"id"`
	Server      string       `json:"server"`
	Reason      string       `json:"reason"`
	Detail      string       `json:"detail"`
	Changed     []string     `json:"changed"`               // changed parts of its contract
	Changes     []PartChange `json:"changes,omitempty"`     // differences in these parts, if known
	Flags       []string     `json:"flags"`                 // reasons why it is suspicious
	Description string       `json:"description,omitempty"` // text of its server: untrusted data
	Fingerprint string       `json:"fingerprint,omitempty"` // of the contract that waits for approval
	Since       time.Time    `json:"since,omitzero"`
}

// Open reads the stored agreements. It starts no server.
func Open(ctx context.Context, o Options) (*Gateway, error) {
	if o.Table == (storage.Table{}) {
		return nil, errors.New("a gateway needs a table for approvals")
	}
	o = o.filled()
	r, err := openRegister(ctx, o)
	if err != nil {
		return nil, err
	}
	g := &Gateway{opts: o, register: r, defs: map[string]Definition{}, ups: map[string]*upstream{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.publish()
	g.running.Go(func() { o.Table.Follow(g.ctx, g.agreedElsewhere) })
	return g, nil
}

// publish computes the offered and the withheld tools from the agreements and from the last list of each running
// server. The tools of a server that has not been listed yet are known from their pins: its list is compared with the
// pins before the first call. The caller holds g.mu.
func (g *Gateway) publish() {
	kept := g.register.kept.Load()
	now := &shown{usable: map[string]*contract{}, withheld: map[string]Withheld{}}
	known := map[string]bool{} // servers whose tools are known
	for server, up := range g.ups {
		known[server] = up.listed != nil || kept.consent(server).Pinned
		for id, c := range up.listed {
			if c.wrong != "" {
				now.withheld[id] = Withheld{ID: id, Server: server, Reason: ReasonInvalid, Detail: c.wrong,
					Changed: []string{}, Flags: []string{}}
			}
		}
	}
	for id, p := range kept.pins {
		w, held := p.withheld()
		c, up := p.approved, g.ups[w.Server]
		if up != nil && up.listed != nil {
			if c = up.listed[id]; c == nil {
				w.Reason, w.Detail, held = ReasonGone, "its server does not offer it at the moment", true
			}
		}
		switch {
		case held:
			now.withheld[id] = w
		case known[w.Server] && c.wrong == "" && c.print == p.approved.print:
			now.usable[id] = c
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.usable)) {
		now.tools = append(now.tools, now.usable[id].tool)
	}
	g.shown.Store(now)
	for _, f := range g.notify {
		f()
	}
}

// OnChange registers f, which is called whenever the offered or withheld tools may have changed. f must not block.
func (g *Gateway) OnChange(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notify = append(g.notify, f)
}

// CheckAll returns the first error in the definitions: too many, one that is invalid, or two with equal ids, confusable
// ids or the same server.
func CheckAll(defs []Definition) error {
	if len(defs) > maxServers {
		return fmt.Errorf("%d servers are more than the %d of a workspace", len(defs), maxServers)
	}
	for i, d := range defs {
		if err := d.Check(); err != nil {
			return err
		}
		for _, other := range defs[:i] {
			switch {
			case d.ID == other.ID:
				return fmt.Errorf("two servers have the id %q", d.ID)
			case catalog.Skeleton(d.ID) == catalog.Skeleton(other.ID):
				return fmt.Errorf("the server ids %q and %q can be taken for each other", other.ID, d.ID)
			case d.IsAlso(other):
				return fmt.Errorf("the servers %q and %q are the same", other.ID, d.ID)
			}
		}
	}
	return nil
}

// maxServers is the maximum number of servers of one workspace.
const maxServers = 64

// IsAlso reports whether two definitions are equal except for their ids.
func (d Definition) IsAlso(other Definition) bool {
	d.ID = other.ID
	return reflect.DeepEqual(d, other)
}

// Define replaces all definitions and starts no server.
func (g *Gateway) Define(defs []Definition) error { return g.setDefinitions(defs, true) }

// Defined returns the ids of the defined servers, sorted.
func (g *Gateway) Defined() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.defs))
}

// Connect replaces all definitions. It starts the agreed servers that do not run yet, and stops those that are removed,
// changed or not agreed to. It rejects two ids that can be confused with each other. It does not wait until servers are
// ready.
func (g *Gateway) Connect(defs []Definition) error { return g.setDefinitions(defs, false) }

func (g *Gateway) setDefinitions(defs []Definition, idle bool) error {
	if err := CheckAll(defs); err != nil {
		return err
	}
	wanted := map[string]Definition{}
	for _, d := range defs {
		wanted[d.ID] = d
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	if g.ctx.Err() != nil {
		return errors.New("the gateway is closed")
	}
	g.mu.Lock()
	g.defs, g.idle = wanted, idle
	g.mu.Unlock()
	g.reconcile()
	return nil
}

// reconcile stops running servers whose current definition is different or not agreed to, and starts the agreed servers
// that do not run. The caller holds g.changing.
func (g *Gateway) reconcile() {
	kept := g.register.kept.Load()
	var ending []*upstream
	g.mu.Lock()
	for id, up := range g.ups {
		if d, still := g.defs[id]; !still || !kept.agreed(&d) || !reflect.DeepEqual(d, up.def) {
			delete(g.ups, id)
			up.cancel()
			ending = append(ending, up)
		}
	}
	g.publish()
	g.mu.Unlock()
	for _, up := range ending {
		<-up.done
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle || g.ctx.Err() != nil {
		return
	}
	for id, d := range g.defs {
		if g.ups[id] != nil || !kept.agreed(&d) {
			continue
		}
		ctx, cancel := context.WithCancel(g.ctx)
		up := newUpstream(d, g.opts, g.onListed)
		up.cancel = cancel
		if g.opts.IdleStop > 0 && kept.consent(id).Pinned {
			up.state = Idle
		}
		g.ups[id] = up
		g.running.Go(func() {
			defer close(up.done)
			up.run(ctx)
		})
	}
	g.publish()
}

// onListed compares a server's list with the pins, and publishes the tools that may be used.
func (g *Gateway) onListed(ctx context.Context, u *upstream, tools map[string]*contract, besides Offers) error {
	if err := g.register.compare(ctx, &u.def, tools, besides); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ups[u.def.ID] != u {
		return errors.New("it is being stopped")
	}
	u.listed = tools
	g.publish()
	return nil
}

// Call implements [run.Caller].
func (g *Gateway) Call(ctx context.Context, c run.Call) (run.Result, error) {
	server, _, _ := catalog.Split(c.Tool)
	up, l := g.up(server), (*link)(nil)
	if up != nil {
		var leave func()
		var why run.Result
		l, leave, why = up.enter(ctx)
		defer leave()
		if l == nil {
			return why, ctx.Err()
		}
	}
	t, why := g.find(c.Tool, up)
	if t == nil {
		return why, nil
	}
	if why := run.ApprovalReason(t.tool); why != "" && !c.Approved && !g.register.granted(t.tool.ID) {
		return failed(run.FailedPolicy, "%s needs a grant: %s; whoever runs waymark can give one with: waymark gateway grant %s", c.Tool, why, c.Tool), nil
	}
	t.schemas()
	if c.Arguments, why = t.arguments(c.Arguments); why.Failure != "" {
		return why, nil
	}
	res, err := up.call(ctx, l, t, c)
	level := slog.LevelDebug
	if res.Failure != "" {
		level = slog.LevelInfo
	}
	g.opts.Logger.Log(ctx, level, "called", "tool", c.Tool, "session", c.Session, "failure", string(res.Failure), "contract", t.print.String())
	return res, err
}

// mostArguments is the maximum size of a call's arguments in bytes.
const mostArguments = 1 << 20

// arguments returns the arguments of a call, converted to the types of the tool's schema where necessary, or the
// failure with which they are rejected.
func (c *contract) arguments(given json.RawMessage) (json.RawMessage, run.Result) {
	if len(given) > mostArguments {
		return nil, failed(run.FailedArgument, "the arguments have %d bytes, at most %d", len(given), mostArguments)
	}
	given = bytes.TrimSpace(given)
	if isNull(given) {
		given = json.RawMessage("{}")
	}
	given = catalog.ParseStrings(given, json.RawMessage(`{"type":"object"}`))
	if given[0] != '{' || !json.Valid(given) {
		return nil, failed(run.FailedArgument, "the arguments are not a JSON object")
	}
	wrong, _ := c.input.Check(given)
	if len(wrong) > 0 {
		if parsed := catalog.ParseStrings(given, c.tool.InputSchema); len(parsed) <= mostArguments {
			given = parsed
			wrong, _ = c.input.Check(given)
		}
	}
	if len(wrong) > 0 {
		return nil, failed(run.FailedArgument, "the arguments do not fit the tool's schema: %s", reasons(wrong))
	}
	return given, run.Result{}
}

func (g *Gateway) up(server string) *upstream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ups[server]
}

// find returns a tool that may be called, or a failure with the reason why it may not.
func (g *Gateway) find(id string, up *upstream) (*contract, run.Result) {
	now := g.shown.Load()
	server, name, _ := catalog.Split(id)
	g.mu.Lock()
	_, defined := g.defs[server]
	g.mu.Unlock()
	w, held := now.withheld[id]
	switch {
	case held && w.Reason == ReasonGone:
		return nil, failed(run.FailedUnavailable, "%s: %s", id, w.Detail)
	case held && w.Reason == ReasonInvalid:
		return nil, failed(run.FailedPolicy, "%s cannot be used: %s", id, w.Detail)
	case held:
		return nil, failed(run.FailedPolicy, "%s is quarantined (%s); whoever runs waymark can look at it with `waymark approve --list` and release it with: waymark approve %s", id, w.Detail, id)
	case up != nil && now.usable[id] != nil:
		return now.usable[id], run.Result{}
	case up != nil:
		return nil, failed(run.FailedUnknown, "server %s has no tool %q", server, name)
	case defined:
		return nil, failed(run.FailedUnavailable, "the start of server %s, as it is defined now, is not approved; approve it with: waymark gateway add", server)
	}
	return nil, failed(run.FailedUnknown, "no connected server offers %s", id)
}

// Tools returns the tools that may be called now, sorted by id. The caller must not modify the slice.
func (g *Gateway) Tools() []catalog.Tool { return g.shown.Load().tools }

// NeedsGrant reports whether a call of a tool requires a grant or a person's approval, and no grant covers the tool.
func (g *Gateway) NeedsGrant(id string) bool {
	c := g.shown.Load().usable[id]
	return c != nil && run.ApprovalReason(c.tool) != "" && !g.register.granted(id)
}

// Members returns the JSON members of a usable tool that the catalog does not store, as its server lists them.
func (g *Gateway) Members(id string) map[string]json.RawMessage {
	if c := g.shown.Load().usable[id]; c != nil {
		return c.members
	}
	return nil
}

// MayChange reports whether the approved contract of a usable tool does not annotate it as read-only.
func (g *Gateway) MayChange(id string) bool {
	c := g.shown.Load().usable[id]
	return c != nil && (c.tool.Annotations == nil || c.tool.Annotations.ReadOnly == nil || !*c.tool.Annotations.ReadOnly)
}

// Withheld returns the tools that are neither suggested nor called, sorted by id.
func (g *Gateway) Withheld() []Withheld {
	byID := func(a, b Withheld) int { return strings.Compare(a.ID, b.ID) }
	return slices.SortedFunc(maps.Values(g.shown.Load().withheld), byID)
}

// Close stops all servers. It returns when they and the processes they started have ended, or when ctx is done.
func (g *Gateway) Close(ctx context.Context) error {
	g.stop()
	done := make(chan struct{})
	go func() {
		g.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("servers did not end: %w", ctx.Err())
	}
}
