package api

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Connections is a listener that keeps the number of open connections within limits, in all and for each address. A
// connection on which nothing is being asked gives way to a new one, the oldest first: connections that are only kept
// open lock nobody out. Where all are at work the new one is refused with 503.
type Connections struct {
	net.Listener
	Limit   int
	IsProxy func(address string) bool
	Refused func()      // counts a refusal
	TLS     *tls.Config // above the listener; nil: none

	mu    sync.Mutex
	open  map[*countedConn]bool
	moves int64 // of all connections, between idle and at work
	told  int   // refusals being written
}

type countedConn struct {
	net.Conn
	of      *Connections
	address string
	idle    int64 // the move with which it became idle; 0: a request is under way
	asked   bool  // there was a request
}

// mostTold is how many refusals are written at once; more connections are closed without a word.
const mostTold = 64

// Accept implements [net.Listener].
func (l *Connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &countedConn{Conn: conn, of: l}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			if c.address = AddressOf(tcp.IP.String()); l.IsProxy(c.address) {
				c.address = ""
			}
		}
		evicted, ok := l.admit(c)
		if evicted != nil {
			_ = evicted.Conn.Close()
		}
		switch {
		case ok && l.TLS != nil:
			return tls.Server(c, l.TLS), nil
		case ok:
			return c, nil
		}
		l.Refused()
		go l.turnAway(conn)
	}
}

// admit counts a connection if there is room for it, or if an idle one can make room, which it returns: one that was
// answered before one whose first request has not come.
func (l *Connections) admit(c *countedConn) (evicted *countedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := 0
	for o := range l.open {
		if o.address == c.address {
			same++
		}
	}
	crowded := c.address != "" && same >= max(l.Limit/AddressPart, 1)
	if crowded || len(l.open) >= l.Limit {
		for o := range l.open {
			if o.idle == 0 || crowded && o.address != c.address {
				continue
			}
			if evicted == nil || o.asked && !evicted.asked || o.asked == evicted.asked && o.idle < evicted.idle {
				evicted = o
			}
		}
		if evicted == nil {
			return nil, false
		}
		delete(l.open, evicted)
	}
	if l.open == nil {
		l.open = map[*countedConn]bool{}
	}
	l.open[c] = true
	l.moves++
	c.idle = l.moves
	return evicted, true
}

// turnAway says why a connection is closed.
func (l *Connections) turnAway(conn net.Conn) {
	defer conn.Close()
	l.mu.Lock()
	silent := l.told == mostTold || l.TLS != nil
	if !silent {
		l.told++
	}
	l.mu.Unlock()
	if silent {
		return
	}
	const body = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections are open at the same time"}`
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if tcp, ok := conn.(*net.TCPConn); ok { // unread bytes would turn the close into a reset, and the answer would be lost
		_ = tcp.CloseWrite()
		_, _ = conn.Read(make([]byte, 4096))
	}
	l.mu.Lock()
	l.told--
	l.mu.Unlock()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// NoteState is http.Server.ConnState.
func NoteState(conn net.Conn, state http.ConnState) {
	if below, ok := conn.(*tls.Conn); ok {
		conn = below.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok || state != http.StateActive && state != http.StateIdle {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.asked, c.idle = true, 0
	if state == http.StateIdle {
		c.of.moves++
		c.idle = c.of.moves
	}
}
