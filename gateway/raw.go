package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK decodes results into Go values: numbers lose digits, and what is missing looks like what is
// empty. What passes through the gateway must come out as it went in, so each request carries an exchange
// in its context, in which the bytes of the answer are left.
//
//	CallTool(ctx) ──▶ session ──▶ transport ──▶ server
//	      exchange ◀──────────────── bytes ◀──────┘
type exchange struct {
	mu     sync.Mutex
	result json.RawMessage // nil: no result came
	status int             // of the HTTP answer
	cut    bool            // the HTTP answer was longer than the limit
	gone   bool            // the server does not know the session any more
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

func (x *exchange) note(change func()) {
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		change()
	}
}

// answer is the result as the server wrote it; ok is false if none came.
func (x *exchange) answer() (result json.RawMessage, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result, x.result != nil
}

// over says how the HTTP answer began, whether it was longer than the limit, and whether the session is gone.
func (x *exchange) over() (status int, cut, gone bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status, x.cut, x.gone
}

// tapped is a transport whose results are left in the exchanges of their requests.
type tapped struct{ mcp.Transport }

func (t tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tap{Connection: conn, open: map[jsonrpc.ID]*exchange{}}, nil
}

type tap struct {
	mcp.Connection
	mu   sync.Mutex
	open map[jsonrpc.ID]*exchange
}

func (t *tap) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, isRequest := msg.(*jsonrpc.Request)
	x, watched := ctx.Value(exchangeKey{}).(*exchange)
	if !isRequest || !watched || !req.IsCall() {
		return t.Connection.Write(ctx, msg)
	}
	t.mu.Lock()
	t.open[req.ID] = x
	t.mu.Unlock()
	context.AfterFunc(ctx, func() { // nobody waits any more; every exchange ends with its context
		t.mu.Lock()
		delete(t.open, req.ID)
		t.mu.Unlock()
	})
	return t.Connection.Write(ctx, msg)
}

func (t *tap) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := t.Connection.Read(ctx)
	resp, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok {
		return msg, err
	}
	t.mu.Lock()
	x := t.open[resp.ID]
	delete(t.open, resp.ID)
	t.mu.Unlock()
	if resp.Error == nil {
		x.note(func() {
			if x.result = bytes.Clone(resp.Result); x.result == nil {
				x.result = json.RawMessage("null")
			}
		})
	}
	return msg, nil
}

// wire is what requests to a server over HTTP go through: its headers, no redirects (the address that was agreed to is the
// address), a limit on each answer. An answer to a call that is no message becomes an error of that call.
type wire struct {
	next    http.RoundTripper
	headers map[string]string
	limit   int
	sse     bool // the transport of 2024: answers come in one stream of their own
	login   bool // the session answers what asks for one
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			_ = json.NewDecoder(body).Decode(&call)
			_ = body.Close()
		}
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	x.note(func() { x.status = resp.StatusCode })
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	opens := call.Method == "initialize" || call.Method == "server/discover"
	switch {
	case kind == "text/event-stream" && resp.StatusCode < 300:
		resp.Body = &events{in: resp.Body, lines: bufio.NewReaderSize(resp.Body, 64<<10), limit: w.limit, id: call.ID, x: x}
	case w.login && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden):
	case w.sse || call.ID == nil || call.Method == "" || opens && resp.StatusCode >= 300:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, int64(w.limit)), resp.Body}
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(w.limit)+1))
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		w.answer(r, resp, call.ID, body, x)
	}
	return resp, nil
}

// answer makes the body of an HTTP answer the one message that answers a call.
func (w *wire) answer(r *http.Request, resp *http.Response, id json.RawMessage, body []byte, x *exchange) {
	said := failureFor(id, "")
	if len(body) > w.limit {
		x.note(func() { x.cut = true })
	} else {
		found := false
		for _, m := range mended(body) {
			if bytes.Equal(m.id, id) && !m.asked {
				said, found = m, true
			}
		}
		if !found {
			said = failureFor(id, statusText(resp.StatusCode, body))
		}
	}
	sessionGone := r.Header.Get("Mcp-Session-Id") != "" && (resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && bytes.Contains(bytes.ToLower(body), []byte("session")))
	x.note(func() { x.result, x.gone = said.result, sessionGone })
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(said.raw))
	resp.Body = io.NopCloser(bytes.NewReader(said.raw))
}

// events is a stream of events whose messages are mended. An event that is longer than the limit ends it with an error; one that
// should answer a call and ends without an answer ends with an error of that call.
type events struct {
	in    io.ReadCloser
	lines *bufio.Reader
	limit int
	id    json.RawMessage // of the call; nil: none
	x     *exchange
	rest  []byte

	answered, resumes, ended bool
}

func (e *events) Close() error { return e.in.Close() }

func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.ended {
			return 0, io.EOF
		}
		if err := e.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// next reads one event into rest, or nothing of one that holds no message.
func (e *events) next() error {
	var head, data []byte
	kind, size := "", 0
	for {
		line, err := e.line(&size)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
		case "data":
			data = append(append(data, value...), '\n')
		default:
			if name == "event" {
				kind = value
			}
			e.resumes = e.resumes || name == "id"
			head = append(append(head, line...), '\n')
		}
		if errors.Is(err, io.EOF) {
			if e.ended = true; e.id != nil && !e.answered && !e.resumes && len(data) == 0 {
				e.add(nil, failureFor(e.id, "the server's stream ended without an answer").raw)
			}
		}
		if len(line) == 0 || e.ended {
			break
		}
	}
	switch {
	case kind != "" && kind != "message":
		e.add(head, bytes.TrimSuffix(data, []byte("\n")))
	case len(data) == 0 && len(head) > 0:
		e.rest = append(append(e.rest, head...), '\n')
	default:
		for _, m := range mended(data) {
			if e.id != nil && !m.asked && bytes.Equal(m.id, e.id) {
				e.answered = true
				e.x.note(func() { e.x.result = m.result })
			}
			e.add(head, m.raw)
		}
	}
	return nil
}

// add writes an event.
func (e *events) add(head, data []byte) {
	e.rest = append(e.rest, head...)
	for line := range bytes.Lines(data) {
		e.rest = append(append(append(e.rest, "data: "...), bytes.TrimRight(line, "\r\n")...), '\n')
	}
	e.rest = append(e.rest, '\n')
}

// line reads a line without its end; size counts the bytes of the event.
func (e *events) line(size *int) (line []byte, err error) {
	for {
		part, err := e.lines.ReadSlice('\n')
		if *size += len(part); *size > e.limit+len("data: \r\n\r\n") {
			e.x.note(func() { e.x.cut = true })
			return nil, errTooLong
		}
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}
