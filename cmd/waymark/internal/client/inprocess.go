package client

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// InProcess gives a client of a handler in this process, without a socket: the command line never computes an answer of
// its own, so `waymark next` and POST /v1/next cannot differ. stop ends it.
func InProcess(handler http.Handler) (transport *http.Transport, stop func() error) {
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
