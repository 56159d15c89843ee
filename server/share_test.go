package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// twoKeys makes keys of two workspaces, and returns the headers that carry them.
func (w web) twoKeys() (a, b string) {
	w.t.Helper()
	header := func(name string) string {
		_, key, err := w.createKey(context.Background(), name, name, api.AllScopes, "")
		require.NoError(w.t, err)
		return "Authorization: Bearer " + key
	}
	return header("a"), header("b")
}

// begin sends the beginning of a request and returns its connection.
func (w web) begin(text string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(w.t, err)
	return conn
}

// answered reads the answer on a connection.
func answered(t *testing.T, conn net.Conn) reply {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// One client holds at most its part of the bytes of bodies, and others go on; the total is refused to all with 503.
func TestBodiesAreShared(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey, c.MaxBody, c.MaxBodies = true, 1000, 8000 })
	a, b := w.twoKeys()
	for path, kind := range map[string]string{"/v1/episodes": ndjson, "/v1/next": "application/json", "/mcp": "application/json"} {
		slow := func(key, framing string) net.Conn {
			return w.begin("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + key + "\r\nContent-Type: " + kind +
				"\r\nAccept: application/json, text/event-stream\r\n" + framing + "\r\n\r\n")
		}
		held := []net.Conn{slow(a, "Transfer-Encoding: chunked"), slow(a, "Transfer-Encoding: chunked")}
		require.Eventually(t, func() bool { return w.bodies.Held() == 2000 }, 2*time.Minute, time.Millisecond, path)
		r := answered(t, slow(a, "Transfer-Encoding: chunked"))
		requireProblem(t, 429, "this credential holds too many bytes of request bodies: at most 2000 of 8000", r)
		assert.Equal(t, "1", r.header.Get("Retry-After"))
		assert.Equal(t, 200, w.ask("POST", "/v1/next", `{}`, b).status, "the other goes on")
		for _, conn := range held {
			conn.Close()
		}
		require.Eventually(t, func() bool { return w.bodies.Held() == 0 }, 2*time.Minute, time.Millisecond, path)
	}
}

// A client whose body hardly moves is cut off.
func TestSlowBodiesAreCutOff(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.grace = 300 * time.Millisecond })
	for path, kind := range map[string]string{"/v1/episodes": ndjson, "/v1/import": ndjson, "/mcp": "application/json"} {
		head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: " + kind + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		conn := w.begin(head + "1\r\n{\r\n")
		r := answered(t, conn)
		if path != "/mcp" { // there the SDK reads
			requireProblem(t, 408, "too slowly", r)
		}
		assert.GreaterOrEqual(t, r.status, 400, path)
	}
}

// Connections that are only kept open give way to new ones; where all are at work a new one is refused in so many words.
func TestConnectionsGiveWay(t *testing.T) {
	s := newOffice(t, func(c *Config) { c.MaxConnections = 8 })
	addr, stop := serve(t, s)
	defer stop()
	w := web{Server: s, t: t, url: "http://" + addr}
	for range 8 {
		conn := w.begin("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		assert.Equal(t, 200, answered(t, conn).status)
	}
	for range 8 {
		w.begin("GET /healthz HTTP/1.1\r\nHost: loc") // half a head
	}
	for range 20 { // a connection is idle a moment after its answer
		require.Eventually(t, func() bool {
			return answered(t, w.begin("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")).status == 200
		}, 2*time.Minute, time.Millisecond)
	}

	var busy []net.Conn // half of all: the part of one address
	require.Eventually(t, func() bool {
		if w.open.Held() < 4 { // what comes while none is idle is refused
			busy = append(busy, w.begin("POST /v1/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"))
		}
		return w.open.Held() == 4
	}, 2*time.Minute, 20*time.Millisecond)
	r := answered(t, w.begin(""))
	assert.Equal(t, 503, r.status)
	assert.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	assert.Contains(t, r.body, "too many connections")
	assert.Equal(t, "1", r.header.Get("Retry-After"))
	for _, conn := range busy {
		conn.Close()
	}
	require.Eventually(t, func() bool {
		return answered(t, w.begin("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")).status == 200
	}, 2*time.Minute, 10*time.Millisecond)
}

// Sessions and streams of one credential are bounded, and do not keep out another one.
func TestSessionsAndStreamsAreShared(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey, c.MaxConnections = true, 64 })
	a, b := w.twoKeys()
	var ids []string
	for range 16 { // a quarter of 64
		r := w.mcp(hello, a)
		require.Equal(t, 200, r.status, r.body)
		ids = append(ids, r.header.Get("Mcp-Session-Id"))
	}
	r := w.mcp(hello, a)
	requireProblem(t, 429, "too many MCP sessions: at most 16 of 64", r)
	assert.Equal(t, "1", r.header.Get("Retry-After"))
	assert.Equal(t, 200, w.mcp(hello, b).status, "the other goes on")

	var streams []net.Conn
	listen := func() net.Conn {
		return w.begin("GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + a + "\r\nAccept: text/event-stream\r\n" + "Mcp-Session-Id" + ": " + ids[len(streams)] + "\r\n\r\n")
	}
	for range 4 { // a quarter of a quarter
		streams = append(streams, listen())
	}
	require.Eventually(t, func() bool { return w.streams.Held() == 4 }, 2*time.Minute, time.Millisecond)
	requireProblem(t, 429, "too many streams: at most 4 of 16", answered(t, listen()))
}

// What reads the whole history, or lays out the whole graph, and a question of many words waits for its turn as plans do.
func TestLongComputationsTakeTurns(t *testing.T) {
	w, patient := newWeb(t, func(c *Config) { c.Timeout = 300 * time.Millisecond }), newWeb(t)
	who := append(slices.Repeat([]string{"local"}, max(2*runtime.GOMAXPROCS(0), 2)-1), "memory") // the one of overMemory
	for _, one := range who {
		for _, s := range []web{w, patient} {
			leave, err := s.routes.Limiter.Enter(t.Context(), one)
			require.NoError(t, err)
			defer leave()
		}
	}
	for _, path := range []string{"/v1/tool-stats", "/v1/evidence?from=fs:read_file&to=json:parse", "/v1/map", "/v1/graph/diff"} {
		r := w.ask("GET", path, "")
		assert.Contains(t, []int{503, 504}, r.status, "%s: %s", path, r.body)
		assert.NotEmpty(t, r.header.Get("Retry-After"), path)
	}
	long := strings.Repeat("read a file ", 100)
	for path, body := range map[string]string{"/v1/search": `{"query":%q}`, "/v1/next": `{"intent":%q}`, "/v1/explain": `{"id":"fs:read_file","intent":%q}`} {
		assert.Contains(t, []int{503, 504}, w.ask("POST", path, fmt.Sprintf(body, long)).status, path)
		assert.Equal(t, 200, patient.ask("POST", path, fmt.Sprintf(body, "read a file")).status, "%s: a short question waits for nothing", path)
	}
	find := map[string]any{"query": long}
	assert.True(t, call(t, overMemory(t, w.Server, nil), "find_tool", find).IsError)
	find["query"] = "read a file"
	assert.False(t, call(t, overMemory(t, patient.Server, nil), "find_tool", find).IsError)
}

// Clients of IPv6 are counted by network, and a proxy is not one client.
func TestHolders(t *testing.T) {
	s := newOffice(t, func(c *Config) { c.Proxies = []string{"203.0.113.9"} })
	assert.Len(t, s.clientsOf(api.Access{Source: "key:1", Peer: "203.0.113.9"}), 1)
	assert.Len(t, s.clientsOf(api.Access{Source: "key:1", Peer: "203.0.113.8"}), 2)
}

func TestRateLimit(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Rate, c.Burst, c.RequireKey = 0.001, 3, true })
	_, a, err := w.createKey(t.Context(), "a", "a", api.ScopeRead, "")
	require.NoError(t, err)
	_, b, err := w.createKey(t.Context(), "b", "b", api.ScopeRead, "")
	require.NoError(t, err)
	for range 3 {
		assert.Equal(t, 200, w.ask("GET", "/v1/stats", "", "Authorization: Bearer "+a).status)
	}
	r := w.ask("GET", "/v1/stats", "", "Authorization: Bearer "+a)
	requireProblem(t, 429, "too many requests", r)
	assert.Regexp(t, `^[1-9]\d*$`, r.header.Get("Retry-After"))
	assert.Equal(t, 200, w.ask("GET", "/v1/stats", "", "Authorization: Bearer "+b).status, "buckets are apart")
	assert.Equal(t, 200, w.ask("GET", "/healthz", "").status, "probes have no credential")
}
