package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/bounded"
	"waymark/server/internal/request"
)

// A data directory has one owner at a time, and any process may be it: a server, or one of the `waymark mcp` that hosts
// start. Each of these carries messages between its host, one on a line, and the /mcp of the owner, also where that is
// itself.
//
//	host ──stdin──▶ relay ──POST──▶ /mcp of the owner
//	  ◀── stdout ── relay ◀─answer──┤
//	                relay ◀───GET───┘   what the server says unasked, up to 2025-11-25
//
// When the owner ends, the relay asks find for the next one, repeats the handshake of the host there, and goes on. A
// line that is no message is answered with a JSON-RPC error, and the next one is read.
type relay struct {
	ctx     context.Context
	client  *http.Client
	find    func() (Owner, error)
	headers http.Header // of each request
	failed  chan error  // holds why the host cannot be written to

	out     io.Writer
	line    sync.Mutex   // held while a line is written
	writing atomic.Int64 // since when, in Unix nanoseconds; 0: none is

	calls      sync.WaitGroup // that have an end
	tasks      sync.WaitGroup // all other goroutines
	connecting sync.Mutex     // held while a session is looked for

	mu          sync.Mutex
	session     *session // nil: none
	hello       *jsonrpc.Request
	initialized *jsonrpc.Request
	greeted     bool                              // the host has the answer to hello
	open        map[jsonrpc.ID]context.CancelFunc // calls without an answer
	questions   int                               // of servers to the host
	ending      bool                              // the host asks and answers no more
}

// Owner is where the process that has the data directory answers, and the token it wants.
type Owner struct{ Endpoint, Token string }

// session is what was agreed on with one owner.
type session struct {
	Owner
	id, revision string // empty without a handshake
	ctx          context.Context
	end          context.CancelFunc
	asked        map[jsonrpc.ID]jsonrpc.ID // the server's ids of questions to the host, by those that the host sees
}

// lostError says that a session is over. Of a message that was sent it is unknown what became of it.
type lostError struct {
	error
	sent bool
}

const (
	// drainRelay is how long answers may still arrive after this process received a signal to stop.
	drainRelay = 10 * time.Second
	// longestWrite is how long a host may take to read an answer after the end of its input.
	longestWrite = 30 * time.Second
	// relayConnections bounds the calls that are with the server at once; a host may send any number.
	relayConnections = 128
	// relayIdle is shorter than a server keeps a connection: a call on one that just closes is lost.
	relayIdle = 30 * time.Second
	// ownerPatience is how long a call waits for an owner of the data directory, and ownerPause how often it looks.
	ownerPatience, ownerPause = 10 * time.Second, 20 * time.Millisecond
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// Draining is how a server that is ending refuses what has not begun.
const Draining = "the server is shutting down"

// errAbandoned ends a relay whose answers nobody takes.
var errAbandoned = errors.New("answers could not be written: the host neither reads its pipe nor closes it")

// Relay carries MCP between a host on in and out and the owner that find names, until in ends or ctx does; then it
// closes both. Calls that came before the end are answered first. The owner may change at any time. workspace and
// agent may be empty, and are obeyed only with the owner's local token.
func Relay(ctx context.Context, in io.Reader, out io.Writer, find func() (Owner, error), workspace, agent string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.IdleConnTimeout = relayConnections, relayIdle
	defer transport.CloseIdleConnections()
	headers := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	// It distinguishes processes with one data directory and hosts of one name.
	headers.Set(request.HeaderConversation, "pipe-"+rand.Text()[:16])
	if workspace != "" {
		headers.Set(request.HeaderWorkspace, workspace)
		headers.Set(request.HeaderSource, sourceStdio)
	}
	if agent != "" {
		headers.Set(request.HeaderAgent, agent)
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &relay{
		ctx: work, client: &http.Client{Transport: transport}, find: find, headers: headers, failed: make(chan error, 1), out: out,
		open: map[jsonrpc.ID]context.CancelFunc{},
	}
	lines := make(chan frame)
	go readLines(work, in, lines)
	err := r.serve(ctx, lines)
	r.leave()
	cancel()
	for _, end := range []any{in, out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close()
		}
	}
	select {
	case <-done(&r.calls, &r.tasks):
	case <-time.After(drainRelay / 2):
		err = errAbandoned
	}
	return err
}

func done(all ...*sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, w := range all {
			w.Wait()
		}
	}()
	return done
}

// serve takes lines until their end, or that of ctx, and the answers to the calls in them.
func (r *relay) serve(ctx context.Context, lines <-chan frame) error {
	var ended error
	var turn, idle <-chan struct{}
	var late <-chan time.Time
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	for stop := ctx.Done(); ; {
		next := lines
		if turn != nil {
			next = nil
		}
		select {
		case l := <-next:
			turn = r.receive(l)
			if l.err != nil {
				lines, idle = nil, r.hangUp()
			}
			if errors.As(l.err, new(*bounded.LimitError)) {
				ended = l.err
			}
		case <-turn:
			turn = nil
		case <-stop:
			stop, idle, late = nil, r.hangUp(), time.After(drainRelay)
		case <-idle:
			return ended
		case <-late: // the calls in flight are cancelled
			return nil
		case err := <-r.failed:
			if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) { // the host has just gone
				return nil
			}
			return fmt.Errorf("write to the host: %w", err)
		case <-watch.C:
			if since := r.writing.Load(); idle != nil && since != 0 && time.Since(time.Unix(0, since)) > longestWrite {
				return errAbandoned
			}
		}
	}
}

// receive takes one line. Lines after it wait for turn: what follows a handshake needs the session that it opens, and a
// question after an episode counts it.
func (r *relay) receive(l frame) (turn <-chan struct{}) {
	line := bytes.TrimSpace(l.line)
	if len(line) == 0 && !l.tooLong {
		return nil
	}
	var id json.RawMessage
	var messages []jsonrpc.Message
	code, reason := -32600, "the message is longer than 4 MiB"
	if !l.tooLong {
		id, code, reason = checkFrame(line)
	}
	if code == 0 && line[0] == '[' && !r.hasBatches() {
		code, reason = -32600, "this revision of the protocol has no batches: send one message per line"
	}
	if code == 0 {
		var err error
		if messages, err = messagesOf(line); err != nil {
			code, reason = -32600, "the line is no JSON-RPC message: "+err.Error()
		}
	}
	if code != 0 {
		r.writeLine(frameError(id, code, reason))
		return nil
	}
	reply := func(m *jsonrpc.Response) { r.write(m) }
	if line[0] == '[' {
		reply = r.together(messages)
	}
	for _, m := range messages {
		switch m := m.(type) {
		case *jsonrpc.Response:
			r.answered(m)
		case *jsonrpc.Request:
			if !m.IsCall() {
				r.notify(m)
			} else if answered := r.ask(m, reply); records(m) || m.Method == "initialize" {
				turn = answered
			}
		}
	}
	return turn
}

// hasBatches reports whether the revision agreed on has them: only what was before 2025-06-18.
func (r *relay) hasBatches() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session != nil && r.session.revision != "" && r.session.revision < firstStructured
}

// together writes the answers to the calls of a batch as one.
func (r *relay) together(batch []jsonrpc.Message) func(*jsonrpc.Response) {
	var mu sync.Mutex
	var answers []json.RawMessage
	calls := 0
	for _, m := range batch {
		if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
			calls++
		}
	}
	return func(m *jsonrpc.Response) {
		data, err := jsonrpc.EncodeMessage(m)
		mu.Lock()
		defer mu.Unlock()
		if answers = append(answers, data); err == nil && len(answers) == calls {
			data, _ = json.Marshal(answers) // of JSON
			r.writeLine(data)
		}
	}
}

// ask begins a call; the channel is closed when it is answered.
func (r *relay) ask(req *jsonrpc.Request, reply func(*jsonrpc.Response)) <-chan struct{} {
	ctx, cancel := context.WithCancel(r.ctx)
	answered := make(chan struct{})
	r.mu.Lock()
	ending := r.ending
	r.open[req.ID] = cancel
	r.mu.Unlock()
	run := r.calls.Go
	if ending || req.Method == "subscriptions/listen" { // lasts until the host cancels it
		run = r.tasks.Go
	}
	run(func() {
		defer close(answered)
		defer cancel()
		switch {
		case ending:
			reply(failure(req.ID, codeEnding, Draining+"; start it again"))
		case req.Method == "initialize":
			r.greet(req)
		default:
			r.call(ctx, req, reply)
		}
	})
	return answered
}

// hangUp fails the questions to the host, which it answers no more. The channel is closed when its calls are answered.
func (r *relay) hangUp() <-chan struct{} {
	r.mu.Lock()
	r.ending = true
	var asked []jsonrpc.ID
	if r.session != nil {
		asked = slices.Collect(maps.Keys(r.session.asked))
	}
	r.mu.Unlock()
	for _, id := range asked {
		r.tasks.Go(func() { r.answered(failure(id, codeEnding, "the host has closed its end")) })
	}
	return done(&r.calls)
}

// leave ends the session with the owner, which finds out by itself otherwise.
func (r *relay) leave() {
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	r.mu.Lock()
	s := r.session
	r.mu.Unlock()
	if s != nil && s.id != "" {
		if resp, err := r.send(ctx, s, http.MethodDelete, nil); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// greet opens a session for the host. The answer to the handshake is passed on by begin.
func (r *relay) greet(req *jsonrpc.Request) {
	r.mu.Lock()
	before := r.session
	r.hello, r.initialized, r.greeted = req, nil, false
	r.mu.Unlock()
	if _, err := r.connect(r.ctx, before); err != nil {
		r.mu.Lock()
		r.hello = nil
		r.mu.Unlock()
		r.write(failure(req.ID, jsonrpc.CodeInternalError, "the waymark server did not answer: "+err.Error()))
	}
}

// notify passes a notification on. One that is lost with its session concerned nothing else.
func (r *relay) notify(n *jsonrpc.Request) {
	r.mu.Lock()
	s := r.session
	if n.Method == "notifications/initialized" {
		r.initialized = n
	}
	cancel := r.open[cancelledCall(n)]
	r.mu.Unlock()
	switch {
	case s == nil:
	case n.Method == "notifications/initialized":
		_ = r.listen(s, n)
	case n.Method == "notifications/cancelled" && s.id == "" && cancel != nil:
		cancel() // without a session a server knows a cancellation by the end of the connection
	default:
		_, _ = r.post(r.ctx, s, n)
	}
}

// answered passes the answer to a question of a server on to that server, if its session lasts: to another one it
// would answer something else.
func (r *relay) answered(answer *jsonrpc.Response) {
	r.mu.Lock()
	s := r.session
	var id jsonrpc.ID
	known := false
	if s != nil {
		id, known = s.asked[answer.ID]
		delete(s.asked, answer.ID)
	}
	r.mu.Unlock()
	if known {
		_, _ = r.post(r.ctx, s, &jsonrpc.Response{ID: id, Result: answer.Result, Error: answer.Error})
	}
}

// call answers a call of the host. What became of a call that was with an owner that ended is unknown, so it is sent
// again only where that changes nothing, and to one other owner: it may be the call that ended the first.
func (r *relay) call(ctx context.Context, req *jsonrpc.Request, reply func(*jsonrpc.Response)) {
	if records(req) {
		again := *req // who reads the lines still looks at it
		again.Params, req = withID(req.Params), &again
	}
	var answer *jsonrpc.Response
	sent := "" // the token of the owner that it was with
	began := time.Now()
	s, err := r.connect(ctx, nil)
	for err == nil {
		var lost lostError
		if answer, err = r.post(ctx, s, req); ctx.Err() != nil || !errors.As(err, &lost) {
			break
		}
		if lost.sent {
			other := sent != "" && sent != s.Token
			if sent = s.Token; other || !repeatable(req) || time.Since(began) > ownerPatience {
				break
			}
			pause(ctx, ownerPause) // it may still be about to end
		}
		s, err = r.connect(ctx, s)
	}
	r.mu.Lock()
	delete(r.open, req.ID)
	r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return // nobody waits for it
	case answer != nil:
	case sent != "":
		answer = failure(req.ID, codeEnding, "the waymark process that had the data directory ended during this call, so it is unknown "+
			"whether it was carried out; another takes over: ask again if doing it twice does no harm")
	case errors.As(err, new(lostError)):
		answer = failure(req.ID, codeEnding, "no waymark process answers for the data directory, so the call was not carried out; ask again: "+err.Error())
	default:
		answer = failure(req.ID, jsonrpc.CodeInternalError, "the waymark server did not answer: "+err.Error())
	}
	reply(answer)
}

// withID gives an episode without an id one, so that it counts once however often it is sent.
func withID(params json.RawMessage) json.RawMessage {
	var p, episode map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["arguments"], &episode) != nil || episode == nil {
		return params
	}
	if id := string(episode["id"]); id != "" && id != `""` && id != "null" {
		return params
	}
	episode["id"] = json.RawMessage(`"mcp-` + rand.Text() + `"`)
	p["arguments"], _ = json.Marshal(episode) // was JSON before
	params, _ = json.Marshal(p)
	return params
}

// repeatable reports whether a call may be carried out twice: one that reads, or records an episode, which counts once.
func repeatable(req *jsonrpc.Request) bool {
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(req.Params, &p)
	return req.Method != "tools/call" || records(req) || slices.ContainsFunc(mcpToolset(), func(t mcpTool) bool {
		return t.tool.Name == p.Name && t.tool.Annotations.ReadOnlyHint
	})
}

// connect is a session other than the one that was lost: that of another call which lost it too, or a new one.
func (r *relay) connect(ctx context.Context, lost *session) (*session, error) {
	began := time.Now()
	r.connecting.Lock()
	defer r.connecting.Unlock()
	r.mu.Lock()
	s := r.session
	if s == lost {
		s, r.session = nil, nil
	}
	r.mu.Unlock()
	if lost != nil {
		lost.end()
	}
	for s == nil {
		var err error
		if s, err = r.begin(ctx); err == nil {
			break
		}
		if time.Since(began) > ownerPatience {
			return nil, lostError{error: err}
		}
		if pause(ctx, ownerPause); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return s, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// begin opens a session with the owner of the moment, as the host did with the first one.
func (r *relay) begin(ctx context.Context) (*session, error) {
	owner, err := r.find()
	if err != nil {
		return nil, err
	}
	s := &session{Owner: owner, asked: map[jsonrpc.ID]jsonrpc.ID{}}
	s.ctx, s.end = context.WithCancel(r.ctx)
	r.mu.Lock()
	hello, initialized, again := r.hello, r.initialized, r.greeted
	r.mu.Unlock()
	if hello != nil {
		answer, err := r.post(ctx, s, hello)
		if err == nil && again && answer.Error != nil {
			err = answer.Error
		}
		if err == nil && again && initialized != nil {
			err = r.listen(s, initialized)
		}
		if err != nil {
			s.end()
			return nil, err
		}
		switch {
		case !again:
			r.write(answer)
		case initialized != nil:
			r.write(&jsonrpc.Request{Method: "notifications/tools/list_changed"})
		}
		if answer.Error != nil {
			hello = nil
		}
	}
	r.mu.Lock()
	r.session, r.hello, r.greeted = s, hello, hello != nil
	r.mu.Unlock()
	return s, nil
}

// listen ends the handshake, and opens the event stream of the session.
func (r *relay) listen(s *session, initialized *jsonrpc.Request) error {
	_, err := r.post(r.ctx, s, initialized)
	if err == nil && s.id != "" {
		r.tasks.Go(func() { r.events(s) })
	}
	return err
}

// events carries what the server says on its own, on the event stream of the session, as long as both last. Its end
// is how a host that asks nothing gets to the next owner.
func (r *relay) events(s *session) {
	for s.ctx.Err() == nil {
		resp, err := r.send(s.ctx, s, http.MethodGet, nil)
		switch {
		case err == nil:
			_, _ = r.messages(s, resp)
			pause(s.ctx, ownerPause)
		case errors.As(err, new(lostError)): // unless somebody else has replaced it
			for next := (*session)(nil); next == nil && r.ctx.Err() == nil; {
				next, _ = r.connect(r.ctx, s)
			}
		default: // refused, for now
			pause(s.ctx, time.Second)
		}
	}
}

// post sends a message, passes on what the server says while it works on it, and returns the answer to a call.
func (r *relay) post(ctx context.Context, s *session, msg jsonrpc.Message) (answer *jsonrpc.Response, err error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() { // the lines behind it wait
		late, cancel := context.WithTimeout(ctx, ownerPatience)
		defer cancel()
		resp, err := r.send(late, s, http.MethodPost, msg)
		if err != nil {
			return nil, err
		}
		return nil, resp.Body.Close()
	}
	resp, err := r.send(ctx, s, http.MethodPost, msg)
	if err != nil {
		return nil, err
	}
	if answer, err = r.messages(s, resp); err != nil {
		return nil, lostError{fmt.Errorf("%s, and the connection ended before the answer: %w", resp.Status, err), true}
	}
	answer.ID = req.ID // some refusals have none
	if req.Method == "initialize" {
		var agreed mcp.InitializeResult
		_ = json.Unmarshal(answer.Result, &agreed)
		s.id, s.revision = resp.Header.Get(headerSession), agreed.ProtocolVersion
	}
	return answer, nil
}

// messages reads the messages of a body up to the first response; the others are for the host. Waymark writes one on a
// line, as it is or as the data of an event.
func (r *relay) messages(s *session, resp *http.Response) (*jsonrpc.Response, error) {
	defer resp.Body.Close()
	for body := bufio.NewReader(resp.Body); ; {
		line, err := body.ReadBytes('\n')
		if line = bytes.TrimPrefix(line, []byte("data: ")); len(line) > 0 && line[0] == '{' {
			msg, wrong := jsonrpc.DecodeMessage(line)
			switch msg := msg.(type) {
			case *jsonrpc.Response:
				return msg, nil
			case *jsonrpc.Request:
				r.pass(s, msg)
			}
			err = cmp.Or(err, wrong)
		}
		if err != nil {
			return nil, err
		}
	}
}

// send sends one request. The answer is one of the server, for that message: others are an error.
func (r *relay) send(ctx context.Context, s *session, method string, msg jsonrpc.Message) (*http.Response, error) {
	var body []byte
	var err error
	if msg != nil {
		if body, err = jsonrpc.EncodeMessage(msg); err != nil {
			return nil, err
		}
	}
	out, err := http.NewRequestWithContext(ctx, method, s.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.headers.Clone()
	out.Header.Set("Authorization", "Bearer "+s.Token)
	var p struct { // what HTTP needs to know of a message
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	of := map[string]string{headerSession: s.id, headerProtocol: s.revision}
	if req, ok := msg.(*jsonrpc.Request); ok {
		_ = json.Unmarshal(req.Params, &p)
		if of[headerProtocol] = cmp.Or(p.Meta.Revision, s.revision); of[headerProtocol] >= firstStateless {
			of[HeaderMethod], of[headerName] = req.Method, cmp.Or(p.Name, p.URI)
		}
	}
	for name, value := range of {
		if value != "" {
			out.Header.Set(name, value)
		}
	}
	resp, err := r.client.Do(out)
	if err != nil {
		var dial *net.OpError
		return nil, lostError{err, !errors.As(err, &dial) || dial.Op != "dial"}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode < 300 || kind == "application/json" { // a refusal in JSON is a message
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(text, &problem)
	err = fmt.Errorf("%s: %s", resp.Status, cmp.Or(problem.Detail, string(bytes.TrimSpace(text))))
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusNotFound && kind == "text/plain":
		return nil, lostError{err, false} // another process, or a session that has ended
	case strings.HasSuffix(problem.Detail, Draining): // refused before it began, or cut off
		return nil, lostError{err, problem.Detail != Draining}
	}
	return nil, err
}

// pass gives the host a message of a server. Its questions get ids that no other session uses.
func (r *relay) pass(s *session, req *jsonrpc.Request) {
	r.mu.Lock()
	ending := r.ending && req.IsCall()
	switch {
	case req.IsCall():
		r.questions++
		id, _ := jsonrpc.MakeID(float64(r.questions)) // a number always is one
		s.asked[id] = req.ID
		req.ID = id
	case req.Method == "notifications/cancelled":
		cancelled := cancelledCall(req)
		for id, theirs := range s.asked {
			if theirs == cancelled {
				req.Params, _ = json.Marshal(map[string]any{"requestId": id.Raw()}) // ids always encode
			}
		}
	}
	r.mu.Unlock()
	if ending {
		r.answered(failure(req.ID, codeEnding, "the host has closed its end"))
		return
	}
	r.write(req)
}

func (r *relay) write(msg jsonrpc.Message) {
	line, err := jsonrpc.EncodeMessage(msg)
	if err == nil {
		r.writeLine(line)
	}
}

// writeLine gives the host a line. A host that reads no more ends the relay.
func (r *relay) writeLine(line []byte) {
	r.line.Lock()
	defer r.line.Unlock()
	r.writing.Store(time.Now().UnixNano())
	_, err := r.out.Write(append(line, '\n'))
	r.writing.Store(0)
	if err != nil {
		select {
		case r.failed <- err:
		default:
		}
	}
}

func failure(id jsonrpc.ID, code int64, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: text}}
}
