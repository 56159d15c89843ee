// Package transport limits the open connections of a server.
package transport

import (
	"container/list"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"waymark/server/internal/limit"
)

// connections is a listener that keeps the number of open connections within limits, in all and for each address. A
// connection on which nothing is being asked gives way to a new one, the oldest first: connections that are only kept
// open lock nobody out. Where all are at work the new one is refused with 503.
type connections struct {
	net.Listener
	limit   int
	isProxy func(address string) bool

	mu     sync.Mutex
	open   int
	by     map[string]int // by address
	idle   *list.List     // of *countedConn, longest idle first
	plain  bool           // a refusal can be written as it is: there is no TLS
	told   chan struct{}  // has room for as many refusals as are written at once
	refuse func()         // counts a refusal
}

// LimitConnections counts the connections of ln; refuse counts those that are refused.
func LimitConnections(ln net.Listener, limit int, isProxy func(string) bool, refuse func()) *connections {
	return &connections{Listener: ln, limit: limit, isProxy: isProxy, by: map[string]int{}, idle: list.New(), plain: true,
		told: make(chan struct{}, 64), refuse: refuse}
}

// WithTLS is the listener with TLS above it.
func (l *connections) WithTLS(config *tls.Config) net.Listener {
	l.plain = false
	return tls.NewListener(l, config)
}

type countedConn struct {
	net.Conn
	of      *connections
	address string
	at      *list.Element // in idle; nil: a request is under way
	asked   bool          // there was a request
	dropped bool
}

func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &countedConn{Conn: conn, of: l}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			if c.address = limit.AddressOf(tcp.IP.String()); l.isProxy(c.address) {
				c.address = ""
			}
		}
		evicted, ok := l.admit(c)
		if evicted != nil {
			_ = evicted.Close()
		}
		if ok {
			return c, nil
		}
		l.refuse()
		select {
		case l.told <- struct{}{}:
			go l.turnAway(conn)
		default:
			_ = conn.Close()
		}
	}
}

// admit counts a connection if there is room for it, or if an idle one can make room, which it returns.
func (l *connections) admit(c *countedConn) (evicted *countedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	crowded := c.address != "" && l.by[c.address] >= max(l.limit/limit.AddressPart, 1)
	if crowded || l.open >= l.limit {
		of := ""
		if crowded {
			of = c.address
		}
		if evicted = l.longestIdle(of); evicted == nil {
			return nil, false
		}
		l.drop(evicted)
	}
	l.open++
	l.by[c.address]++
	c.at = l.idle.PushBack(c)
	return evicted, true
}

// longestIdle is the connection to give up first, of an address or of all: one that was answered before one whose first
// request has not come. l.mu is held.
func (l *connections) longestIdle(address string) (first *countedConn) {
	for e := l.idle.Front(); e != nil; e = e.Next() {
		switch c := e.Value.(*countedConn); {
		case address != "" && c.address != address:
		case c.asked:
			return c
		case first == nil:
			first = c
		}
	}
	return first
}

// drop stops counting a connection. l.mu is held.
func (l *connections) drop(c *countedConn) {
	if c.dropped {
		return
	}
	c.dropped = true
	l.open--
	if l.by[c.address]--; l.by[c.address] == 0 {
		delete(l.by, c.address)
	}
	l.rest(c, false)
}

// rest notes whether a connection is idle. l.mu is held.
func (l *connections) rest(c *countedConn, idle bool) {
	if c.at != nil {
		l.idle.Remove(c.at)
		c.at = nil
	}
	if idle {
		c.at = l.idle.PushBack(c)
	}
}

// turnAway says why a connection is closed.
func (l *connections) turnAway(conn net.Conn) {
	if l.plain {
		const body = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections are open at the same time"}`
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if tcp, ok := conn.(*net.TCPConn); ok { // unread bytes would turn the close into a reset, and the answer would be lost
			_ = tcp.CloseWrite()
			_, _ = conn.Read(make([]byte, 4096))
		}
	}
	_ = conn.Close()
	<-l.told
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.of.mu.Lock()
	c.of.drop(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// NoteState is http.Server.ConnState.
func NoteState(conn net.Conn, state http.ConnState) {
	if below, ok := conn.(*tls.Conn); ok {
		conn = below.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok {
		return
	}
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive:
		c.asked = true
		l.rest(c, false)
	case http.StateIdle:
		l.rest(c, !c.dropped)
	}
}
