package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/server/internal/request"
)

// A data directory has one owner. When a server already runs on it, `waymark mcp` does not open the
// directory a second time: it carries messages between its host and the server's /mcp.
//
//	host ──stdin──▶ local ──▶ up ────▶ remote ──POST──▶ /mcp
//	host ◀─stdout── local ◀── down ◀── remote ◀─────────┘
//	                      ◀── events ◀─────────GET───── /mcp   what the server says unasked: progress
//
// Messages pass unread, but for what HTTP needs to know of them: the revision agreed on in the
// handshake, and which call an answer or a cancellation belongs to.
type bridge struct {
	local, remote mcp.Connection
	endpoint      string
	client        *http.Client
	headers       *bridgeHeaders

	calls sync.WaitGroup // calls being written to the server
	mu    sync.Mutex
	open  map[jsonrpc.ID]context.CancelFunc // calls without an answer
	hello jsonrpc.ID                        // the initialize call
}

// codeRejected is the SDK's own mark of a message that was not sent.
const codeRejected = -32005

// drainBridge is how long answers may still arrive after this process received a signal to stop.
const drainBridge = 5 * time.Second

// bridgeConnections bounds the calls that are with the server at once; a host may send any number.
const bridgeConnections = 128

// errServerGone ends a bridge whose server has ended.
var errServerGone = errors.New("the waymark process that had the data directory has ended, and this one leaned on it; start it again")

// watchServer is how often a bridge looks whether the server is still there: a host that asks nothing
// would not learn it otherwise.
const watchServer = 2 * time.Second

// Bridge carries MCP between a host on in and out and a running server, until in ends (nil), ctx ends
// (nil) or the server is gone, which is an error. token is the bearer; workspace and agent may be empty, and are obeyed
// only with the server's local token.
func Bridge(ctx context.Context, in io.ReadCloser, out io.WriteCloser, endpoint, token, workspace, agent string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = bridgeConnections
	defer transport.CloseIdleConnections()
	headers := &bridgeHeaders{next: transport, token: token, workspace: workspace, agent: agent, conversation: pipeConversation()}
	client := &http.Client{Transport: headers}

	remote, err := (&mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client, DisableStandaloneSSE: true}).Connect(ctx)
	if err != nil {
		return fmt.Errorf("bridge to %s: %w", endpoint, err)
	}
	f := newFrames(in, out)
	defer f.stop()
	local, err := (&mcp.IOTransport{Reader: f, Writer: f.out}).Connect(ctx)
	if err != nil {
		return fmt.Errorf("bridge to %s: %w", endpoint, err)
	}
	b := &bridge{
		local: local, remote: remote, endpoint: endpoint, client: client, headers: headers,
		open: map[jsonrpc.ID]context.CancelFunc{},
	}
	ended := make(chan error, 1)
	go func() { ended <- b.run(ctx) }()
	return f.wait(ctx, drainBridge, ended)
}

func (b *bridge) run(outer context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
	var pumps sync.WaitGroup
	up, down, gone := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	pumps.Go(func() { up <- b.up(ctx, &pumps) })
	pumps.Go(func() { down <- b.down(ctx) })
	pumps.Go(func() { b.watch(ctx, gone) })

	var err error
	select {
	case err = <-up: // all calls are answered
	case err = <-down:
		b.calls.Wait() // they fail now, and the host gets to know why
	case err = <-gone:
		b.calls.Wait()
	}
	_ = b.remote.Close() // tells the server that the session is over; it finds out by itself otherwise
	cancel()
	_ = b.local.Close()
	b.calls.Wait()
	pumps.Wait()
	if err != nil {
		return fmt.Errorf("bridge to %s: %w", b.endpoint, err)
	}
	return nil
}

// watch looks whether somebody still listens where the server was.
func (b *bridge) watch(ctx context.Context, gone chan<- error) {
	at, err := url.Parse(b.endpoint)
	if err != nil {
		return
	}
	dialer := net.Dialer{Timeout: watchServer}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchServer):
		}
		conn, err := dialer.DialContext(ctx, "tcp", at.Host)
		if err == nil {
			_ = conn.Close()
			continue
		}
		if ctx.Err() == nil {
			gone <- fmt.Errorf("%w (%w)", errServerGone, err)
		}
		return
	}
}

// up carries the host's messages to the server.
func (b *bridge) up(ctx context.Context, pumps *sync.WaitGroup) error {
	for {
		msg, err := b.local.Read(ctx)
		switch {
		case err != nil && (endOfInput(err) || ctx.Err() != nil):
			return nil
		case err != nil:
			return fmt.Errorf("read from the host: %w", err)
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok || !req.IsCall() {
			if ok && req.Method == "notifications/cancelled" {
				b.cancelled(req)
			}
			if err := b.remote.Write(ctx, msg); err != nil {
				return err
			}
			if ok && req.Method == "notifications/initialized" && b.remote.SessionID() != "" {
				// What a call asks the host for comes by that stream, so it has to stand before there is one.
				listening := make(chan struct{})
				pumps.Go(func() { b.events(ctx, sync.OnceFunc(func() { close(listening) })) })
				select {
				case <-listening:
				case <-time.After(watchServer):
				case <-ctx.Done():
				}
			}
			continue
		}
		// The answer's head arrives with the answer, so each call waits on its own; only the
		// handshake is waited for, because what follows needs the session it opens.
		callCtx, answered := b.begin(ctx, req), make(chan struct{})
		b.calls.Go(func() {
			defer close(answered)
			b.call(callCtx, req)
		})
		if req.Method == "initialize" {
			<-answered
		}
	}
}

func (b *bridge) begin(ctx context.Context, req *jsonrpc.Request) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[req.ID] = cancel
	if req.Method == "initialize" {
		b.hello = req.ID
	}
	return ctx
}

// end forgets a call. It reports whether the call was open.
func (b *bridge) end(id jsonrpc.ID) bool {
	b.mu.Lock()
	cancel, ok := b.open[id]
	delete(b.open, id)
	b.mu.Unlock()
	if ok {
		cancel()
	}
	return ok
}

// call posts one call. If that fails, the host still gets an answer.
func (b *bridge) call(ctx context.Context, req *jsonrpc.Request) {
	err := b.remote.Write(ctx, req)
	if err == nil || ctx.Err() != nil {
		return // the answer comes down, or nobody waits for it
	}
	answer := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the waymark server did not answer: " + err.Error()}
	if said := (*jsonrpc.Error)(nil); errors.As(err, &said) && said.Code != codeRejected {
		answer = said // by the server
	}
	if b.end(req.ID) {
		_ = b.local.Write(context.WithoutCancel(ctx), &jsonrpc.Response{ID: req.ID, Error: answer}) // the host may be gone
	}
}

// cancelled ends the request of a call that the host gave up, if requests are all there is: a server
// of the session-less revision knows a cancellation by the end of the connection.
func (b *bridge) cancelled(n *jsonrpc.Request) {
	if b.remote.SessionID() == "" {
		b.end(cancelledCall(n))
	}
}

// down carries the server's messages to the host.
func (b *bridge) down(ctx context.Context) error {
	for {
		msg, err := b.remote.Read(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, mcp.ErrSessionMissing):
			return fmt.Errorf("the server has ended this session; start it again: %w", err)
		case err != nil:
			return err
		}
		if resp, ok := msg.(*jsonrpc.Response); ok {
			b.mu.Lock()
			hello := b.hello == resp.ID
			b.mu.Unlock()
			if hello {
				b.headers.agree(resp)
			}
			if err := b.local.Write(ctx, msg); err != nil {
				return fmt.Errorf("write to the host: %w", err)
			}
			b.end(resp.ID)
			continue
		}
		if err := b.local.Write(ctx, msg); err != nil {
			return fmt.Errorf("write to the host: %w", err)
		}
	}
}

// bridgeHeaders adds to each request what the messages do not say.
type bridgeHeaders struct {
	next             http.RoundTripper
	token, workspace string
	agent            string
	conversation     string

	mu       sync.Mutex
	revision string
}

// agree notes the revision that the server chose in the handshake.
func (h *bridgeHeaders) agree(resp *jsonrpc.Response) {
	var result struct {
		Revision string `json:"protocolVersion"`
	}
	if json.Unmarshal(resp.Result, &result) == nil {
		h.mu.Lock()
		h.revision = result.Revision
		h.mu.Unlock()
	}
}

// RoundTrip implements [http.RoundTripper].
func (h *bridgeHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	r.Header.Set(request.HeaderConversation, h.conversation)
	if h.workspace != "" {
		// The local token may name both. The same host is then the same source, with or without a
		// server running.
		r.Header.Set(request.HeaderWorkspace, h.workspace)
		r.Header.Set(request.HeaderSource, sourceStdio)
	}
	if h.agent != "" {
		r.Header.Set(request.HeaderAgent, h.agent)
	}
	h.mu.Lock()
	revision := h.revision
	h.mu.Unlock()
	if revision != "" && r.Header.Get(headerProtocol) == "" {
		r.Header.Set(headerProtocol, revision)
	}
	return h.next.RoundTrip(r)
}
