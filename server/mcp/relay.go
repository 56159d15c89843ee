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
	"log/slog"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/http/httpguts"

	"waymark/internal/bounded"
	"waymark/server/internal/api"
)

// A data directory has one owner at a time: the process that has it open, which is a server or one of the `waymark mcp`
// that hosts start. A relay is the MCP server of its host, in any revision of the protocol. It answers handshakes and
// keeps the session itself, and asks the owner the rest, also where that is its own process, in the revision without
// sessions: each request stands alone, and the next owner answers it as well.
//
//	host ──stdin──▶ SDK server ─ forward ─▶ POST /mcp of the owner
//	  ◀── stdout ──  of the relay ◀───────── progress, result
//	                      ◀── watch ──────── the list of tools changed, or the owner did
//
// For example, the owner is killed while these three calls of the host are with it:
//
//	suggest_next    reads: sent again to the next owner, which answers it
//	record_episode  sent again, too: the relay gave the episode an id, so it is recorded once
//	rebuild         answered with an error: it may have been carried out, and the host has to decide
type relay struct {
	ctx       context.Context // of all requests to owners
	client    *http.Client
	findOwner func() (Owner, error)
	headers   http.Header   // of each request
	inFlight  chan struct{} // one for each call that is with an owner
}

// Owner is the address of the process that has the data directory, and its token.
type Owner struct{ Endpoint, Token string }

const (
	// drainRelay limits how long answers may still arrive after this process received a signal to stop.
	drainRelay = 10 * time.Second
	// longestWrite is how long a host that has ended its input may take to read a line.
	longestWrite = 30 * time.Second
	// relayInFlight bounds the calls that are with an owner at the same time, each on a connection: an owner admits 512 of all
	// windows and commands of a machine.
	relayInFlight = 128
	// relayIdle is shorter than a server keeps a connection: a call on one that just closes is lost.
	relayIdle = 30 * time.Second
	// ownerPatience is how long a call waits for an owner of the data directory, and ownerPause how often it looks.
	ownerPatience, ownerPause = 10 * time.Second, 20 * time.Millisecond
	// watchPause is how often the list of tools is watched again after its stream ended.
	watchPause = 100 * time.Millisecond
)

// sourceStdio is the source of what a host on the other end of a pipe records.
const sourceStdio = "mcp:stdio"

// errAbandoned ends a relay whose answers nobody takes.
var errAbandoned = errors.New("answers could not be written: the host neither reads its pipe nor closes it")

// Draining is how a server that is ending refuses what has not begun.
const Draining = "the server is shutting down"

// Relay serves MCP to a host on in and out through the owner that findOwner returns, until in ends or ctx does; then it
// closes both. Calls that came before the end are answered first. The owner may change at any time. workspace and
// agent may be empty, and are obeyed only with the owner's local token.
func Relay(ctx context.Context, in io.Reader, out io.Writer, findOwner func() (Owner, error),
	workspace, agent, version string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = relayIdle
	defer transport.CloseIdleConnections()
	headers := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	headers.Set(headerProtocol, firstStateless)
	// It distinguishes processes with one data directory and hosts of one name.
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
	r := &relay{ctx: work, client: &http.Client{Transport: transport}, findOwner: findOwner, headers: headers,
		inFlight: make(chan struct{}, relayInFlight)}
	srv := mcp.NewServer(&mcp.Implementation{Name: "waymark", Title: "Waymark", Version: version}, &mcp.ServerOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	srv.AddReceivingMiddleware(isolate(slog.New(slog.DiscardHandler)), r.forward)
	changed := func() { // a host hears of a list to which a tool is added again
		srv.AddTool(&mcp.Tool{Name: toolRelayed, InputSchema: json.RawMessage(`{"type":"object"}`)}, r.callTool)
	}
	changed()
	h := newHost(out, stop)
	if _, err := srv.Connect(work, h, nil); err != nil {
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(changed) })
	input := make(chan error, 1)
	go func() { input <- h.read(in) }()
	var ended error
	select {
	case ended = <-input:
	case <-ctx.Done():
	case <-work.Done():
	}
	h.finish()
	for waiting := true; waiting; {
		select {
		case <-h.done:
			waiting = false
		case <-work.Done():
			waiting = false
		case <-time.After(longestWrite):
			if h.isStuck() {
				stop(errAbandoned)
			}
		}
	}
	stop(nil) // keeps an earlier cause
	_ = h.Close()
	for _, end := range []any{in, out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close()
		}
	}
	watching.Wait()
	switch err := context.Cause(work); {
	case errors.As(ended, new(*bounded.LimitError)):
		return ended
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EPIPE): // the host has just gone
		return nil
	default:
		return err
	}
}

// toolRelayed is the one tool of the relay's own server: through it pass the calls of all, so that the SDK asks a host of
// an earlier revision what an answer asks for.
const toolRelayed = "relayed"

// relayedCall is a call on its way through [toolRelayed].
type relayedCall struct {
	name   string // of the tool that the host calls
	result *rawResult
}

type relayedKey struct{}

// forward asks the owner what the server of a relay does not answer itself.
func (r *relay) forward(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch p := req.GetParams().(type) {
		case *mcp.InitializeParams, *mcp.DiscoverParams: // what can be done is what the owner can
			theirs, err := r.ask(ctx, "server/discover", "", req, rawOf(struct{}{}))
			if err != nil {
				return nil, err
			}
			own, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			answer := rawOf(own)
			for _, name := range []string{"capabilities", "instructions"} {
				answer.members[name] = theirs.members[name]
			}
			return answer, nil
		case *mcp.CallToolParamsRaw:
			call := &relayedCall{name: p.Name}
			p.Name = toolRelayed
			_, err := next(context.WithValue(ctx, relayedKey{}, call), method, req)
			return call.result, err
		case *mcp.GetPromptParams:
			return r.ask(ctx, method, p.Name, req, rawOf(p))
		case *mcp.ReadResourceParams:
			return r.ask(ctx, method, p.URI, req, rawOf(p))
		case *mcp.ListToolsParams, *mcp.ListPromptsParams, *mcp.ListResourcesParams, *mcp.ListResourceTemplatesParams:
			return r.ask(ctx, method, "", req, rawOf(p))
		}
		return next(ctx, method, req)
	}
}

// callTool is the handler of [toolRelayed].
func (r *relay) callTool(ctx context.Context, req *mcp.CallToolRequest) (_ *mcp.CallToolResult, err error) {
	call, _ := ctx.Value(relayedKey{}).(*relayedCall) // set by forward
	params := rawOf(req.Params)
	if params.members["name"] = encoded(call.name); call.name == toolRecord {
		params.members["arguments"] = withID(req.Params.Arguments)
	}
	if call.result, err = r.ask(ctx, "tools/call", call.name, req, params); err != nil {
		return nil, err
	}
	var asks struct {
		InputRequests mcp.InputRequestMap `json:"inputRequests"`
		RequestState  string              `json:"requestState"`
	}
	if call.result.members["inputRequests"] != nil {
		err = json.Unmarshal(encoded(call.result), &asks)
	}
	return &mcp.CallToolResult{InputRequests: asks.InputRequests, RequestState: asks.RequestState}, err
}

// lostError reports that an owner did not answer. If the request was sent, it is unknown whether it was carried out.
type lostError struct {
	error
	sent bool
}

// ask returns the answer of an owner to a request of the host; name is that of the tool or prompt, or the URI. What became
// of a call that was with an owner that ended is unknown, so it is sent again only where that changes nothing, and to one
// other owner: it may be the call that ended the first.
func (r *relay) ask(ctx context.Context, method, name string, req mcp.Request, params *rawResult) (*rawResult, error) {
	nameless := method == "tools/call" && name == ""
	if nameless || name != strings.TrimSpace(name) || !httpguts.ValidHeaderFieldValue(name) { // no header says it
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: unknown name %q", method, name)}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	select {
	case r.inFlight <- struct{}{}:
		defer func() { <-r.inFlight }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	session, _ := req.GetSession().(*mcp.ServerSession) // of a server
	revision := revisionOf(req)
	if revision < firstStateless { // its handshake said what each request says since
		params.Meta = mcp.Meta{mcp.MetaKeyProtocolVersion: firstStateless, metaRevision: revision,
			mcp.MetaKeyClientCapabilities: map[string]any{}}
		if hello := session.InitializeParams(); hello != nil && hello.ClientInfo != nil && hello.Capabilities != nil {
			params.Meta[mcp.MetaKeyClientInfo], params.Meta[mcp.MetaKeyClientCapabilities] = hello.ClientInfo, hello.Capabilities
		}
	}
	text := encoded(params)
	heard := func(n *jsonrpc.Request) {
		var p mcp.ProgressNotificationParams
		if json.Unmarshal(n.Params, &p) == nil && p.ProgressToken != nil {
			_ = session.NotifyProgress(ctx, &p) // a host that does not listen is no reason to stop the work
		}
	}
	repeatable := method != "tools/call" || slices.Contains(quickTools, name)
	sent := "" // the token of the owner that it was with
	for began := time.Now(); ; bounded.Wait(ctx, ownerPause) {
		owner, err := r.findOwner()
		gone := lostError{err, false}
		if err == nil {
			var result json.RawMessage
			if result, err = r.post(ctx, owner, method, name, text, heard); err == nil {
				return answered(result, revision), nil
			}
			if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
				return nil, refused
			}
			if !errors.As(err, &gone) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
					Message: "the waymark server did not answer: " + err.Error()}
			}
		}
		again := time.Since(began) < ownerPatience
		if gone.sent {
			again = again && repeatable && (sent == "" || sent == owner.Token)
			sent = owner.Token
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case again: // the owner may still be about to end
		case sent != "":
			return nil, &jsonrpc.Error{Code: codeRefused, Message: "the waymark process that had the data directory ended or " +
				"stopped answering during this call, so it is unknown whether it was carried out; another takes over: ask again if doing it twice does no harm"}
		default:
			return nil, &jsonrpc.Error{Code: codeRefused, Message: "no waymark process answers for the data directory, " +
				"so the call was not carried out; ask again: " + err.Error()}
		}
	}
}

// answered is the result of an owner, for a host of a revision with sessions without the members that it does not have.
func answered(result json.RawMessage, revision string) *rawResult {
	r := rawOf(result)
	if revision < firstStateless {
		var meta map[string]json.RawMessage
		_ = json.Unmarshal(r.members["_meta"], &meta) // what is no object has none
		delete(meta, mcp.MetaKeyServerInfo)
		delete(r.members, "resultType")
		if delete(r.members, "_meta"); len(meta) > 0 {
			r.members["_meta"] = encoded(meta)
		}
	}
	return r
}

// post sends a request that stands alone, and returns the result; heard gets the notifications before it. Waymark writes
// each message on a line, as it is or as the data of an event. The answer of an owner that refuses is a [*jsonrpc.Error].
func (r *relay) post(ctx context.Context, o Owner, method, name string, params json.RawMessage,
	heard func(*jsonrpc.Request)) (json.RawMessage, error) {
	body := encoded(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.headers.Clone()
	out.Header.Set("Authorization", "Bearer "+o.Token)
	out.Header.Set(HeaderMethod, method)
	if name != "" {
		out.Header.Set(headerName, name)
	}
	resp, err := r.client.Do(out)
	if err != nil {
		var dial *net.OpError
		return nil, lostError{err, !errors.As(err, &dial) || dial.Op != "dial"}
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 300 && kind != "application/json" { // a refusal in JSON is a message
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		var problem struct{ Detail string }
		_ = json.Unmarshal(text, &problem)
		err = fmt.Errorf("%s: %s", resp.Status, cmp.Or(problem.Detail, string(bytes.TrimSpace(text))))
		switch {
		case OwnerGone(resp.StatusCode, problem.Detail): // it refused the message before it began, or cut it off
			return nil, lostError{err, resp.StatusCode != http.StatusUnauthorized && problem.Detail != Draining}
		case resp.StatusCode == http.StatusServiceUnavailable: // it has no connection for it now
			return nil, lostError{err, false}
		}
		return nil, err
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimPrefix(line, []byte("data: ")); len(line) > 0 && line[0] == '{' {
			msg, wrong := jsonrpc.DecodeMessage(line)
			switch msg := msg.(type) {
			case *jsonrpc.Response:
				return msg.Result, msg.Error
			case *jsonrpc.Request:
				heard(msg)
			}
			err = cmp.Or(err, wrong)
		}
		if err != nil {
			return nil, lostError{fmt.Errorf("%s, and the connection ended before the answer: %w", resp.Status, err), true}
		}
	}
}

// OwnerGone reports whether a refusal is that of an owner that is ending, or of another process at its address, which does
// not know its token.
func OwnerGone(status int, detail string) bool {
	return status == http.StatusUnauthorized || strings.HasSuffix(detail, Draining)
}

// watch calls changed when the owner says that its tools are others, or the owner is another.
func (r *relay) watch(changed func()) {
	params := encoded(map[string]any{"notifications": map[string]bool{"toolsListChanged": true},
		"_meta": map[string]any{mcp.MetaKeyProtocolVersion: firstStateless, mcp.MetaKeyClientCapabilities: map[string]any{}}})
	watched := false
	for ; r.ctx.Err() == nil; bounded.Wait(r.ctx, watchPause) {
		if owner, err := r.findOwner(); err == nil {
			_, _ = r.post(r.ctx, owner, "subscriptions/listen", "", params, func(n *jsonrpc.Request) {
				if watched { // the first one acknowledges
					changed()
				}
				watched = true
			})
		}
	}
}

// withID gives an episode without an id one, so that it counts once however often it is sent.
func withID(arguments json.RawMessage) json.RawMessage {
	var episode map[string]json.RawMessage
	if json.Unmarshal(arguments, &episode) != nil || episode == nil {
		return arguments
	}
	if id := string(episode["id"]); id != "" && id != `""` && id != "null" {
		return arguments
	}
	episode["id"] = json.RawMessage(`"mcp-` + rand.Text() + `"`)
	return encoded(episode)
}
