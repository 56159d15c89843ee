package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/server/internal/api"
)

// hostCalls bounds the calls without an answer. More are refused: if they waited, so would what ends the others.
const hostCalls = 1024

// host is the transport to the host of a relay: one message on a line, each way. To the SDK its input ends when all calls
// are answered, since the SDK gives up what is under way then.
type host struct {
	out      io.Writer
	stop     context.CancelCauseFunc
	messages chan jsonrpc.Message // of the host
	done     chan struct{}        // closed when nothing more comes, and all calls are answered

	mu     sync.Mutex
	open   map[jsonrpc.ID]chan struct{} // of the calls without an answer, which closes it
	left   int                          // of them, those whose answer is being written included
	asked  map[jsonrpc.ID]bool          // questions to the host without an answer
	ending bool                         // nothing more is accepted

	writing sync.Mutex
}

func newHost(out io.Writer, stop context.CancelCauseFunc) *host {
	return &host{out: out, stop: stop, messages: make(chan jsonrpc.Message), done: make(chan struct{}),
		open: map[jsonrpc.ID]chan struct{}{}, asked: map[jsonrpc.ID]bool{}}
}

// Connect implements [mcp.Transport].
func (h *host) Connect(context.Context) (mcp.Connection, error) { return h, nil }

// SessionID implements [mcp.Connection].
func (*host) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (h *host) Close() error {
	h.finish()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = 0
	h.settle()
	return nil
}

// read takes the lines of the host until their end. A line that is no message is answered with a JSON-RPC error. Lines
// after one that records an episode wait for its answer: a question after it counts it.
func (h *host) read(in io.Reader) error {
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		line, tooLong, err := api.ReadLine(lines, MaxFrame)
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			msg, refusal := decodeLine(line, tooLong)
			var answered <-chan struct{}
			if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
				answered, refusal = h.begin(req)
			}
			if refusal != nil {
				h.writeLine(refusal)
			} else {
				h.take(msg)
				if answered != nil && records(msg) {
					select {
					case <-answered:
					case <-h.done:
					}
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// take hands a message to the SDK.
func (h *host) take(msg jsonrpc.Message) {
	select {
	case h.messages <- msg:
	case <-h.done:
	}
}

// begin notes a call, or refuses it. One that listens lasts until the host cancels it, so that nothing waits for its end.
func (h *host) begin(req *jsonrpc.Request) (answered <-chan struct{}, refusal []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	why := ""
	switch {
	case h.ending:
		why = Draining + "; start it again"
	case h.left >= hostCalls:
		why = fmt.Sprintf("%d calls wait for their answers: send this one again when one of them is answered", hostCalls)
	case h.open[req.ID] != nil:
		why = "a call with this id waits for its answer"
	case req.Method == "subscriptions/listen":
		return nil, nil
	default:
		c := make(chan struct{})
		h.open[req.ID] = c
		h.left++
		return c, nil
	}
	refusal, _ = jsonrpc.EncodeMessage(failure(req.ID, why)) // texts and an id
	return nil, refusal
}

// finish accepts no more calls, and fails the questions to the host, which answers no more.
func (h *host) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
	for id := range h.asked {
		go h.take(hostClosed(id))
	}
	clear(h.asked)
	h.settle()
}

// settle ends the input of the SDK if nothing is left to do. h.mu is held.
func (h *host) settle() {
	select {
	case <-h.done:
	default:
		if h.ending && h.left <= 0 {
			close(h.done)
		}
	}
}

// isStuck reports whether a line is being written, or was not taken.
func (h *host) isStuck() bool {
	if !h.writing.TryLock() {
		return true
	}
	h.writing.Unlock()
	return false
}

// Read implements [mcp.Connection].
func (h *host) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-h.messages:
		if answer, ok := m.(*jsonrpc.Response); ok {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.asked, answer.ID)
		}
		return m, nil
	case <-h.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection].
func (h *host) Write(_ context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if m.IsCall() && h.asks(m.ID) {
			return nil
		}
	case *jsonrpc.Response:
		defer h.answers(m.ID)()
	}
	return h.writeLine(line)
}

// asks notes a question, or fails it where no answer can come.
func (h *host) asks(id jsonrpc.ID) (failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending {
		go h.take(hostClosed(id))
	} else {
		h.asked[id] = true
	}
	return h.ending
}

// answers notes that a call has its answer, since the host may use its id again as soon as it reads that.
func (h *host) answers(id jsonrpc.ID) (written func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.open[id]
	if c == nil {
		return func() {}
	}
	close(c)
	delete(h.open, id)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left--
		h.settle()
	}
}

// writeLine gives the host a line. A host that takes none is gone.
func (h *host) writeLine(line []byte) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	_, err := h.out.Write(append(line, '\n'))
	if err != nil {
		err = fmt.Errorf("write to the host: %w", err)
		h.stop(err)
	}
	return err
}

func hostClosed(question jsonrpc.ID) *jsonrpc.Response {
	return failure(question, "the host has closed its end")
}

func failure(id jsonrpc.ID, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeRefused, Message: text}}
}
