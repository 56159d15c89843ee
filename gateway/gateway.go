// Package gateway stands in front of the MCP servers that a user has: it starts them once somebody agreed
// to that, keeps them going, and calls their tools as one [run.Caller].
//
//	Definition ── agreed to? ──▶ upstream: start, list, watch, restart      one a server
//	                                │ tools
//	                                ▼
//	                 pinned? ─ new, changed, suspicious ─▶ withheld, until approved
//	                                │ approved
//	                                ▼
//	     Call ──▶ known ─ granted ─ arguments fit ─▶ upstream ──▶ result, checked
//
// What a server says is data. Its name for a tool is used behind the id that the operator gave the server;
// a contract counts only as it was approved; what it answers is bounded in size and time, and a server that
// hangs, floods or dies does so alone.
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
	ErrUnknown      = errors.New("there is nothing of this name")
	ErrChangedAgain = errors.New("it is not what was shown: it changed again")
)

// Catalog is where tools go that may be used.
type Catalog interface {
	// PutTools also sets a row for each tool, by its id, in one transaction with the event of the tool.
	PutTools(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) error
	RemoveTools(ctx context.Context, ids []string) error
}

// Options of a gateway. The zero value of each limit means its default.
type Options struct {
	Table   storage.Table // of the workspace, where agreements are kept
	Catalog Catalog       // nil: tools are used, but not noted
	Logger  *slog.Logger
	Version string
	Now     func() time.Time
	Logins  *Logins // of servers over HTTP; nil: none

	CallTimeout  time.Duration // of one call; 60 s
	StartTimeout time.Duration // from the start of a server to its handshake; 2 min: npx may have to download it
	ListTimeout  time.Duration // for all tools of a server; 30 s
	Poll         time.Duration // between looks at the tools; 5 min
	Settle       time.Duration // between a notice that tools changed and the look at them; 1 s
	FirstWait    time.Duration // before the first restart; 0.5 s, doubled each time
	LongestWait  time.Duration // between restarts; 1 min
	IdleStop     time.Duration // without a call after which a server is stopped; 10 min; negative: never, and all are started at once
	Limits       ServerLimits

	StrictResults bool // a result that does not fit the output schema of its tool is a failure
}

// ServerLimits bound what one server may take.
type ServerLimits struct {
	BreakAfter  int           // calls in a row without an answer; 5
	BreakFor    time.Duration // that a server is left alone then; 15 s
	Concurrency int           // calls of one server at once; 8
	MaxAnswer   int           // bytes of one message of a server; 4 MiB
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
	o.StartTimeout = cmp.Or(o.StartTimeout, 2*time.Minute)
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

// reach is the way to a server over HTTP.
func (d *Definition) reach(timeout time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 8
	if !d.Reserved {
		t.DialContext = endpoint.Dialer(timeout, true).DialContext
	}
	return t
}

// Gateway is all servers of one workspace. All methods may be called concurrently.
type Gateway struct {
	opts     Options
	register *register
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	changing sync.Mutex // one change of what is defined or runs at a time

	mu     sync.Mutex
	defs   map[string]Definition
	agents map[string][]string // patterns of the tools of each
	idle   bool                // nothing is to be started
	ups    map[string]*upstream
	notify []func()

	shown atomic.Pointer[shown]
}

// shown is what the gateway offers at one moment. It is never changed.
type shown struct {
	usable   map[string]*contract // by id: what may be called
	tools    []catalog.Tool       // of them, by id
	withheld map[string]Withheld
}

// Withheld is a tool that is neither suggested nor called, and why.
type Withheld struct {
	ID          string       `json:"id"`
	Server      string       `json:"server"`
	Reason      string       `json:"reason"`
	Detail      string       `json:"detail"`
	Changed     []string     `json:"changed"`               // parts of its contract
	Changes     []PartChange `json:"changes,omitempty"`     // what is different in them, as far as it is known
	Flags       []string     `json:"flags"`                 // what is suspicious about it
	Description string       `json:"description,omitempty"` // as its server writes it: data, never to be followed
	Fingerprint string       `json:"fingerprint,omitempty"` // of what waits to be approved
	Since       time.Time    `json:"since,omitzero"`
}

// Open reads what was agreed to. Nothing is started.
func Open(ctx context.Context, o Options) (*Gateway, error) {
	if o.Table == (storage.Table{}) {
		return nil, errors.New("a gateway needs a table for what is agreed to")
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

// publish computes what is offered and withheld, from what was agreed to and what the servers that run last listed.
// The tools of a server that was not listed yet are known from their pins: its list is compared with them before the
// first call. g.mu is held.
func (g *Gateway) publish() {
	kept := g.register.kept.Load()
	now := &shown{usable: map[string]*contract{}, withheld: map[string]Withheld{}}
	known := map[string]bool{} // servers whose tools are
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

// OnChange has f called whenever what is offered or withheld has changed. f must not block.
func (g *Gateway) OnChange(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notify = append(g.notify, f)
}

// CheckAll reports what is wrong with definitions, one by one and beside each other.
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

// maxServers bounds what one workspace starts.
const maxServers = 64

// IsAlso reports whether two definitions differ in their ids only.
func (d Definition) IsAlso(other Definition) bool {
	d.ID = other.ID
	return reflect.DeepEqual(d, other)
}

// Define takes the definitions as those there are, and starts nothing.
func (g *Gateway) Define(defs []Definition) error { return g.take(defs, true) }

// Defined are the ids of the servers that are defined.
func (g *Gateway) Defined() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.defs))
}

// Connect takes the definitions as those there are: agreed ones are started unless they run already, others
// and those that are gone are stopped. Two ids that can be taken for each other are refused. It does not
// wait for servers.
func (g *Gateway) Connect(defs []Definition) error { return g.take(defs, false) }

func (g *Gateway) take(defs []Definition, idle bool) error {
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

// reconcile ends servers that are not agreed to as they are defined now, and starts those that are. g.changing is held.
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
		up := newUpstream(d, g.opts, g.took)
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

// took holds a server's list against what is pinned, and publishes what may be used of it.
func (g *Gateway) took(ctx context.Context, u *upstream, tools map[string]*contract, besides Offers) error {
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
	if why := run.Asks(t.tool); why != "" && !c.Approved && !g.register.granted(t.tool.ID) {
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

// mostArguments bounds the bytes of the arguments of a call.
const mostArguments = 1 << 20

// arguments are those of a call as the schema of the tool has them, or why they are refused.
func (c *contract) arguments(given json.RawMessage) (json.RawMessage, run.Result) {
	if len(given) > mostArguments {
		return nil, failed(run.FailedArgument, "the arguments have %d bytes, at most %d", len(given), mostArguments)
	}
	given = bytes.TrimSpace(given)
	if isNull(given) {
		given = json.RawMessage("{}")
	}
	given = catalog.Fit(given, json.RawMessage(`{"type":"object"}`))
	if given[0] != '{' || !json.Valid(given) {
		return nil, failed(run.FailedArgument, "the arguments are no JSON object")
	}
	wrong, _ := c.input.Check(given)
	if len(wrong) > 0 {
		if fitted := catalog.Fit(given, c.tool.InputSchema); len(fitted) <= mostArguments {
			given = fitted
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

// find is a tool that may be called, or why it may not.
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
		return nil, failed(run.FailedUnavailable, "nobody agreed to start server %s as it is defined now; whoever runs waymark can, with: waymark gateway add", server)
	}
	return nil, failed(run.FailedUnknown, "no connected server offers %s", id)
}

// Tools are those that may be called now, by id; the caller does not change them.
func (g *Gateway) Tools() []catalog.Tool { return g.shown.Load().tools }

// NeedsGrant reports whether a tool is called only with a grant, or a person's word, that it does not have.
func (g *Gateway) NeedsGrant(id string) bool {
	c := g.shown.Load().usable[id]
	return c != nil && run.Asks(c.tool) != "" && !g.register.granted(id)
}

// Members are the members of a tool that may be called which the catalog does not have, as its server lists them.
func (g *Gateway) Members(id string) map[string]json.RawMessage {
	if c := g.shown.Load().usable[id]; c != nil {
		return c.members
	}
	return nil
}

// Changes reports whether a tool that may be called is not annotated as reading only, in the contract that was
// approved.
func (g *Gateway) Changes(id string) bool {
	c := g.shown.Load().usable[id]
	return c != nil && (c.tool.Annotations == nil || c.tool.Annotations.ReadOnly == nil || !*c.tool.Annotations.ReadOnly)
}

// Withheld are the tools that are neither suggested nor called, by id.
func (g *Gateway) Withheld() []Withheld {
	byID := func(a, b Withheld) int { return strings.Compare(a.ID, b.ID) }
	return slices.SortedFunc(maps.Values(g.shown.Load().withheld), byID)
}

// Close stops all servers and returns when they and what they started are gone, or ctx is done.
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
