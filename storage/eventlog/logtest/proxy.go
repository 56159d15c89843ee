package logtest

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy passes connections on to a server, and cuts them off from it.
type Proxy struct {
	net.Listener

	gate    sync.RWMutex // locked while nothing passes
	mu      sync.Mutex
	to      string
	refuses bool
	conns   []net.Conn
}

// StartProxy listens until the test ends. An address that is a path is a socket of Unix.
func StartProxy(t *testing.T, to string) *Proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{Listener: l, to: to}
	t.Cleanup(func() { l.Close(); p.Cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.connect(in)
		}
	}()
	return p
}

func (p *Proxy) connect(in net.Conn) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	network := "tcp"
	if strings.HasPrefix(p.to, "/") {
		network = "unix"
	}
	out, err := net.Dial(network, p.to)
	if err != nil || p.refuses {
		in.Close()
		if err == nil {
			out.Close()
		}
		return
	}
	p.conns = append(p.conns, in, out)
	go p.copy(out, in)
	go p.copy(in, out)
}

func (p *Proxy) copy(to, from net.Conn) {
	defer to.Close()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		p.gate.RLock()
		if n > 0 && err == nil {
			_, err = to.Write(buffer[:n])
		}
		p.gate.RUnlock()
		if err != nil {
			return
		}
	}
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// Refuse closes all connections, and new ones as they come, until the returned function is called.
func (p *Proxy) Refuse() (accept func()) {
	set := func(refuses bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refuses = refuses
	}
	set(true)
	p.Cut()
	return func() { set(false) }
}

// Hold lets nothing pass, as a network that drops what is sent, until the returned function is called.
func (p *Proxy) Hold() (release func()) {
	p.gate.Lock()
	return p.gate.Unlock
}
