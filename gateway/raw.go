package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
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
	body   *bytes.Buffer   // of the HTTP answer, as far as it came
	kind   string          // its content type
	id     json.RawMessage // of the request
	cut    bool            // the HTTP answer was longer than the limit
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// answer is the result as the server wrote it; ok is false if none came.
func (x *exchange) answer() (result json.RawMessage, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.result == nil && x.body != nil {
		x.result = resultIn(x.kind, x.body.Bytes(), x.id)
	}
	return x.result, x.result != nil
}

// over says how the HTTP answer began, and whether it was longer than the limit.
func (x *exchange) over() (status int, cut bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status, x.cut
}

// resultIn finds the result of a request in the body of an HTTP answer: one message, or a stream of events.
func resultIn(contentType string, body []byte, id json.RawMessage) json.RawMessage {
	of := func(message []byte) json.RawMessage {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(message, &m) != nil || !bytes.Equal(m.ID, id) {
			return nil
		}
		return m.Result
	}
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "text/event-stream" {
		return of(body)
	}
	var data []byte
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\r\n")
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
		}
		if len(line) == 0 {
			if r := of(data); r != nil {
				return r
			}
			data = data[:0]
		}
	}
	return of(data)
}

// tapped is a transport over pipes whose results are left in the exchanges of their requests.
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
	if x != nil && resp.Error == nil {
		x.mu.Lock()
		x.result = bytes.Clone(resp.Result)
		if x.result == nil {
			x.result = json.RawMessage("null")
		}
		x.mu.Unlock()
	}
	return msg, nil
}

// wire is what requests to a server over HTTP go through: its headers, a limit on each answer, no
// redirects (the address that was agreed to is the address), and the bytes of results.
type wire struct {
	next    http.RoundTripper
	headers map[string]string
	limit   int
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	x, watched := r.Context().Value(exchangeKey{}).(*exchange)
	if watched && r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			var m struct {
				ID json.RawMessage `json:"id"`
			}
			_ = json.NewDecoder(body).Decode(&m)
			_ = body.Close()
			watched = m.ID != nil
			x.mu.Lock()
			x.id = m.ID
			x.mu.Unlock()
		}
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limited := &limitedBody{ReadCloser: resp.Body, limit: w.limit}
	kind := resp.Header.Get("Content-Type")
	if name, _, _ := mime.ParseMediaType(kind); name == "text/event-stream" {
		limited.events = true
	}
	if watched {
		x.mu.Lock()
		x.status, x.kind, x.body = resp.StatusCode, kind, new(bytes.Buffer)
		x.mu.Unlock()
		limited.copy = x
	}
	resp.Body = limited
	return resp, nil
}

// limitedBody ends with an error where an answer, or one event of a stream, is longer than the limit.
type limitedBody struct {
	io.ReadCloser
	limit  int
	count  int
	events bool
	copy   *exchange
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count += n
	if b.events {
		for _, end := range []string{"\n\n", "\r\n\r\n"} {
			if i := bytes.LastIndex(p[:n], []byte(end)); i >= 0 {
				b.count = n - i
			}
		}
	}
	if b.count > b.limit {
		if b.copy != nil {
			b.copy.mu.Lock()
			b.copy.cut = true
			b.copy.mu.Unlock()
		}
		return 0, errTooLong
	}
	if b.copy != nil && n > 0 {
		b.copy.mu.Lock()
		if b.copy.body.Len() < 2*b.limit {
			b.copy.body.Write(p[:n])
		}
		b.copy.mu.Unlock()
	}
	return n, err
}
