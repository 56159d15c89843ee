package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"waymark/catalog"
	"waymark/internal/bounded"
	"waymark/internal/endpoint"
)

// State of a server.
type State string

const (
	Starting State = "starting"
	Ready    State = "ready"
	Waiting  State = "waiting" // it failed, and is restarted after a delay
	Idle     State = "idle"    // not running, as no call needs it; the next call starts it
	Stopped  State = "stopped"
)

// upstream manages one server. One goroutine controls its life cycle; calls may come from any goroutine.
//
//	   ┌──────────────── broke: wait 0.5 s, 1 s, 2 s … 60 s ◀──────────────┐
//	   ▼                                                                   │
//	start ──▶ handshake ──▶ list tools ──▶ ready ─┬─ changed, or time ──▶ list again
//	   ▲                                          ├─ does not answer ─▶ end ┘
//	   └──── a call ◀──── idle ◀──────────────────┴─ no call for a while
//
// A server whose tools are all pinned starts in the state idle: its tools are known from the pins.
type upstream struct {
	def     Definition
	opts    Options
	log     *slog.Logger
	breaker endpoint.Circuit
	slots   *semaphore.Weighted // each call takes one
	wake    chan struct{}       // signals that the tools may have changed, or that a call needs the idle server
	onList  func(context.Context, *upstream, map[string]*contract, Offers) error
	cancel  context.CancelFunc
	done    chan struct{} // closed when the server has ended
	way     int           // index into ways of the one that worked last
	starts  atomic.Int64  // number of starts since the program began
	tally   tally

	listed map[string]*contract // tools of its last list; nil: not listed yet. Guarded by Gateway.mu

	mu      sync.Mutex
	state   State
	since   time.Time
	last    string        // the last error
	link    *link         // nil unless the state is Ready
	changed chan struct{} // closed at the next change of state
	running int           // calls that use the connection, or wait for it
	used    time.Time     // when the last of them ended, or set changed the state
}

// link is an open connection to a server.
type link struct {
	session  *mcp.ClientSession
	child    *child      // nil over HTTP
	refused  atomic.Bool // the last answer over HTTP was 401
	progress listeners

	ctx      context.Context // canceled when the connection ends; its cause is the reason
	breakOff context.CancelCauseFunc
	leave    func()        // releases the resources that the session leaves open
	done     chan struct{} // closed when the session has ended
}

// wait returns when the session has ended. It cancels l.ctx with the reason, unless a reason was set before.
func (l *link) wait() {
	defer close(l.done)
	err := l.session.Wait()
	switch {
	case errors.Is(err, errTooLong):
	case l.child != nil:
		err = errors.New(l.child.story())
	case err == nil:
		err = errors.New("it closed the connection")
	}
	l.breakOff(err)
}

// story returns the reason why the connection ended. If it has not ended yet, story waits for up to one second.
func (l *link) story() string {
	if l.ctx.Err() == nil {
		bounded.Wait(l.ctx, time.Second)
	}
	if why := context.Cause(l.ctx); why != nil {
		return catalog.Cut(why.Error(), messageBytes)
	}
	return "it closed the connection"
}

func newUpstream(d Definition, o Options, fresh func(context.Context, *upstream, map[string]*contract, Offers) error) *upstream {
	if d.StartTimeout > 0 {
		o.StartTimeout = time.Duration(d.StartTimeout * float64(time.Second))
		o.ListTimeout = max(o.ListTimeout, o.StartTimeout)
	}
	if d.CallTimeout > 0 {
		o.CallTimeout = time.Duration(d.CallTimeout * float64(time.Second))
	}
	return &upstream{
		def: d, opts: o, log: o.Logger.With("server", d.ID), slots: semaphore.NewWeighted(int64(o.Limits.Concurrency)), wake: make(chan struct{}, 1),
		done: make(chan struct{}), onList: fresh, state: Starting, since: o.Now(), changed: make(chan struct{}),
		breaker: endpoint.Circuit{Trip: o.Limits.BreakAfter, CoolDown: o.Limits.BreakFor, Now: time.Now},
	}
}

// turn changes the state and notifies the waiters of changed. The caller holds u.mu.
func (u *upstream) turn(s State, l *link) {
	u.state, u.link, u.since = s, l, u.opts.Now()
	close(u.changed)
	u.changed = make(chan struct{})
}

// set changes the state. last is the error that occurred; empty keeps the previous one.
func (u *upstream) set(s State, l *link, last string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.turn(s, l)
	u.used, u.last = u.opts.Now(), cmp.Or(last, u.last)
}

func (u *upstream) now() (State, time.Time, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.since, u.last
}

// await returns true as soon as done returns true, or false if ctx ends before. done is called at the start and after
// each change of the state, with u.mu held.
func (u *upstream) await(ctx context.Context, done func() bool) bool {
	for {
		u.mu.Lock()
		is, changed := done(), u.changed
		u.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// rest makes the server idle and returns 0 if no call has used it for IdleStop. Otherwise it returns the time until the
// next check.
func (u *upstream) rest() (left time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running > 0 {
		return u.opts.IdleStop
	}
	if left = u.opts.IdleStop - u.opts.Now().Sub(u.used); left > 0 {
		return left
	}
	drain(u.wake)
	u.turn(Idle, nil)
	return 0
}

// run keeps the server running, with restarts, until ctx ends. An idle server waits until a call needs it or the
// approvals of its tools have changed.
func (u *upstream) run(ctx context.Context) {
	defer u.set(Stopped, nil, "")
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.RandomizationFactor, wait.Multiplier = u.opts.FirstWait, u.opts.LongestWait, 0.2, 2
	for ctx.Err() == nil {
		if state, _, _ := u.now(); state == Idle {
			select {
			case <-u.wake:
			case <-ctx.Done():
				return
			}
		}
		u.set(Starting, nil, "")
		began := u.opts.Now()
		why := u.live(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case why == nil, errors.Is(why, errLostSession):
			wait.Reset()
			continue
		case u.opts.Now().Sub(began) > u.opts.LongestWait:
			wait.Reset() // it ran for a while, so a new series of failures begins
		}
		again := wait.NextBackOff()
		u.set(Waiting, nil, why.Error())
		u.log.Warn("a server is down", "reason", why, "again_in", again.Round(time.Millisecond))
		bounded.Wait(ctx, again)
	}
}

// errLostSession means that the server no longer knows the session. The connection is opened again without a delay.
var errLostSession = errors.New("the server does not know the session any more")

// live runs the server once, from its start to its end. It returns the reason for the end; nil if the server became
// idle.
func (u *upstream) live(ctx context.Context) error {
	u.starts.Add(1)
	starting, cancel := context.WithTimeout(ctx, u.opts.StartTimeout)
	l, err := u.connect(starting)
	cancel()
	if err != nil {
		return fmt.Errorf("it did not start: %s", catalog.Cut(err.Error(), messageBytes))
	}
	defer func() { u.close(l, ctx.Err() == nil) }()
	if err := u.list(ctx, l); err != nil {
		return fmt.Errorf("its tools could not be listed: %s", catalog.Cut(err.Error(), 300))
	}
	u.set(Ready, l, "")
	u.log.Info("a server is ready")
	idle := time.NewTimer(u.opts.IdleStop)
	defer idle.Stop()
	if u.opts.IdleStop < 0 {
		idle.Stop()
	}
	poll := time.NewTicker(u.opts.Poll)
	defer poll.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		case <-idle.C:
			left := u.rest()
			if left == 0 {
				u.log.Info("a server is idle, and is stopped")
				return nil
			}
			idle.Reset(left)
			continue
		case <-poll.C:
		case <-u.wake:
			// Notices of changes come in bursts: the tools are listed once per Settle while a burst lasts.
			if settled == nil {
				settled = time.After(u.opts.Settle)
			}
			continue
		case <-settled:
			settled = nil
			drain(u.wake)
		}
		if err := u.list(ctx, l); err != nil && ctx.Err() == nil {
			u.mu.Lock()
			u.last = "its tools could not be listed again: " + catalog.Cut(err.Error(), 300)
			u.mu.Unlock()
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// ways are the protocol variants in the order in which connect tries them: the newest revision; the revision before it,
// the last one that all servers support; and the HTTP+SSE transport of 2024, as configurations often name no transport.
// The next connection begins with the variant that worked last.
var ways = []struct {
	revision string
	sse      bool
}{{"", false}, {lastWithHandshake, false}, {lastWithHandshake, true}}

// connect starts or reaches the server and performs the handshake.
func (u *upstream) connect(ctx context.Context) (l *link, err error) {
	def, err := u.def.expanded(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if def.SSE {
		u.way = len(ways) - 1
	}
	var first error
	for _, way := range ways[u.way:] {
		if way.sse && def.URL == "" {
			break
		}
		def.SSE = way.sse
		trying, cancel := ctx, func() {}
		if way.revision == "" {
			trying, cancel = context.WithTimeout(ctx, u.opts.StartTimeout/2)
		}
		l, err = u.shake(trying, def, way.revision)
		cancel()
		if err == nil {
			u.way = slices.Index(ways, way)
			return l, nil
		}
		if !way.sse || first == nil {
			first = err
		}
		if ctx.Err() != nil || errors.Is(err, errNoStart) || errors.Is(err, errNoLogin) || errors.Is(err, errItself) {
			break
		}
		u.log.Debug("a server was not reached in one way", "revision", way.revision, "sse", way.sse, "error", err)
	}
	return nil, first
}

// lastWithHandshake is the last protocol revision that begins with a handshake.
const lastWithHandshake = "2025-11-25"

// ownName is the name of Waymark in a handshake.
const ownName = "waymark"

// errItself rejects a connection to a Waymark server, whose answers can in turn depend on this gateway.
var errItself = errors.New("the server is Waymark: a gateway does not connect to one, least of all to itself")

// errNoStart means that the program of the server could not be started, so no handshake is possible.
var errNoStart = errors.New("the program cannot be run")

func (u *upstream) shake(ctx context.Context, def Definition, revision string) (*link, error) {
	l := &link{done: make(chan struct{}), leave: func() {}}
	changed := func() { signal(u.wake) }
	l.ctx, l.breakOff = context.WithCancelCause(context.Background())
	client := mcp.NewClient(&mcp.Implementation{Name: ownName, Title: "Waymark", Version: u.opts.Version}, &mcp.ClientOptions{
		Logger:         slog.New(slog.DiscardHandler),
		Capabilities:   &mcp.ClientCapabilities{}, // the host's capabilities are sent with its calls
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},

		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed() },
	})
	transport, err := u.transport(def, l)
	if err != nil {
		return nil, err
	}
	opening, opened := ctx, func() bool { return true }
	if def.SSE { // its stream must outlive ctx and last as long as the connection
		var end context.CancelFunc
		opening, end = context.WithCancel(context.WithoutCancel(ctx))
		opened = context.AfterFunc(ctx, end)
		idle := l.leave
		l.leave = func() { end(); idle() }
	}
	l.session, err = client.Connect(opening, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if !opened() && err == nil {
		err = errors.Join(context.Cause(ctx), l.session.Close())
	}
	if err != nil {
		l.leave()
		if l.child != nil {
			story := l.child.story()
			l.child.end(false) // npx, killed while it installs, leaves a lock at which the next one waits for a minute
			return nil, fmt.Errorf("%w (%s)", err, story)
		}
		return nil, u.refusal(l, err)
	}
	go l.wait()
	if info := l.session.InitializeResult(); info != nil && info.ServerInfo != nil && info.ServerInfo.Name == ownName {
		u.close(l, true)
		return nil, errItself
	}
	return l, nil
}

// transport returns the MCP transport to the server. For a command, it starts the process.
func (u *upstream) transport(def Definition, l *link) (mcp.Transport, error) {
	longest := 4*u.opts.Limits.MaxAnswer + 4<<10 // a sealed result is longer than the original
	if def.URL != "" {
		next := def.reach(u.opts.StartTimeout)
		l.leave = next.CloseIdleConnections
		var login auth.OAuthHandler
		if _, fixed := def.Headers["Authorization"]; !fixed {
			login = &signed{u.opts.Logins, &def, next, &l.refused}
		}
		client := &http.Client{
			CheckRedirect: noRedirect,
			Transport: &wire{
				next: next, headers: def.Headers, limit: u.opts.Limits.MaxAnswer, reports: &l.progress,
				sse: def.SSE, login: login != nil && !def.SSE,
			},
		}
		if def.SSE {
			return &mcp.SSEClientTransport{Endpoint: def.URL, HTTPClient: client}, nil
		}
		return &mcp.StreamableClientTransport{Endpoint: def.URL, HTTPClient: client, OAuthHandler: login, MaxEventSize: longest, MaxRetries: 2}, nil
	}
	c, err := start(def, u.log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStart, err)
	}
	l.child = c
	return &mcp.IOTransport{Reader: newFrames(c.stdout, u.opts.Limits.MaxAnswer, &l.progress), Writer: c.stdin, MaxLineLength: longest}, nil
}

// close ends a connection. It ends a child before the session, so it does not wait for an unresponsive child to answer.
// With hurry, the child is killed at once.
func (u *upstream) close(l *link, hurry bool) {
	l.breakOff(errors.New("waymark is stopping it")) // cancels the calls in progress; an earlier reason is kept
	if l.child != nil {
		l.child.end(hurry)
	}
	_ = l.session.Close()
	l.leave()
	<-l.done
}
