package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
	"waymark/suggest"
)

// testAPI registers more routes on a running server.
func (w web) testAPI() *api.Table {
	r := *w.routes
	r.API = humagin.New(w.handler.(*gin.Engine), w.humaConfig())
	return &r
}

func testOperation(id, path string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path}
}

func testHandler[A any](f func() (A, error)) func(context.Context, *struct{}) (A, error) {
	return func(context.Context, *struct{}) (A, error) { return f() }
}

// The Host and Origin of a rebound or cross-site request are refused on every route, pages and
// probes included.
func TestHostAndOrigin(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.Hosts = []string{"waymark.example", "named.example:8443"}
		c.Origins = []string{"https://ui.example"}
	})
	port := w.url[strings.LastIndexByte(w.url, ':'):]
	routes := []struct{ method, path, body string }{
		{"GET", "/", ""}, {"GET", "/healthz", ""}, {"GET", "/nowhere", ""}, {"POST", "/v1/next", "{}"}, {"POST", "/mcp", "{}"},
	}
	for _, c := range []struct {
		header []string
		ok     bool
	}{
		{[]string{"Host: evil.example"}, false},
		{[]string{"Host: evil.example" + port}, false},
		{[]string{"Host: localhost.evil.example"}, false},
		{[]string{"Host: 127.0.0.1.evil.example"}, false},
		{[]string{"Host: 192.0.2.7"}, false},
		{[]string{"Host: named.example"}, false}, // listed with its port only
		{[]string{"Origin: http://evil.example"}, false},
		{[]string{"Origin: null"}, false},
		{[]string{"Origin: http://localhost:3000"}, false},
		{[]string{"Origin: file://"}, false},
		{[]string{"Origin: https://ui.example.evil.example"}, false},
		{[]string{"Host: evil.example", "Origin: http://evil.example"}, false},
		{[]string{"Sec-Fetch-Site: cross-site"}, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"}, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"}, false}, // a form; a link to a page is fine
		{[]string{"Host: localhost" + port}, true},
		{[]string{"Host: LOCALHOST"}, true},
		{[]string{"Host: [::1]" + port}, true},
		{[]string{"Host: 127.0.0.2"}, true},
		{[]string{"Host: waymark.example"}, true},
		{[]string{"Host: Waymark.Example:9"}, true},
		{[]string{"Host: named.example:8443"}, true},
		{[]string{"Origin: " + w.url}, true},
		{[]string{"Origin: https://ui.example"}, true},
		{[]string{"Host: waymark.example", "Origin: https://waymark.example"}, true},
		{[]string{"Sec-Fetch-Site: same-origin"}, true},
	} {
		for _, route := range routes {
			r := w.ask(route.method, route.path, route.body, c.header...)
			if c.ok || slices.Contains(c.header, "Sec-Fetch-Dest: document") && route.method == "GET" {
				assert.NotEqual(t, 403, r.status, "%v %s %s", c.header, route.method, route.path)
			} else {
				requireProblem(t, 403, "", r)
			}
		}
	}

	// A listed origin may read the answers and preflight; others get no such header.
	r := w.ask("OPTIONS", "/v1/next", "", "Origin: https://ui.example", "Access-Control-Request-Method: POST")
	assert.Equal(t, 204, r.status)
	assert.Equal(t, "https://ui.example", r.header.Get("Access-Control-Allow-Origin"))
	assert.Contains(t, r.header.Get("Access-Control-Allow-Headers"), "Authorization")
	assert.Empty(t, r.header.Get("Access-Control-Allow-Credentials"))
	assert.Empty(t, w.ask("GET", "/healthz", "").header.Get("Access-Control-Allow-Origin"))
	requireProblem(t, 403, "Origin", w.ask("OPTIONS", "/v1/next", "", "Origin: http://evil.example", "Access-Control-Request-Method: POST"))
}

// What a proxy header claims changes neither who asks nor what the log says.
func TestForwardedHeadersAreIgnored(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	w := newWeb(t, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
		c.RequireKey = true
	})
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Forwarded-Host", "Cf-Connecting-Ip"} {
		requireProblem(t, 401, "API key", w.ask("GET", "/v1/stats", "", name+": 127.0.0.1"))
	}
	mu.Lock()
	defer mu.Unlock()
	assert.NotContains(t, log.String(), "Forwarded")
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// No secret of a request reaches the log: not from the query, the headers, the body or the path.
func TestLogHoldsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	w := newWeb(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)) })
	const marker = "SECRET-MARKER"
	w.ask("GET", "/v1/tools?cursor="+marker, "")
	w.ask("GET", "/v1/tools/"+marker, "")
	w.ask("GET", "/"+marker, "")
	w.ask("POST", "/v1/next", `{"intent":"`+marker+`"}`, "Authorization: Bearer "+marker, "Cookie: "+marker, "User-Agent: "+marker)
	w.ask("POST", "/v1/next", `{"intent":"`+marker+`"}`, "X-Request-Id: <"+marker)
	w.ask("POST", "/v1/search", `{"query":"`+marker+`"}`)
	mu.Lock()
	defer mu.Unlock()
	assert.Contains(t, log.String(), "route=/v1/next")
	assert.NotContains(t, log.String(), marker)
}

// A panic ends one request; what it said stays in the log.
func TestPanicIsolation(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	w := newWeb(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)) })
	table := w.testAPI()
	ru := api.Rule{Scope: api.ScopeRead}
	api.Add(table, ru, testOperation("panic", "/v1/test/panic"), testHandler(func() (suggest.Stats, error) { panic("secret in a panic") }))
	api.Add(table, ru, testOperation("error", "/v1/test/error"), testHandler(func() (suggest.Stats, error) {
		return suggest.Stats{}, errors.New("secret in an error")
	}))
	api.Raw(table, ru, testOperation("late", "/v1/test/late"), func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(c huma.Context) {
			_, _ = c.BodyWriter().Write([]byte("half"))
			panic("after the first byte")
		}}, nil
	})
	for _, path := range []string{"/v1/test/panic", "/v1/test/error"} {
		p := requireProblem(t, 500, "internal error", w.ask("GET", path, ""))
		assert.NotContains(t, fmt.Sprint(p), "secret")
	}
	req, _ := http.NewRequest("GET", w.url+"/v1/test/late", nil)
	fresh := &http.Transport{DisableKeepAlives: true} // over a used connection the client would ask again
	resp, err := fresh.RoundTrip(req)
	if err == nil { // the head may have gone out; the body must not look whole
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	assert.Error(t, err)
	assert.Equal(t, 200, w.ask("POST", "/v1/next", "{}").status, "the process goes on")
	assert.Contains(t, w.ask("GET", "/metrics", "").body, "waymark_panics_total 2")
	mu.Lock()
	defer mu.Unlock()
	for _, said := range []string{"secret in a panic", "secret in an error", "after the first byte"} {
		assert.Contains(t, log.String(), said)
	}
}

func TestBodyLimits(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.MaxBody = 1000 })
	long := `{"intent":"` + strings.Repeat("x", 1000) + `"}`
	fits := `{"intent":"` + strings.Repeat("x", 1000-13) + `"}`
	require.Len(t, fits, 1000)
	assert.Equal(t, 200, w.ask("POST", "/v1/next", fits).status)
	for method, paths := range map[string][]string{"POST": {"/v1/next", "/v1/search", "/v1/episodes", "/v1/feedback", "/v1/keys"}, "PUT": {"/v1/tools"}} {
		for _, path := range paths {
			requireProblem(t, 413, "larger", w.ask(method, path, long))
			req, _ := http.NewRequest(method, w.url+path, io.NopCloser(strings.NewReader(long))) // length not said
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, 413, resp.StatusCode, path)
		}
	}

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

// Without keys nothing but loopback is served, whatever the way there.
func TestBeyondLoopbackNeedsKeys(t *testing.T) {
	s := newOffice(t)
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer ln.Close()
	assert.ErrorContains(t, s.Serve(t.Context(), ln), "needs API keys")

	for local, status := range map[string]int{"127.0.0.1": 200, "::1": 200, "192.0.2.7": 401} {
		addr := &net.TCPAddr{IP: net.ParseIP(local), Port: 7070}
		r := httptest.NewRequest("GET", "http://"+addr.String()+"/v1/stats", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		assert.Equal(t, status, w.Code, local) // 401, not 403: the address it came in on is a fair Host
	}
}

// serve starts Serve on a loopback port and returns its address and a way to stop it.
func serve(t testing.TB, s *Server) (addr string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	return ln.Addr().String(), sync.OnceValue(func() error { cancel(); return <-done })
}

// exchangeRaw sends bytes and reads answers until the connection ends or one second passes.
func exchangeRaw(t testing.TB, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, _ = conn.Write([]byte(text)) // the server may hang up before it has read all
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	data, _ := io.ReadAll(conn)
	return string(data)
}

// Requests that two servers in a row could read differently, and heads without end.
func TestRawRequests(t *testing.T) {
	s := newOffice(t)
	addr, stop := serve(t, s)
	defer stop()
	head := "POST /v1/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for _, c := range []struct{ name, text, status string }{
		{"plain", head + "Content-Length: 2\r\nConnection: close\r\n\r\n{}", "200"},
		{"chunked", head + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "200"},
		{"Content-Length in a chunked body", head + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1e\r\n{\"intent\":\"Content-Length: 2\"}\r\n0\r\n\r\n", "200"},
		{"two CL", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400"},
		{"TE with a blank", head + "Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "400"},
		{"unknown TE", head + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501"},
		{"no Host", "GET /healthz HTTP/1.1\r\n\r\n", "400"},
		{"two Hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", "400"},
		{"NUL in a header", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n", "400"},
		{"bad escape in a path", "GET /v1/tools/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"10,000 headers", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 10_000) + "\r\n", "431"},
		{"one header of 64 KiB", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
	} {
		got := exchangeRaw(t, addr, c.text)
		assert.True(t, strings.HasPrefix(got, "HTTP/1.1 "+c.status), "%s: %.200q", c.name, got)
	}

	// Several requests over one connection.
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i, c := range []struct {
		text   string
		status int
	}{
		{head + "Content-Length: 2\r\n\r\n{}", 200},
		{head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
		{head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
	} {
		_, err := conn.Write([]byte(c.text))
		require.NoError(t, err)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err, "request %d", i)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		assert.Equal(t, c.status, resp.StatusCode, "request %d", i)
	}
}

// Shutdown waits for a request that ends in time, cancels one that obeys its context, and cuts off
// one that obeys nothing; new requests are refused from its beginning.
func TestShutdown(t *testing.T) {
	newHanging := func(drain time.Duration, hang func(context.Context)) (*Server, string, func() error, chan struct{}) {
		s := newOffice(t, func(c *Config) { c.Drain = drain })
		entered := make(chan struct{})
		api.Add(web{Server: s, t: t}.testAPI(), api.Rule{Scope: api.ScopeRead, Stream: true}, testOperation("hang", "/v1/test/hang"),
			func(ctx context.Context, _ *struct{}) (s suggest.Stats, err error) {
				close(entered)
				hang(ctx)
				return s, nil
			})
		addr, stop := serve(t, s)
		return s, addr, stop, entered
	}
	get := func(addr string) <-chan error {
		out := make(chan error, 1)
		go func() {
			resp, err := http.Get("http://" + addr + "/v1/test/hang")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != 200 {
					err = errors.New(resp.Status)
				}
			}
			out <- err
		}()
		return out
	}

	t.Run("in time", func(t *testing.T) {
		s, addr, stop, entered := newHanging(5*time.Second, func(context.Context) { time.Sleep(100 * time.Millisecond) })
		answer := get(addr)
		<-entered
		require.NoError(t, stop())
		assert.NoError(t, <-answer)
		assert.True(t, s.isDraining())
		_, err := net.DialTimeout("tcp", addr, time.Second)
		assert.Error(t, err, "nothing listens any more")
	})
	t.Run("cancelled", func(t *testing.T) {
		_, addr, stop, entered := newHanging(time.Second, func(ctx context.Context) { <-ctx.Done() })
		answer := get(addr)
		<-entered
		require.NoError(t, stop())
		assert.NoError(t, <-answer, "the handler had its time to answer, and was not cut off")
	})
	t.Run("cut off", func(t *testing.T) {
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		_, addr, stop, entered := newHanging(50*time.Millisecond, func(context.Context) { <-never })
		answer := get(addr)
		<-entered
		began := time.Now()
		require.NoError(t, stop())
		assert.Error(t, <-answer)
		assert.Less(t, time.Since(began), 3*time.Second) // a drain and a half; 15 s with the default
	})
	t.Run("readiness", func(t *testing.T) {
		w := newWeb(t)
		assert.Equal(t, 200, w.ask("GET", "/readyz", "").status)
		w.drainOnce.Do(func() { close(w.draining) })
		requireProblem(t, 503, "shutting down", w.ask("GET", "/readyz", ""))
		assert.Equal(t, 200, w.ask("GET", "/healthz", "").status)
	})
}
