package transport

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
)

// A request with both Content-Length and Transfer-Encoding is how two servers in a row are made to
// disagree about where it ends. net/http obeys Transfer-Encoding and removes the other field before
// a handler sees it, so the head is looked at as it came over the wire: each connection remembers
// the last bytes read before the handler runs.

// MaxHeaderBytes is the longest head that is taken.
const MaxHeaderBytes = 32 << 10

// maxHead bounds what is remembered: the largest head net/http takes, and what it reads ahead.
const maxHead = MaxHeaderBytes + 8<<10

type headListener struct{ net.Listener }

// RecordHeads makes the connections of ln remember request heads.
func RecordHeads(ln net.Listener) net.Listener { return headListener{ln} }

func (l headListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headConn{Conn: c, recording: true}, nil
}

type headConn struct {
	net.Conn
	mu        sync.Mutex
	recording bool
	tail      []byte
}

func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording && n > 0 {
		c.tail = append(c.tail, p[:n]...)
		if over := len(c.tail) - maxHead; over > 0 {
			c.tail = append(c.tail[:0], c.tail[over:]...)
		}
	}
	return n, err
}

// take returns what was read since the last head and stops recording, so that bodies cost nothing.
func (c *headConn) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.tail
	c.tail, c.recording = nil, false
	return tail
}

func (c *headConn) record() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recording = true
}

type connKey struct{}

// RememberConn is http.Server.ConnContext.
func RememberConn(ctx context.Context, c net.Conn) context.Context {
	if hc, ok := c.(*headConn); ok {
		return context.WithValue(ctx, connKey{}, hc)
	}
	return ctx
}

// AmbiguousFraming reports whether a chunked request also had a Content-Length. Every place in the
// remembered bytes that looks like the head of this request is examined: the true one is among them.
func AmbiguousFraming(r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*headConn)
	if !ok {
		return false
	}
	tail := c.take()
	if len(r.TransferEncoding) == 0 {
		return false
	}
	line := []byte(r.Method + " " + r.RequestURI + " ")
	for {
		at := bytes.Index(tail, line)
		if at < 0 {
			return false
		}
		tail = tail[at+len(line):]
		for field := range strings.Lines(string(tail)) {
			field = strings.TrimRight(field, "\r\n")
			if field == "" {
				break
			}
			name, _, _ := strings.Cut(field, ":")
			if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
				return true
			}
		}
	}
}

// RecordAgain resumes recording for the next request of the connection.
func RecordAgain(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*headConn); ok {
		c.record()
	}
}
