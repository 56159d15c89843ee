package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sony/gobreaker/v2"

	"waymark/catalog"
	"waymark/run"
)

// State of a server.
type State string

const (
	Starting State = "starting"
	Ready    State = "ready"
	Waiting  State = "waiting" // it broke, and is started again after a while
	Stopped  State = "stopped"
)

// upstream is one server under care. One goroutine owns its life; calls come in from everywhere.
//
//	   ┌──────────────── broke: wait 0.5 s, 1 s, 2 s … 60 s ◀──────────────┐
//	   ▼                                                                   │
//	start ──▶ handshake ──▶ list tools ──▶ ready ─┬─ changed, or time ──▶ list again
//	                                              └─ does not answer ─▶ end ┘
type upstream struct {
	def     Definition
	opts    Options
	log     *slog.Logger
	breaker *gobreaker.CircuitBreaker[run.Result]
	slots   chan struct{} // one taken by each call
	queue   atomic.Int32  // calls that wait for one
	probes  sync.WaitGroup
	stale   chan struct{}      // the tools may have changed
	look    chan chan struct{} // somebody waits for a look at the tools
	fresh   func(context.Context, *upstream, []offered) error

	calls    atomic.Int64
	failures atomic.Int64
	starts   atomic.Int64
	busy     atomic.Int64 // nanoseconds spent in calls

	mu      sync.Mutex
	state   State
	since   time.Time
	last    string // what went wrong last
	link    *link
	changed chan struct{} // closed at the next change of state
	legacy  bool          // it did not take the newest revision
}

// link is a connection that stands.
type link struct {
	session *mcp.ClientSession
	child   *child  // nil over HTTP
	frames  *frames // nil over HTTP
	done    chan struct{}
	err     error // why it ended, once done is closed
	broken  chan struct{}
	once    sync.Once
	why     string // why we broke it

	progress listeners
}

// breakOff ends the connection because of us, and says why.
func (l *link) breakOff(why string) {
	l.once.Do(func() {
		l.why = why
		close(l.broken)
	})
}

// story is what happened to a connection that ended.
func (l *link) story() string {
	select {
	case <-l.broken:
		return l.why
	default:
	}
	if l.child != nil {
		if l.frames.tooLong.Load() > 0 {
			return "it sent a message longer than the limit"
		}
		return l.child.story()
	}
	select {
	case <-l.done:
		if l.err != nil {
			return catalog.Cut(l.err.Error(), 200)
		}
	case <-time.After(200 * time.Millisecond): // the session may be about to say why
	}
	return "it closed the connection"
}

func newUpstream(d Definition, o Options, fresh func(context.Context, *upstream, []offered) error) *upstream {
	u := &upstream{
		def: d, opts: o, log: o.Logger.With("server", d.ID), slots: make(chan struct{}, o.Concurrency), stale: make(chan struct{}, 1), look: make(chan chan struct{}),
		fresh: fresh, state: Starting, since: o.Now(), changed: make(chan struct{}),
	}
	u.breaker = gobreaker.NewCircuitBreaker[run.Result](gobreaker.Settings{
		Name: d.ID, MaxRequests: 1, Timeout: o.BreakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(o.BreakAfter) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errGaveUp) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			u.log.Warn("calls to a server", "breaker", to.String())
			if to == gobreaker.StateOpen {
				if l := u.current(); l != nil {
					l.breakOff(fmt.Sprintf("%d calls in a row had no answer", o.BreakAfter))
				}
			}
		},
	})
	return u
}

func (u *upstream) set(s State, l *link, last string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state, u.link, u.since = s, l, u.opts.Now()
	if last != "" {
		u.last = last
	}
	close(u.changed)
	u.changed = make(chan struct{})
}

func (u *upstream) current() *link {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.link
}

// run keeps the server going until ctx ends.
func (u *upstream) run(ctx context.Context) {
	defer u.set(Stopped, nil, "")
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.RandomizationFactor, wait.Multiplier = u.opts.FirstWait, u.opts.LongestWait, 0.2, 2
	for {
		u.set(Starting, nil, "")
		began := u.opts.Now()
		why := u.live(ctx)
		if ctx.Err() != nil {
			return
		}
		if u.opts.Now().Sub(began) > u.opts.LongestWait {
			wait.Reset() // it ran for a while: this is no series of failures
		}
		pause := wait.NextBackOff()
		u.set(Waiting, nil, why)
		u.log.Warn("a server is down", "reason", why, "again_in", pause.Round(time.Millisecond))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// live is one life of the server, from its start to its end. It returns how it ended.
func (u *upstream) live(ctx context.Context) (why string) {
	u.starts.Add(1)
	starting, cancel := context.WithTimeout(ctx, u.opts.StartTimeout)
	l, err := u.connect(starting)
	cancel()
	if err != nil {
		return "it did not start: " + catalog.Cut(err.Error(), messageBytes)
	}
	defer func() { u.close(l, ctx.Err() == nil) }()
	if err := u.list(ctx, l); err != nil {
		return "its tools could not be listed: " + catalog.Cut(err.Error(), 300)
	}
	u.set(Ready, l, "")
	u.log.Info("a server is ready")
	poll := time.NewTicker(u.opts.Poll)
	defer poll.Stop()
	for {
		var seen chan struct{}
		select {
		case <-ctx.Done():
			return ""
		case <-l.done:
			return l.story()
		case <-l.broken:
			return l.why
		case seen = <-u.look:
		case <-poll.C:
		case <-u.stale:
			// Changes come in swarms; one look after the swarm is enough, and one every so often.
			if !pause(ctx, l, u.opts.Settle) {
				continue
			}
			drain(u.stale)
		}
		if err := u.list(ctx, l); err != nil && ctx.Err() == nil {
			u.note("its tools could not be listed again: " + catalog.Cut(err.Error(), 300))
		}
		if seen != nil {
			close(seen)
		}
	}
}

// relook has the tools listed and waits for that, if the server is up.
func (u *upstream) relook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, u.opts.ListTimeout)
	defer cancel()
	if s, _, _ := u.now(); s != Ready {
		return // it will be looked at when it is
	}
	seen := make(chan struct{})
	select {
	case u.look <- seen:
	case <-ctx.Done():
		return
	}
	select {
	case <-seen:
	case <-ctx.Done():
	}
}

func pause(ctx context.Context, l *link, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-l.done:
	case <-l.broken:
	}
	return false
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func (u *upstream) note(last string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = last
}

// refresh asks for a look at the tools soon.
func (u *upstream) refresh() {
	select {
	case u.stale <- struct{}{}:
	default:
	}
}

// connect starts or reaches the server and shakes hands: by the newest revision of the protocol, and if
// that leads nowhere, by the one before, which is the last that all servers know.
func (u *upstream) connect(ctx context.Context) (*link, error) {
	def, err := u.def.expanded(lookupEnv)
	if err != nil {
		return nil, err
	}
	if !u.legacy {
		first, cancel := context.WithTimeout(ctx, u.opts.StartTimeout/2)
		defer cancel()
		l, err := u.shake(first, def, "")
		if err == nil || ctx.Err() != nil || errors.Is(err, errNoStart) {
			return l, err
		}
		u.log.Debug("a server did not take the newest revision", "error", err)
	}
	l, err := u.shake(ctx, def, lastWithHandshake)
	if err == nil {
		u.legacy = true
	}
	return l, err
}

// lastWithHandshake is the last revision that begins with a handshake.
const lastWithHandshake = "2025-11-25"

// errNoStart: there is nothing to shake hands with.
var errNoStart = errors.New("the program cannot be run")

func (u *upstream) shake(ctx context.Context, def Definition, revision string) (*link, error) {
	l := &link{done: make(chan struct{}), broken: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: u.opts.Version}, &mcp.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           &mcp.ClientCapabilities{}, // what a host can do comes with its calls
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { u.refresh() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			l.progress.report(r.Params)
		},
	})
	transport, err := u.transport(def, l)
	if err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		if l.child != nil {
			story := l.child.story()
			l.child.end(true)
			return nil, fmt.Errorf("%w (%s)", err, story)
		}
		return nil, err
	}
	l.session = session
	go func() {
		l.err = session.Wait()
		close(l.done)
	}()
	return l, nil
}

// transport is the way to the server. Over pipes it starts it.
func (u *upstream) transport(def Definition, l *link) (mcp.Transport, error) {
	if def.URL != "" {
		client := &http.Client{
			Transport:     &wire{next: u.opts.HTTP, headers: def.Headers, limit: u.opts.MaxAnswer},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		if def.SSE {
			return &mcp.SSEClientTransport{Endpoint: def.URL, HTTPClient: client}, nil
		}
		return &mcp.StreamableClientTransport{Endpoint: def.URL, HTTPClient: client, MaxEventSize: u.opts.MaxAnswer, MaxRetries: 2}, nil
	}
	c, err := start(def, u.opts.Mark, u.log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStart, err)
	}
	l.child, l.frames = c, newFrames(c.stdout, u.opts.MaxAnswer, u.refresh)
	return tapped{&mcp.IOTransport{Reader: l.frames, Writer: c.stdin, MaxLineLength: u.opts.MaxAnswer + 4<<10}}, nil
}

// close ends a connection. A child that does not answer is not asked.
func (u *upstream) close(l *link, hurry bool) {
	select {
	case <-l.done:
	default:
		l.breakOff("waymark is stopping it") // ends the calls under way; a reason given before stands
	}
	if l.child != nil {
		l.child.end(hurry)
	}
	_ = l.session.Close()
	<-l.done
	u.probes.Wait()
}

// Limits of one list.
const mostPages, mostTools = 64, 512

// list reads all tools and hands them on.
func (u *upstream) list(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, u.opts.ListTimeout)
	defer cancel()
	var tools []offered
	seen := map[string]bool{}
	cursor := ""
	for page := 0; ; page++ {
		if page == mostPages {
			return fmt.Errorf("the list does not end: more than %d pages", mostPages)
		}
		next, more, err := u.page(ctx, l, cursor)
		if err != nil {
			return err
		}
		for _, o := range next {
			if seen[o.tool.ID] {
				return fmt.Errorf("it lists %s twice", o.tool.ID)
			}
			seen[o.tool.ID] = true
			tools = append(tools, o)
		}
		if len(tools) > mostTools {
			return fmt.Errorf("it lists more than %d tools", mostTools)
		}
		if more == "" {
			break
		}
		if more == cursor {
			return errors.New("the list does not end: a page leads to itself")
		}
		cursor = more
	}
	slices.SortFunc(tools, func(a, b offered) int { return strings.Compare(a.tool.ID, b.tool.ID) })
	return u.fresh(ctx, u, tools)
}

func (u *upstream) page(ctx context.Context, l *link, cursor string) (tools []offered, next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, x := withExchange(ctx)
	result, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	raw, ok := x.answer()
	if !ok {
		var said *jsonrpc.Error
		if errors.As(err, &said) && said.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil // a server without tools
		}
		if err != nil {
			return nil, "", err
		}
		if raw, err = json.Marshal(result); err != nil { // the session still had it
			return nil, "", err
		}
	}
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil || raw[0] != '{' {
		return nil, "", errors.New("its tools/list is no list of tools")
	}
	for _, entry := range page.Tools {
		if isNull(entry) {
			continue
		}
		tools = append(tools, read(u.def.ID, entry))
	}
	return tools, page.NextCursor, nil
}

// What the breaker is told of a call: a failure that counts against the server as a whole, or a caller that
// gave up, which says nothing.
var errDown, errGaveUp = errors.New("the server is down"), errors.New("the caller gave up")

// call carries out one call. The breaker sees what the server does as a whole; a tool that fails is the
// tool's affair.
func (u *upstream) call(ctx context.Context, t *entry, c run.Call) (run.Result, error) {
	l, res := u.ready(ctx)
	if l == nil {
		return res, ctx.Err()
	}
	free, res := u.slot(ctx)
	if free == nil {
		return res, ctx.Err()
	}
	defer free()
	began := time.Now()
	u.calls.Add(1)
	defer func() { u.busy.Add(int64(time.Since(began))) }()
	var given error
	res, err := u.breaker.Execute(func() (r run.Result, err error) {
		r, given = u.ask(ctx, l, t, c)
		if r.Failure == run.FailedTimeout || r.Failure == run.FailedUnavailable {
			return r, errDown
		}
		if given != nil {
			return r, errGaveUp
		}
		return r, nil
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		res = failed(run.FailedUnavailable, "server %s does not answer and is left alone for a while: %s", u.def.ID, u.lastWords())
	}
	if res.Failure != "" {
		u.failures.Add(1)
	}
	return res, given
}

// ready is the connection, once there is one. A server that is just starting is waited for; one that broke
// is not.
func (u *upstream) ready(ctx context.Context) (*link, run.Result) {
	late := time.NewTimer(u.opts.StartTimeout)
	defer late.Stop()
	for {
		u.mu.Lock()
		state, l, changed, last := u.state, u.link, u.changed, u.last
		u.mu.Unlock()
		switch state {
		case Ready:
			return l, run.Result{}
		case Waiting:
			return nil, failed(run.FailedUnavailable, "server %s is down: %s", u.def.ID, last)
		case Stopped:
			return nil, failed(run.FailedUnavailable, "server %s is not running", u.def.ID)
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, failed(run.FailedUnavailable, "server %s has not started yet", u.def.ID)
		case <-ctx.Done():
			return nil, run.Result{}
		}
	}
}

// slot waits for one of the calls that may run at once.
func (u *upstream) slot(ctx context.Context) (free func(), res run.Result) {
	free = func() { <-u.slots }
	select {
	case u.slots <- struct{}{}:
		return free, res
	default:
	}
	if u.queue.Add(1) > int32(u.opts.Queue) {
		u.queue.Add(-1)
		return nil, failed(run.FailedUnavailable, "server %s is busy: %d calls run and %d wait", u.def.ID, u.opts.Concurrency, u.opts.Queue)
	}
	defer u.queue.Add(-1)
	late := time.NewTimer(u.opts.CallTimeout)
	defer late.Stop()
	select {
	case u.slots <- struct{}{}:
		return free, res
	case <-late.C:
		return nil, failed(run.FailedUnavailable, "server %s is busy: no call ended within %s", u.def.ID, u.opts.CallTimeout)
	case <-ctx.Done():
		return nil, res
	}
}

// ask sends one call and reads its answer.
func (u *upstream) ask(outer context.Context, l *link, t *entry, c run.Call) (run.Result, error) {
	ctx, cancel := context.WithTimeout(outer, u.opts.CallTimeout)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a connection that we break off answers nobody
		select {
		case <-l.broken:
			cancel()
		case <-l.done:
		case <-stop:
		}
	}()
	ctx, x := withExchange(ctx)
	params := &mcp.CallToolParams{Name: t.tool.Name, Arguments: c.Arguments}
	if len(c.Arguments) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	if err := withMeta(params, c.Meta); err != nil {
		return failed(run.FailedArgument, "_meta: %v", err), nil
	}
	if c.Progress != nil {
		token, stop := l.progress.listen(c.Progress)
		defer stop()
		params.SetProgressToken(token)
	}
	_, err := l.session.CallTool(ctx, params)
	if raw, ok := x.answer(); ok {
		return resultOf(raw, t.output, t.outputErr), nil
	}
	if outer.Err() != nil {
		return run.Result{}, outer.Err()
	}
	if err == nil {
		return failed(run.FailedTool, "the server answered nothing"), nil
	}
	if errors.Is(err, context.Canceled) {
		err = mcp.ErrConnectionClosed
	}
	if errors.Is(err, context.DeadlineExceeded) {
		u.probes.Go(func() { u.probe(l) })
	}
	status, cut := x.over()
	if cut {
		return failed(run.FailedTool, "the answer is longer than %d bytes", u.opts.MaxAnswer), nil
	}
	return failureOf(err, status, u.opts.CallTimeout.String(), l.story), nil
}

// probe finds out whether a server that did not answer in time still does anything; if not, it is started
// anew.
func (u *upstream) probe(l *link) {
	asked := time.Now().UnixNano()
	ctx, cancel := context.WithTimeout(context.Background(), u.opts.ProbeTimeout)
	defer cancel()
	var err error
	if r := l.session.InitializeResult(); r != nil && r.ProtocolVersion <= lastWithHandshake {
		err = l.session.Ping(ctx, nil)
	} else {
		_, err = l.session.ListTools(ctx, nil)
	}
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || l.frames != nil && l.frames.received.Load() > asked {
		return
	}
	l.breakOff(fmt.Sprintf("it answered nothing any more, not even a ping within %s", u.opts.ProbeTimeout))
}

func (u *upstream) lastWords() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == "" {
		return "no call of late had an answer"
	}
	return u.last
}

// The keys of Call.Meta by which a host's answers to a server's questions come along.
const (
	MetaInputResponses = "io.waymark/input_responses"
	MetaRequestState   = "io.waymark/request_state"
)

// passedMeta are the keys of a host's _meta that a server gets to see: trace context, and what the host can
// be asked. The rest is between the host and us.
var passedMeta = []string{"traceparent", "tracestate", "baggage", mcp.MetaKeyClientCapabilities}

func withMeta(p *mcp.CallToolParams, meta json.RawMessage) error {
	if isNull(meta) {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(meta, &all); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch {
		case key == MetaInputResponses:
			if err := json.Unmarshal(all[key], &p.InputResponses); err != nil {
				return err
			}
		case key == MetaRequestState:
			if err := json.Unmarshal(all[key], &p.RequestState); err != nil {
				return err
			}
		case slices.Contains(passedMeta, key):
			if p.Meta == nil {
				p.Meta = mcp.Meta{}
			}
			p.Meta[key] = all[key]
		}
	}
	return nil
}
