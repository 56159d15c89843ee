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
	Waiting  State = "waiting" // it broke, and is started again after a while
	Idle     State = "idle"    // no call needs it: the next one starts it
	Stopped  State = "stopped"
)

// upstream is one server under care. One goroutine owns its life; calls come in from everywhere.
//
//	   ┌──────────────── broke: wait 0.5 s, 1 s, 2 s … 60 s ◀──────────────┐
//	   ▼                                                                   │
//	start ──▶ handshake ──▶ list tools ──▶ ready ─┬─ changed, or time ──▶ list again
//	   ▲                                          ├─ does not answer ─▶ end ┘
//	   └──── a call ◀──── idle ◀──────────────────┴─ no call for a while
//
// A server whose tools are all pinned begins idle: its tools are known from its pins.
type upstream struct {
	def     Definition
	opts    Options
	log     *slog.Logger
	breaker endpoint.Circuit
	slots   *semaphore.Weighted // one taken by each call
	stir    chan struct{}       // the tools may have changed, or a call needs an idle server
	fresh   func(context.Context, *upstream, map[string]*contract, Offers) error
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is gone
	way     int           // of ways, that worked last
	starts  atomic.Int64  // since the program was started
	tally   tally

	listed map[string]*contract // as it last listed them; nil: not yet. The gateway's lock is held for it

	mu      sync.Mutex
	state   State
	since   time.Time
	last    string        // what went wrong last
	link    *link         // nil unless it is ready
	changed chan struct{} // closed at the next change of state
	running int           // calls that use the connection, or wait for it
	used    time.Time     // when the last of them ended
}

// link is a connection that stands.
type link struct {
	session  *mcp.ClientSession
	child    *child      // nil over HTTP
	frames   *frames     // nil over HTTP
	refused  atomic.Bool // the last answer over HTTP was 401
	progress listeners

	ctx      context.Context // ends with the connection; its cause is why
	breakOff context.CancelCauseFunc
	leave    func()        // ends what the session leaves open
	done     chan struct{} // closed when the session has ended
}

// wait returns when the session has ended, and says why unless somebody did before.
func (l *link) wait() {
	defer close(l.done)
	err := l.session.Wait()
	switch {
	case l.child != nil && l.frames.tooLong.Load():
		err = errors.New("it sent a message longer than the limit")
	case l.child != nil:
		err = errors.New(l.child.story())
	case err == nil:
		err = errors.New("it closed the connection")
	}
	l.breakOff(err)
}

// story is what happened to a connection that ended, or is about to.
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
		def: d, opts: o, log: o.Logger.With("server", d.ID), slots: semaphore.NewWeighted(int64(o.Limits.Concurrency)), stir: make(chan struct{}, 1),
		done: make(chan struct{}), fresh: fresh, state: Starting, since: o.Now(), changed: make(chan struct{}),
		breaker: endpoint.Circuit{Trip: o.Limits.BreakAfter, CoolDown: o.Limits.BreakFor, Now: time.Now},
	}
}

// turn changes the state. u.mu is held.
func (u *upstream) turn(s State, l *link) {
	u.state, u.link, u.since = s, l, u.opts.Now()
	close(u.changed)
	u.changed = make(chan struct{})
}

// set changes the state; last is what went wrong, if anything did.
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

// await returns true as soon as done, which is asked at each change of the state with u.mu held, says so; false if ctx
// ends before.
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

// rest makes the server idle if no call has used it for long enough. Otherwise it returns how long that may still take.
func (u *upstream) rest() (left time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running > 0 {
		return u.opts.IdleStop
	}
	if left = u.opts.IdleStop - u.opts.Now().Sub(u.used); left > 0 {
		return left
	}
	drain(u.stir)
	u.turn(Idle, nil)
	return 0
}

// run keeps the server going until ctx ends. An idle one waits until a call needs it, or what was approved of its tools
// has changed.
func (u *upstream) run(ctx context.Context) {
	defer u.set(Stopped, nil, "")
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.RandomizationFactor, wait.Multiplier = u.opts.FirstWait, u.opts.LongestWait, 0.2, 2
	for ctx.Err() == nil {
		if state, _, _ := u.now(); state == Idle {
			select {
			case <-u.stir:
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
			wait.Reset() // it ran for a while: this is no series of failures
		}
		again := wait.NextBackOff()
		u.set(Waiting, nil, why.Error())
		u.log.Warn("a server is down", "reason", why, "again_in", again.Round(time.Millisecond))
		bounded.Wait(ctx, again)
	}
}

// errLostSession: the server does not know the session any more, and is reached anew at once.
var errLostSession = errors.New("the server does not know the session any more")

// live is one life of the server, from its start to its end. It returns why it ended; nil if it is idle.
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
		case <-u.stir:
			// Changes come in swarms; one look after the swarm is enough, and one every so often.
			if settled == nil {
				settled = time.After(u.opts.Settle)
			}
			continue
		case <-settled:
			settled = nil
			drain(u.stir)
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

// ways are tried one after the other, and the one that worked first of all the next time: the newest revision of the
// protocol, the one before, which is the last that all servers know, and the transport of 2024, since configurations often
// name none.
var ways = []struct {
	revision string
	sse      bool
}{{"", false}, {lastWithHandshake, false}, {lastWithHandshake, true}}

// connect starts or reaches the server and shakes hands.
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

// lastWithHandshake is the last revision that begins with a handshake.
const lastWithHandshake = "2025-11-25"

// ownName is what Waymark calls itself in a handshake.
const ownName = "waymark"

// errItself: the tools of a Waymark would be asked by their own answers.
var errItself = errors.New("the server is Waymark: a gateway does not connect to one, least of all to itself")

// errNoStart: there is nothing to shake hands with.
var errNoStart = errors.New("the program cannot be run")

func (u *upstream) shake(ctx context.Context, def Definition, revision string) (*link, error) {
	l := &link{done: make(chan struct{}), leave: func() {}}
	changed := func() { signal(u.stir) }
	l.ctx, l.breakOff = context.WithCancelCause(context.Background())
	client := mcp.NewClient(&mcp.Implementation{Name: ownName, Title: "Waymark", Version: u.opts.Version}, &mcp.ClientOptions{
		Logger:         slog.New(slog.DiscardHandler),
		Capabilities:   &mcp.ClientCapabilities{}, // what a host can do comes with its calls
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},

		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { changed() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progress.report(r.Params) },
	})
	transport, err := u.transport(def, l)
	if err != nil {
		return nil, err
	}
	opening, opened := ctx, func() bool { return true }
	if def.SSE { // its stream lasts as long as the connection
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
			l.child.end(true)
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

// transport is the way to the server. Over pipes it starts it.
func (u *upstream) transport(def Definition, l *link) (mcp.Transport, error) {
	longest := 4*u.opts.Limits.MaxAnswer + 4<<10 // what is sealed grows
	if def.URL != "" {
		next := def.reach(u.opts.StartTimeout)
		l.leave = next.CloseIdleConnections
		var login auth.OAuthHandler
		if _, fixed := def.Headers["Authorization"]; !fixed {
			login = &signed{u.opts.Logins, &def, next, &l.refused}
		}
		client := &http.Client{
			Transport:     &wire{next: next, headers: def.Headers, limit: u.opts.Limits.MaxAnswer, sse: def.SSE, login: login != nil && !def.SSE},
			CheckRedirect: noRedirect,
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
	l.child, l.frames = c, newFrames(c.stdout, u.opts.Limits.MaxAnswer)
	return &mcp.IOTransport{Reader: l.frames, Writer: c.stdin, MaxLineLength: longest}, nil
}

// close ends a connection. A child that does not answer is not asked.
func (u *upstream) close(l *link, hurry bool) {
	l.breakOff(errors.New("waymark is stopping it")) // ends the calls under way; a reason given before stands
	if l.child != nil {
		l.child.end(hurry)
	}
	_ = l.session.Close()
	l.leave()
	<-l.done
}
