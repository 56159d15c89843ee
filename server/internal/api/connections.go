package api

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Connections is a listener that limits the number of open connections, in total and for each address. At the limit it
// closes a connection without a request in progress for a new one: the oldest that has already served a request, else
// the oldest that has not. So connections that are only kept open do not lock out others. If requests are in progress
// on all connections, the new one is refused with 503.
type Connections struct {
	net.Listener
	share   Share
	isProxy func(address string) bool
	refused func()      // counts a refusal
	tls     *tls.Config // of accepted connections; nil: no TLS
	telling *semaphore.Weighted

	mu   sync.Mutex
	idle []*countedConn // no request is in progress on them; the oldest first
}

type countedConn struct {
	net.Conn
	of      *Connections
	clients []Client // its address; empty for a proxy
	hold    *Hold
	asked   bool // a request has arrived
}

// mostTold is how many refusals are written at once; further connections are closed without a response.
const mostTold = 64

// NewConnections limits the connections of a listener. It calls refused for each connection that is turned away.
func NewConnections(ln net.Listener, limit int, isProxy func(string) bool, refused func(), config *tls.Config) *Connections {
	return &Connections{Listener: ln, share: NewShare("connections", int64(limit)), isProxy: isProxy, refused: refused,
		tls: config, telling: semaphore.NewWeighted(mostTold)}
}

// Accept implements [net.Listener].
func (l *Connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &countedConn{Conn: conn, of: l}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			c.clients = addressClient(tcp.IP.String(), l.isProxy)
		}
		switch ok := l.admit(c); {
		case ok && l.tls != nil:
			return tls.Server(c, l.tls), nil
		case ok:
			return c, nil
		}
		l.refused()
		go l.turnAway(conn)
	}
}

// admit counts a connection if the limits permit it, and otherwise closes an idle connection to make room. If only the
// address of c has too many connections, the closed one is of the same address. It returns false if none is idle.
func (l *Connections) admit(c *countedConn) bool {
	for {
		hold, err := l.share.Take(1, c.clients)
		if err == nil {
			c.hold = hold
			c.note(http.StateIdle)
			return true
		}
		crowded := ProblemOf(err).Status == http.StatusTooManyRequests // only its address has too many
		l.mu.Lock()
		var oldest *countedConn
		for _, o := range l.idle {
			if crowded && !slices.Equal(o.clients, c.clients) {
				continue
			}
			if oldest == nil || o.asked && !oldest.asked { // the first request of the others may be about to arrive
				oldest = o
			}
		}
		l.mu.Unlock()
		if oldest == nil {
			return false
		}
		_ = oldest.Close()
	}
}

// turnAway answers 503 and closes the connection. With TLS, or while too many refusals are written, it only closes it.
func (l *Connections) turnAway(conn net.Conn) {
	defer conn.Close()
	if l.tls != nil || !l.telling.TryAcquire(1) {
		return
	}
	defer l.telling.Release(1)
	const body = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections are open at the same time"}`
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if tcp, ok := conn.(*net.TCPConn); ok { // unread bytes would turn the close into a reset, which discards the response
		_ = tcp.CloseWrite()
		_, _ = conn.Read(make([]byte, 4096))
	}
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.note(http.StateClosed)
	c.hold.Release()
	return c.Conn.Close()
}

// note updates the list of idle connections.
func (c *countedConn) note(state http.ConnState) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.asked = c.asked || state == http.StateActive
	c.of.idle = slices.DeleteFunc(c.of.idle, func(o *countedConn) bool { return o == c })
	if state == http.StateIdle {
		c.of.idle = append(c.of.idle, c)
	}
}

// NoteState is the callback http.Server.ConnState.
func NoteState(conn net.Conn, state http.ConnState) {
	if below, ok := conn.(*tls.Conn); ok {
		conn = below.NetConn()
	}
	if c, ok := conn.(*countedConn); ok && (state == http.StateActive || state == http.StateIdle) {
		c.note(state)
	}
}
