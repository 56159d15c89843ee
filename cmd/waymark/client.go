package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"waymark/internal/bounded"
	"waymark/server"
)

// client calls the HTTP API of the server in this process, or of another one, as the owner of its data directory.
type client struct {
	http                   *http.Client
	base, token, workspace string
}

// call is one request. body may be nil; source is the name under which the server records what is sent.
type call struct {
	method, path      string // the path with the query
	body              io.Reader
	mediaType, source string
}

// do sends a request and returns the response, whose body the caller closes. A status other than 2xx is a [*problem].
func (c *client) do(ctx context.Context, r call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, r.body)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + c.token, "Content-Type": r.mediaType,
		"Waymark-Workspace": c.workspace, "Waymark-Source": cmp.Or(r.source, "local")} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil || resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, err
	}
	defer resp.Body.Close()
	return nil, problemOf(resp)
}

// maxAnswer is the maximum size of an answer that is read as a whole, in bytes.
const maxAnswer = 256 << 20

// send sends a request and returns the whole body of the answer.
func (c *client) send(ctx context.Context, r call) (json.RawMessage, error) {
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := bounded.ReadAll(ctx, resp.Body, "the answer", maxAnswer)
	if err != nil {
		err = fmt.Errorf("read the answer of %s: %w", r.path, err)
	}
	return b, err
}

// open sends the request of an operation of the API, and returns the answer, whose body the caller closes.
func (c *client) open(ctx context.Context, id string, fields map[string]any) (*http.Response, error) {
	r, err := requestOf(operationsOf()[id], fields, nil)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, r)
}

// body sends the request of an operation of the API and returns the body of the answer.
func (c *client) body(ctx context.Context, id string, fields map[string]any) (json.RawMessage, error) {
	r, err := requestOf(operationsOf()[id], fields, nil)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, r)
}

// ask sends the request of an operation of the API and decodes the body of the answer into answer, unless that is nil.
func (c *client) ask(ctx context.Context, id string, fields map[string]any, answer any) error {
	body, err := c.body(ctx, id, fields)
	if err != nil || answer == nil {
		return err
	}
	return decode(body, answer)
}

// makeWorkspace creates the client's workspace if it does not exist.
func (c *client) makeWorkspace(ctx context.Context) error {
	return c.ask(ctx, "create-workspace", map[string]any{"name": c.workspace}, nil)
}

func decode(body json.RawMessage, answer any) error {
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("unexpected answer: %w", err)
	}
	return nil
}

// problem is an error response of the API.
type problem struct{ server.Problem }

// Error returns one line: the detail, then each part with the field it is about.
func (p *problem) Error() string {
	head := field(cmp.Or(p.Detail, p.Title, http.StatusText(p.Status)))
	var parts []string
	for _, e := range p.Errors {
		if !strings.Contains(p.Detail, e.Message) { // else the detail contains it
			parts = append(parts, field(e.Location+": "+e.Message))
		}
	}
	all := strings.Join(parts, "; ")
	switch {
	case len(parts) == 0:
		all = head
	case head != "validation failed" && head != "": // else the parts say more
		all = head + " (" + all + ")"
	}
	return strings.Join(strings.Fields(all), " ")
}

// field returns a text without the prefix of a location, so that body.limit begins with the name of the field.
func field(text string) string {
	for _, place := range []string{"body.", "query.", "body: ", ": "} {
		text = strings.TrimPrefix(text, place)
	}
	return text
}

// problemOf reads an error response. A body that is not a problem document becomes the detail.
func problemOf(resp *http.Response) *problem {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an error response cut short is still one
	p := &problem{}
	if json.Unmarshal(b, p) != nil || (p.Detail == "" && p.Title == "" && len(p.Errors) == 0) {
		p.Detail = strings.TrimSpace(string(b))
	}
	p.Status = resp.StatusCode
	return p
}

// inProcess returns a transport that calls a handler in this process, without a socket. The command line never computes
// an answer of its own, so `waymark next` and POST /v1/next cannot differ. stop ends the server.
func inProcess(handler http.Handler) (transport *http.Transport, stop func() error) {
	l := &pipes{calls: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(l) }()
	t := &http.Transport{DialContext: l.dial, DisableCompression: true}
	return t, func() error {
		t.CloseIdleConnections()
		return s.Close()
	}
}

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
}

// patient is a connection that ignores deadlines in the future: the caller's context ends a call, however slowly its
// input comes.
type patient struct{ net.Conn }

func (c patient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > 0 {
		return nil
	}
	return c.Conn.SetReadDeadline(t) // the server aborts its own read
}

func (patient) SetWriteDeadline(time.Time) error { return nil }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.calls <- patient{there}:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]; the server calls it once.
func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

// Addr implements [net.Listener].
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "this process", Net: "pipe"} }
