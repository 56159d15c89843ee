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

// call is one request. body may be nil; source is who speaks, for what is recorded.
type call struct {
	method, path      string // the path with the query
	body              io.Reader
	mediaType, source string
}

// do sends a request and returns the answer, whose body the caller closes. One that is no success is a [*problem].
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

// maxAnswer is the longest answer that is read whole, in bytes.
const maxAnswer = 256 << 20

// send is [client.do] of a request whose answer is read whole.
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

// ask sends the request of an operation of the API, decodes the answer, unless answer is nil, and returns it as it came.
func (c *client) ask(ctx context.Context, id string, fields map[string]any, answer any) (json.RawMessage, error) {
	r, err := requestOf(operationsOf()[id], fields, nil)
	if err != nil {
		return nil, err
	}
	body, err := c.send(ctx, r)
	if err != nil || answer == nil {
		return body, err
	}
	return body, decode(body, answer)
}

// makeWorkspace makes the client's workspace where it does not exist.
func (c *client) makeWorkspace(ctx context.Context) error {
	_, err := c.ask(ctx, "create-workspace", map[string]any{"name": c.workspace}, nil)
	return err
}

func decode(body json.RawMessage, answer any) error {
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("the answer is not what this program expects: %w", err)
	}
	return nil
}

// problem is a refusal.
type problem struct{ server.Problem }

// Error says in one line what was refused: the detail, then each part with the field it is about.
func (p *problem) Error() string {
	head := field(cmp.Or(p.Detail, p.Title, http.StatusText(p.Status)))
	var parts []string
	for _, e := range p.Errors {
		if !strings.Contains(p.Detail, e.Message) { // else the detail has said it
			parts = append(parts, field(e.Location+": "+e.Message))
		}
	}
	all := strings.Join(parts, "; ")
	switch {
	case len(parts) == 0:
		all = head
	case head != "validation failed" && head != "": // which say less than the parts
		all = head + " (" + all + ")"
	}
	return strings.Join(strings.Fields(all), " ")
}

// field is a text that may begin with a location, as in body.limit, which then begins with the name of the field.
func field(text string) string {
	for _, place := range []string{"body.", "query.", "body: ", ": "} {
		text = strings.TrimPrefix(text, place)
	}
	return text
}

// problemOf reads a refusal. Whatever is no problem document still gives its first line.
func problemOf(resp *http.Response) *problem {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a refusal cut short is still a refusal
	p := &problem{}
	if json.Unmarshal(b, p) != nil || (p.Detail == "" && p.Title == "" && len(p.Errors) == 0) {
		p.Detail = strings.TrimSpace(string(b))
	}
	p.Status = resp.StatusCode
	return p
}

// inProcess calls a handler in this process, without a socket: the command line never computes an answer of its own, so
// `waymark next` and POST /v1/next cannot differ. stop ends it.
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

// pipes is a listener whose connections are pipes.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
}

// patient is a connection without deadlines to come: the caller's context ends a call, however slowly its input comes.
type patient struct{ net.Conn }

func (c patient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > 0 {
		return nil
	}
	return c.Conn.SetReadDeadline(t) // the server ends a read of its own
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
