package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/bounded"
	"waymark/server/internal/api"
)

// relay connects its host, which sends one message per line, with /mcp of the owner of a data directory. The owner is
// the one process that has the directory open: a server, or one of the `waymark mcp` processes that hosts start. It may
// be the process of the relay itself.
//
//	host ──stdin──▶ relay ──POST──▶ /mcp of the owner
//	  ◀── stdout ── relay ◀─answer──┤
//	                relay ◀───GET───┘   requests and notifications of the server, up to 2025-11-25
//
// When the owner ends, the relay finds the next one, repeats the host's handshake there, and continues. For example,
// the owner is killed while three calls of the host are in progress there:
//
//	suggest_next    read-only: sent again to the next owner, which answers it
//	record_episode  also sent again: the relay gave the episode an id, so it is recorded once
//	rebuild         answered with an error: it may have been carried out, and the host has to decide
type relay struct {
	ctx       context.Context // of all requests to owners
	client    *http.Client
	findOwner func() (Owner, error)
	headers   http.Header // of each request

	lines      chan []byte    // for the host; nil marks the end
	calls      sync.WaitGroup // calls that the relay answers before it ends
	background sync.WaitGroup // other requests to owners
	connecting sync.Mutex     // held while a session is opened
	inFlight   chan struct{}  // one for each call in progress at an owner

	mu          sync.Mutex
	session     *session                          // nil: none
	initialize  *jsonrpc.Request                  // request of the host, after it succeeded; nil: none
	initialized *jsonrpc.Request                  // the notification that ended the handshake; nil: not yet
	open        map[jsonrpc.ID]context.CancelFunc // cancel the calls without an answer
	questions   int                               // number of requests of all servers to the host
	ending      bool                              // nothing more is accepted from the host
}

// Owner is the address and the token of the process that has the data directory.
type Owner struct{ Endpoint, Token string }

const (
	// drainRelay limits how long answers may still arrive after this process received a signal to stop.
	drainRelay = 10 * time.Second
	// longestWrite limits how long a host may take to read the last answers.
	longestWrite = 30 * time.Second
	// relayInFlight limits the calls in progress at an owner, each on its own connection: an owner admits 512
	// connections of all windows and commands of a machine, and the host's answers and cancellations need some of them.
	relayInFlight = 128
	// relayCalls limits the calls without an answer. Further calls are refused: if they waited, the messages that end
	// other calls would wait behind them. If a host does not read answers, its input is not read while relayUnread
	// lines wait.
	relayCalls, relayUnread = 1024, 2048
	// relayIdle is shorter than a server keeps an idle connection: a call on one that is being closed is lost.
	relayIdle = 30 * time.Second
	// ownerPatience limits how long a call waits for an owner of the data directory; ownerPause is the retry interval.
	ownerPatience, ownerPause = 10 * time.Second, 20 * time.Millisecond
	// busyPause is the retry interval of a message for which an owner has no connection.
	busyPause = 100 * time.Millisecond
)

// sourceStdio is the source of the episodes that a host records over a pipe.
const sourceStdio = "mcp:stdio"

// Draining is the detail with which a server that shuts down refuses new requests.
const Draining = "the server is shutting down"

// errAbandoned ends a relay whose host does not read the answers.
var errAbandoned = errors.New("answers could not be written: the host neither reads its pipe nor closes it")

// Relay carries MCP messages between a host on in and out and the owner that findOwner returns, until in or ctx ends;
// then it closes both. Calls that arrived before the end are answered first. The owner may change at any time.
// workspace and agent may be empty, and have an effect only with the owner's local token.
func Relay(ctx context.Context, in io.Reader, out io.Writer, findOwner func() (Owner, error), workspace, agent string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = relayIdle
	defer transport.CloseIdleConnections()
	headers := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	// It distinguishes processes that share a data directory, and hosts of the same name.
	headers.Set(api.HeaderConversation, "pipe-"+rand.Text()[:16])
	if workspace != "" {
		headers.Set(api.HeaderWorkspace, workspace)
		headers.Set(api.HeaderSource, sourceStdio)
	}
	if agent != "" {
		headers.Set(api.HeaderAgent, agent)
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainRelay, func() { stop(nil) }) })()
	r := &relay{
		ctx: work, client: &http.Client{Transport: transport}, findOwner: findOwner, headers: headers,
		lines: make(chan []byte, relayUnread), inFlight: make(chan struct{}, relayInFlight), open: map[jsonrpc.ID]context.CancelFunc{},
	}
	input, written := make(chan error, 1), make(chan struct{})
	go func() { input <- r.read(in) }()
	go func() {
		defer close(written)
		if err := r.print(out); err != nil {
			stop(err)
		}
	}()
	var ended error
	select {
	case ended = <-input:
	case <-ctx.Done():
	case <-work.Done():
	}
	r.acceptNoMore()
	r.calls.Wait()
	defer time.AfterFunc(longestWrite, func() { stop(errAbandoned) }).Stop()
	r.writeLine(nil)
	select {
	case <-written:
	case <-work.Done():
	}
	r.endSession()
	stop(nil) // keeps an earlier cause
	for _, end := range []any{in, out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close()
		}
	}
	r.background.Wait()
	switch err := context.Cause(work); {
	case errors.As(ended, new(*bounded.LimitError)):
		return ended
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EPIPE): // the host has gone
		return nil
	default:
		return err
	}
}

// acceptNoMore refuses further calls, and fails the open questions to the host, which will not answer them.
func (r *relay) acceptNoMore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	if r.session != nil {
		for id := range r.session.asked {
			r.background.Go(func() { r.forwardAnswer(hostClosed(id)) })
		}
	}
}

func hostClosed(id jsonrpc.ID) *jsonrpc.Response {
	return failure(id, codeRefused, "the host has closed its end")
}

// print writes lines to the host.
func (r *relay) print(out io.Writer) error {
	for {
		select {
		case line := <-r.lines:
			if line == nil {
				return nil
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return fmt.Errorf("write to the host: %w", err)
			}
		case <-r.ctx.Done():
			return nil
		}
	}
}

// read handles the lines of the host until the input ends. It answers an invalid message with a JSON-RPC error.
func (r *relay) read(in io.Reader) error {
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, tooLong, err := api.ReadLine(lines, MaxFrame)
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			msg, refusal := decodeLine(line, tooLong)
			switch m := msg.(type) {
			case *jsonrpc.Response:
				r.forwardAnswer(m)
			case *jsonrpc.Request:
				if m.IsCall() {
					r.start(m)
				} else {
					r.notify(m)
				}
			default:
				r.writeLine(refusal)
			}
		}
		if err != nil || r.ctx.Err() != nil {
			return err
		}
	}
}

// start begins a call, or refuses it. It waits for the answer to a handshake, because later messages need the session,
// and for the recording of an episode, because later requests have to take it into account.
func (r *relay) start(req *jsonrpc.Request) {
	group, refusal := &r.calls, ""
	if req.Method == "subscriptions/listen" { // lasts until the host cancels it
		group = &r.background
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.mu.Lock()
	switch {
	case r.ending:
		refusal = Draining + "; start it again"
	case len(r.open) >= relayCalls:
		refusal = fmt.Sprintf("%d calls wait for their answers: send this one again when one of them is answered", relayCalls)
	default:
		r.open[req.ID] = cancel
		group.Add(1)
	}
	r.mu.Unlock()
	if refusal != "" {
		cancel()
		r.write(failure(req.ID, codeRefused, refusal))
		return
	}
	answer := func() {
		defer group.Done()
		defer cancel()
		m := r.call(ctx, req)
		r.mu.Lock()
		delete(r.open, req.ID)
		r.mu.Unlock()
		if m != nil {
			r.write(m)
		}
	}
	if req.Method == "initialize" || records(req) {
		answer()
	} else {
		go answer()
	}
}

// call returns the answer to a call of the host; nil if the host cancelled it. If an owner ends during a call, it is
// unknown whether the call was carried out. The call is sent again only if a repetition changes nothing, and to only
// one other owner, because the call itself may have ended the first.
func (r *relay) call(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	var lost *session
	switch {
	case records(req):
		req.Params = withID(req.Params)
	case req.Method == "initialize": // the session of an earlier handshake ends
		r.mu.Lock()
		lost, r.initialize, r.initialized = r.session, nil, nil
		r.mu.Unlock()
	}
	select {
	case r.inFlight <- struct{}{}:
		defer func() { <-r.inFlight }()
	case <-ctx.Done():
		return nil
	}
	sent := "" // token of the owner that received the call
	for began := time.Now(); ; {
		s, answer, err := r.ask(ctx, lost, req)
		var gone lostError
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			return answer
		case !errors.As(err, &gone):
			code := int64(jsonrpc.CodeInternalError)
			if strings.Contains(err.Error(), "JSON RPC not handled") { // the SDK's refusal of an unknown method
				code = jsonrpc.CodeMethodNotFound
			}
			return failure(req.ID, code, "the waymark server did not answer: "+err.Error())
		}
		lost = s
		again := time.Since(began) < ownerPatience
		if gone.sent {
			again = again && repeatable(req) && (sent == "" || sent == s.Token)
			sent = s.Token
		}
		switch {
		case again:
			bounded.Wait(ctx, ownerPause) // the owner may still be shutting down
		case sent != "":
			return failure(req.ID, codeRefused, "the waymark process that had the data directory ended or stopped answering during this call, "+
				"so it is unknown whether it was carried out; another takes over: ask again if doing it twice does no harm")
		default:
			return failure(req.ID, codeRefused, "no waymark process answers for the data directory, so the call was not carried out; ask again: "+err.Error())
		}
	}
}

// withID adds an id to an episode without one, so that the episode counts once however often it is sent.
func withID(params json.RawMessage) json.RawMessage {
	var p, episode map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["arguments"], &episode) != nil || episode == nil {
		return params
	}
	if id := string(episode["id"]); id != "" && id != `""` && id != "null" {
		return params
	}
	episode["id"] = json.RawMessage(`"mcp-` + rand.Text() + `"`)
	p["arguments"], _ = json.Marshal(episode) // cannot fail: decoded from JSON
	params, _ = json.Marshal(p)
	return params
}

// repeatable reports whether a call may be carried out twice: a read-only call, or an episode, which counts once.
func repeatable(req *jsonrpc.Request) bool {
	return req.Method != "tools/call" || slices.Contains(quickTools, paramsOf(req).Name)
}

// notify forwards a notification of the host. It is not repeated: if its session is lost, it has no subject.
func (r *relay) notify(n *jsonrpc.Request) {
	r.mu.Lock()
	s, cancel := r.session, r.open[cancelledCall(n)]
	if n.Method == "notifications/initialized" {
		r.initialized = n
	}
	r.mu.Unlock()
	switch {
	case s == nil:
	case n.Method == "notifications/initialized":
		_ = r.listen(s, n)
	case n.Method == "notifications/cancelled" && s.id == "" && cancel != nil:
		cancel() // without a session, closing the connection cancels the call
	default:
		_, _ = r.post(r.ctx, s, n)
	}
}

// forward sends the host a request or notification of a server. Requests get ids that are unique across sessions.
func (r *relay) forward(s *session, req *jsonrpc.Request) {
	r.mu.Lock()
	refuse := r.ending && req.IsCall()
	switch {
	case req.IsCall():
		r.questions++
		id, _ := jsonrpc.MakeID(float64(r.questions)) // a number is always valid
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
	if refuse {
		r.forwardAnswer(hostClosed(req.ID))
	} else {
		r.write(req)
	}
}

// forwardAnswer sends the host's answer to the server that asked, if its session still exists: at another server the id
// would belong to a different question.
func (r *relay) forwardAnswer(answer *jsonrpc.Response) {
	r.mu.Lock()
	s := r.session
	var id jsonrpc.ID
	if s != nil {
		id = s.asked[answer.ID]
		delete(s.asked, answer.ID)
	}
	r.mu.Unlock()
	if id.IsValid() {
		_, _ = r.post(r.ctx, s, &jsonrpc.Response{ID: id, Result: answer.Result, Error: answer.Error})
	}
}

func (r *relay) write(msg jsonrpc.Message) {
	if line, err := jsonrpc.EncodeMessage(msg); err == nil {
		r.writeLine(line)
	}
}

// writeLine queues a line for the host, and blocks while the queue is full.
func (r *relay) writeLine(line []byte) {
	select {
	case r.lines <- line:
	case <-r.ctx.Done():
	}
}

func failure(id jsonrpc.ID, code int64, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: text}}
}
