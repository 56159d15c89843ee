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
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/bounded"
	"waymark/internal/pause"
	"waymark/server/internal/api"
)

// A data directory has one owner at a time: the process that has it open, which is a server or one of the `waymark mcp`
// that hosts start. A relay connects its host, which sends one message on a line, with /mcp of the owner, also where that
// is its own process.
//
//	host ──stdin──▶ relay ──POST──▶ /mcp of the owner
//	  ◀── stdout ── relay ◀─answer──┤
//	                relay ◀───GET───┘   requests and notifications of the server, up to 2025-11-25
//
// When the owner ends, the relay finds the next one, repeats the host's handshake there, and goes on. For example, the
// owner is killed while these three calls of the host are with it:
//
//	suggest_next    reads: sent again to the next owner, which answers it
//	record_episode  sent again, too: the relay gave the episode an id, so it is recorded once
//	rebuild         answered with an error: it may have been carried out, and the host has to decide
type relay struct {
	ctx       context.Context // of all requests to owners
	client    *http.Client
	findOwner func() (Owner, error)
	headers   http.Header // of each request

	out          io.Writer
	writing      sync.Mutex   // held while a line is written to the host
	writingSince atomic.Int64 // Unix nanoseconds; 0: none is being written
	writeFailed  chan error

	reading    sync.Mutex     // held while a line of the host is handled
	calls      sync.WaitGroup // calls that are answered before the relay ends
	background sync.WaitGroup // all other goroutines
	connecting sync.Mutex     // held while a session is opened

	waiting  chan struct{} // one for each call whose answer the host has not taken
	inFlight chan struct{} // one for each call that is with an owner

	mu          sync.Mutex
	session     *session                          // nil: none
	initialize  *jsonrpc.Request                  // of the host, once it succeeded; nil: none
	initialized *jsonrpc.Request                  // the notification that ended the handshake; nil: not yet
	open        map[jsonrpc.ID]context.CancelFunc // of the calls without an answer
	questions   int                               // requests of all servers to the host
	ending      bool                              // nothing more is accepted from the host
}

// Owner is the address of the process that has the data directory, and its token.
type Owner struct{ Endpoint, Token string }

const (
	// drainRelay limits how long answers may still arrive after this process received a signal to stop.
	drainRelay = 10 * time.Second
	// longestWrite limits how long a host may take to read an answer after the end of its input.
	longestWrite = 30 * time.Second
	// relayInFlight bounds the calls that are with an owner at the same time, each on a connection: an owner admits 512 of all
	// windows and commands of a machine, and answers of the host and cancellations need some of them.
	relayInFlight = 128
	// relayCalls bounds the calls without an answer. More are refused: if they waited, so would what ends the others. Of a
	// host that takes no answers, no more than relayUnread lines are read.
	relayCalls, relayUnread = 1024, 16 << 10
	// relayIdle is shorter than a server keeps a connection: a call on one that just closes is lost.
	relayIdle = 30 * time.Second
	// ownerPatience is how long a call waits for an owner of the data directory, and ownerPause how often it looks.
	ownerPatience, ownerPause = 10 * time.Second, 20 * time.Millisecond
	// busyPause is how long a message waits that an owner has no connection for.
	busyPause = 100 * time.Millisecond
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// Draining is how a server that is ending refuses what has not begun.
const Draining = "the server is shutting down"

// errAbandoned ends a relay whose answers nobody takes.
var errAbandoned = errors.New("answers could not be written: the host neither reads its pipe nor closes it")

// Relay carries MCP between a host on in and out and the owner that findOwner returns, until in ends or ctx does; then it
// closes both. Calls that came before the end are answered first. The owner may change at any time. workspace and
// agent may be empty, and are obeyed only with the owner's local token.
func Relay(ctx context.Context, in io.Reader, out io.Writer, findOwner func() (Owner, error), workspace, agent string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = relayIdle
	defer transport.CloseIdleConnections()
	headers := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	// It distinguishes processes with one data directory and hosts of one name.
	headers.Set(api.HeaderConversation, "pipe-"+rand.Text()[:16])
	if workspace != "" {
		headers.Set(api.HeaderWorkspace, workspace)
		headers.Set(api.HeaderSource, sourceStdio)
	}
	if agent != "" {
		headers.Set(api.HeaderAgent, agent)
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &relay{
		ctx: work, client: &http.Client{Transport: transport}, findOwner: findOwner, headers: headers, out: out,
		writeFailed: make(chan error, 1), open: map[jsonrpc.ID]context.CancelFunc{},
		waiting: make(chan struct{}, relayUnread), inFlight: make(chan struct{}, relayInFlight),
	}
	input := make(chan error, 1)
	go func() { input <- r.read(in) }()
	err := r.serve(ctx, input)
	r.endSession()
	cancel()
	for _, end := range []any{in, out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close()
		}
	}
	select {
	case <-finished(func() {
		r.reading.Lock() // no more calls from here on
		defer r.reading.Unlock()
		r.calls.Wait()
		r.background.Wait()
	}):
	case <-time.After(drainRelay / 2):
		err = errAbandoned
	}
	return err
}

// serve waits for the end of the input or of ctx, and then for the answers to the calls that came before.
func (r *relay) serve(ctx context.Context, input <-chan error) (ended error) {
	var answered <-chan struct{}
	var late <-chan time.Time
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	for stop := ctx.Done(); ; {
		select {
		case err := <-input:
			answered = r.acceptNoMore()
			if errors.As(err, new(*bounded.LimitError)) {
				ended = err
			}
		case <-stop:
			stop, answered, late = nil, r.acceptNoMore(), time.After(drainRelay)
		case <-answered:
			return ended
		case <-late: // the calls in flight are cancelled
			return nil
		case err := <-r.writeFailed:
			if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) { // the host has just gone
				return nil
			}
			return fmt.Errorf("write to the host: %w", err)
		case <-watch.C:
			since := r.writingSince.Load()
			if answered != nil && since != 0 && time.Since(time.Unix(0, since)) > longestWrite {
				return errAbandoned
			}
		}
	}
}

// acceptNoMore refuses further calls, and fails the questions to the host, which answers no more. The channel is closed
// when the calls of the host are answered.
func (r *relay) acceptNoMore() <-chan struct{} {
	r.mu.Lock()
	r.ending = true
	var asked []jsonrpc.ID
	if r.session != nil {
		asked = slices.Collect(maps.Keys(r.session.asked))
	}
	r.mu.Unlock()
	r.background.Go(func() {
		for _, id := range asked {
			r.forwardAnswer(failure(id, codeRefused, "the host has closed its end"))
		}
	})
	return finished(r.calls.Wait)
}

// finished returns a channel that is closed when f has returned.
func finished(f func()) <-chan struct{} {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f()
	}()
	return returned
}

// read handles the lines of the host until their end.
func (r *relay) read(in io.Reader) error {
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, tooLong, err := api.ReadLine(lines, MaxFrame)
		r.reading.Lock()
		if r.ctx.Err() == nil {
			r.receive(bytes.TrimSpace(line), tooLong)
		}
		r.reading.Unlock()
		if err != nil {
			return err
		}
	}
}

// receive starts the call of a line, or forwards its message. It waits for the answer to a handshake, since
// what follows needs the session, and to the recording of an episode, which a question after it counts. A line that is no
// message is answered with a JSON-RPC error.
func (r *relay) receive(line []byte, tooLong bool) {
	if len(line) == 0 && !tooLong {
		return
	}
	msg, refusal := decodeLine(line, tooLong)
	switch m := msg.(type) {
	case *jsonrpc.Response:
		r.forwardAnswer(m)
	case *jsonrpc.Request:
		if !m.IsCall() {
			r.notify(m)
		} else if answered := r.start(m); m.Method == "initialize" || records(m) {
			<-answered
		}
	default:
		r.writeLine(refusal)
	}
}

// start begins a call, or refuses it; the channel is closed when it is answered. Refusals are not written here: a host may
// write many calls before it reads.
func (r *relay) start(req *jsonrpc.Request) <-chan struct{} {
	answered := make(chan struct{})
	group, answer, refusal := &r.calls, r.call, ""
	switch req.Method {
	case "initialize":
		answer = r.openSession
	case "subscriptions/listen": // lasts until the host cancels it
		group = &r.background
	}
	r.waiting <- struct{}{}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending { // calls are not waited for any more
		group, refusal = &r.background, Draining+"; start it again"
	} else if len(r.waiting) > relayCalls {
		refusal = fmt.Sprintf("%d calls wait for their answers: send this one again when one of them is answered", relayCalls)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.open[req.ID] = cancel
	group.Go(func() {
		defer close(answered)
		defer cancel()
		m := failure(req.ID, codeRefused, refusal)
		if refusal == "" {
			m = answer(ctx, req)
		}
		r.mu.Lock()
		delete(r.open, req.ID)
		r.mu.Unlock()
		if m != nil {
			r.write(m)
		}
		<-r.waiting
	})
	return answered
}

// openSession opens a session with the handshake of the host.
func (r *relay) openSession(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	s, err := r.connect(ctx, nil, req)
	if err != nil {
		return failure(req.ID, jsonrpc.CodeInternalError, "the waymark server did not answer: "+err.Error())
	}
	return s.greeting
}

// call returns the answer to a call of the host; nil if the host cancelled it. What became of a call that was with an
// owner that ended is unknown, so it is sent again only where that changes nothing, and to one other owner: it may be the
// call that ended the first.
func (r *relay) call(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	if records(req) {
		again := *req // receive still reads it
		again.Params, req = withID(req.Params), &again
	}
	select {
	case r.inFlight <- struct{}{}:
		defer func() { <-r.inFlight }()
	case <-ctx.Done():
		return nil
	}
	var answer *jsonrpc.Response
	sent := "" // the token of the owner that it was with
	began := time.Now()
	s, err := r.connect(ctx, nil, nil)
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
			pause.For(ctx, ownerPause) // it may still be about to end
		}
		s, err = r.connect(ctx, s, nil)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case answer != nil:
		return answer
	case sent != "":
		return failure(req.ID, codeRefused, "the waymark process that had the data directory ended or stopped answering during this call, so it is unknown "+
			"whether it was carried out; another takes over: ask again if doing it twice does no harm")
	case errors.As(err, new(lostError)):
		return failure(req.ID, codeRefused, "no waymark process answers for the data directory, so the call was not carried out; ask again: "+err.Error())
	}
	code := int64(jsonrpc.CodeInternalError)
	if strings.Contains(err.Error(), "JSON RPC not handled") { // so the SDK refuses an unknown method
		code = jsonrpc.CodeMethodNotFound
	}
	return failure(req.ID, code, "the waymark server did not answer: "+err.Error())
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
	return req.Method != "tools/call" || slices.Contains(quickTools, paramsOf(req).Name)
}

// notify forwards a notification of the host. One that is lost with its session concerned nothing else.
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

// forwardAnswer sends the answer to a question of a server to that server, if its session lasts: at another one the id
// would be that of another question.
func (r *relay) forwardAnswer(answer *jsonrpc.Response) {
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

// forward gives the host a request or notification of a server. Requests get ids that no other session uses.
func (r *relay) forward(s *session, req *jsonrpc.Request) {
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
		r.forwardAnswer(failure(req.ID, codeRefused, "the host has closed its end"))
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
	r.writing.Lock()
	defer r.writing.Unlock()
	r.writingSince.Store(time.Now().UnixNano())
	_, err := r.out.Write(append(line, '\n'))
	r.writingSince.Store(0)
	if err != nil {
		select {
		case r.writeFailed <- err:
		default:
		}
	}
}

func failure(id jsonrpc.ID, code int64, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: text}}
}
