package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/server/internal/request"
)

// A data directory has one owner at a time, and any process may be it: a server, or one of the `waymark mcp` that hosts
// start. Each of these carries messages between its host and the /mcp of the owner, also where that is itself.
//
//	host ──stdin──▶ frames ──▶ relay ──POST──▶ /mcp of the owner
//	  ◀── stdout ───────────── relay ◀─answer──┤
//	                           relay ◀───GET───┘   what the server says unasked, up to 2025-11-25
//
// When the owner ends, the relay asks find for the next one, repeats the handshake of the host there, and goes on.
type relay struct {
	ctx        context.Context
	local      mcp.Connection
	client     *http.Client
	find       func() (Owner, error)
	headers    http.Header // of each request
	tasks      sync.WaitGroup
	failed     chan error // holds why the host cannot be written to
	connecting sync.Mutex // held while a session is looked for

	mu          sync.Mutex
	session     *session // nil: none
	hello       *jsonrpc.Request
	initialized *jsonrpc.Request
	greeted     bool                              // the host has the answer to hello
	open        map[jsonrpc.ID]context.CancelFunc // calls without an answer
	questions   int                               // of servers to the host
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
	// relayConnections bounds the calls that are with the server at once; a host may send any number.
	relayConnections = 128
	// relayIdle is shorter than a server keeps a connection: a call on one that just closes is lost.
	relayIdle = 30 * time.Second
	// ownerPatience is how long a call waits for an owner of the data directory, and ownerPause how often it looks.
	ownerPatience, ownerPause = 10 * time.Second, 20 * time.Millisecond
	// eventsPatience is how long a handshake waits for the event stream, which carries what calls ask the host for.
	eventsPatience = 2 * time.Second
)

// Draining is how a server that is ending refuses what has not begun.
const Draining = "the server is shutting down"

// Relay carries MCP between a host on in and out and the owner that find names, until in ends or ctx does. Calls that
// came before the end are answered first. The owner may change at any time. workspace and agent may be empty, and are
// obeyed only with the owner's local token.
func Relay(ctx context.Context, in io.ReadCloser, out io.WriteCloser, find func() (Owner, error), workspace, agent string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.IdleConnTimeout = relayConnections, relayIdle
	defer transport.CloseIdleConnections()
	headers := http.Header{}
	headers.Set("Content-Type", "application/json")
	headers.Set("Accept", "application/json, text/event-stream")
	headers.Set(request.HeaderConversation, pipeConversation())
	if workspace != "" {
		headers.Set(request.HeaderWorkspace, workspace)
		headers.Set(request.HeaderSource, sourceStdio)
	}
	if agent != "" {
		headers.Set(request.HeaderAgent, agent)
	}
	f := newFrames(in, out)
	defer f.stop()
	local, err := (&mcp.IOTransport{Reader: f, Writer: f.out}).Connect(ctx)
	if err != nil {
		return err
	}
	r := &relay{
		local: local, client: &http.Client{Transport: transport}, find: find, headers: headers, failed: make(chan error, 1),
		open: map[jsonrpc.ID]context.CancelFunc{},
	}
	ended := make(chan error, 1)
	go func() { ended <- r.run(context.WithoutCancel(ctx)) }()
	return f.wait(ctx, drainRelay, ended)
}

func (r *relay) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	r.ctx = ctx
	read := make(chan error, 1)
	r.tasks.Go(func() { read <- r.up(ctx) })
	select {
	case err = <-read: // all calls are answered
	case err = <-r.failed:
	}
	r.mu.Lock()
	s := r.session
	r.mu.Unlock()
	if s != nil && s.id != "" { // the server finds out by itself otherwise
		bye, done := context.WithTimeout(ctx, time.Second)
		if resp, err := r.send(bye, s, http.MethodDelete, nil); err == nil {
			_ = resp.Body.Close()
		}
		done()
	}
	cancel()
	_ = r.local.Close()
	r.tasks.Wait()
	return err
}

// up carries the host's messages to the owner.
func (r *relay) up(ctx context.Context) error {
	for {
		msg, err := r.local.Read(ctx)
		if err != nil {
			if endOfInput(err) || ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("read from the host: %w", err)
		}
		req, ok := msg.(*jsonrpc.Request)
		switch {
		case !ok:
			r.answered(ctx, msg.(*jsonrpc.Response))
		case req.Method == "initialize": // waited for, because what follows needs the session it opens
			r.greet(ctx, req)
		case req.IsCall():
			callCtx, cancel := context.WithCancel(ctx)
			r.mu.Lock()
			r.open[req.ID] = cancel
			r.mu.Unlock()
			r.tasks.Go(func() {
				defer cancel()
				r.call(callCtx, req)
			})
		default:
			r.notify(ctx, req)
		}
	}
}

// greet opens a session for the host. The answer to the handshake is passed on by begin.
func (r *relay) greet(ctx context.Context, req *jsonrpc.Request) {
	r.mu.Lock()
	before := r.session
	r.hello, r.initialized, r.greeted = req, nil, false
	r.mu.Unlock()
	if _, err := r.connect(ctx, before); err != nil {
		r.mu.Lock()
		r.hello = nil
		r.mu.Unlock()
		r.write(failure(req.ID, jsonrpc.CodeInternalError, "the waymark server did not answer: "+err.Error()))
	}
}

// notify passes a notification on. One that is lost with its session concerned nothing else.
func (r *relay) notify(ctx context.Context, n *jsonrpc.Request) {
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
		_, _ = r.post(ctx, s, n)
	}
}

// answered passes the answer to a question of a server on to that server, if its session lasts: to another one it
// would answer something else.
func (r *relay) answered(ctx context.Context, answer *jsonrpc.Response) {
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
		_, _ = r.post(ctx, s, &jsonrpc.Response{ID: id, Result: answer.Result, Error: answer.Error})
	}
}

// call answers a call of the host. What became of a call that was with an owner that ended is unknown, so it is sent
// again only where that changes nothing, and to one other owner: it may be the call that ended the first.
func (r *relay) call(ctx context.Context, req *jsonrpc.Request) {
	if records(req) {
		req.Params = withID(req.Params)
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
	r.write(answer)
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
	if _, err := r.post(r.ctx, s, initialized); err != nil || s.id == "" {
		return err
	}
	listening := make(chan struct{})
	r.tasks.Go(func() { r.events(s, sync.OnceFunc(func() { close(listening) })) })
	select {
	case <-listening:
	case <-time.After(eventsPatience):
	}
	return nil
}

// post sends a message, passes on what the server says while it works on it, and returns the answer to a call.
func (r *relay) post(ctx context.Context, s *session, msg jsonrpc.Message) (answer *jsonrpc.Response, err error) {
	resp, err := r.send(ctx, s, http.MethodPost, msg)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil, nil
	}
	message := func(data []byte) error {
		m, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			return err
		}
		if said, ok := m.(*jsonrpc.Response); ok {
			answer = said
			return io.EOF
		}
		r.pass(s, m.(*jsonrpc.Request))
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		if err = readEvents(resp.Body, message); err == io.EOF {
			err = nil
		}
	} else {
		var data []byte
		if data, err = io.ReadAll(resp.Body); err != nil {
			return nil, lostError{err, true}
		}
		if err = message(data); answer != nil {
			err = nil
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", resp.Status, err)
	case answer == nil:
		return nil, lostError{errors.New("the connection ended before the answer"), true}
	}
	answer.ID = req.ID // some refusals have none
	if req.Method == "initialize" {
		var agreed mcp.InitializeResult
		_ = json.Unmarshal(answer.Result, &agreed)
		s.id, s.revision = resp.Header.Get(headerSession), agreed.ProtocolVersion
	}
	return answer, nil
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
	headersOf(out.Header, s, msg)
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

// headersOf says in headers what HTTP needs to know of a message.
func headersOf(h http.Header, s *session, msg jsonrpc.Message) {
	revision := s.revision
	if s.id != "" {
		h.Set(headerSession, s.id)
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		var p struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
			Meta struct {
				Revision string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(req.Params, &p)
		if revision = cmp.Or(p.Meta.Revision, revision); revision >= firstStateless {
			h.Set(HeaderMethod, req.Method)
			switch req.Method {
			case "tools/call", "prompts/get":
				h.Set(headerName, p.Name)
			case "resources/read":
				h.Set(headerName, p.URI)
			}
		}
	}
	if revision != "" {
		h.Set(headerProtocol, revision)
	}
}

// pass gives the host a message of a server. Its questions get ids that no other session uses.
func (r *relay) pass(s *session, req *jsonrpc.Request) {
	r.mu.Lock()
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
	r.write(req)
}

// write gives the host a message. One that does not read any more ends the relay.
func (r *relay) write(msg jsonrpc.Message) {
	if err := r.local.Write(context.Background(), msg); err != nil {
		select {
		case r.failed <- fmt.Errorf("write to the host: %w", err):
		default:
		}
	}
}

func failure(id jsonrpc.ID, code int64, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: text}}
}
