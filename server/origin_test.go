package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// What a proxy header claims does not change who asks.
func TestForwardedHeadersAreIgnored(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Forwarded-Host", "Cf-Connecting-Ip"} {
		requireProblem(t, 401, "API key", w.ask("GET", "/v1/stats", "", name+": 127.0.0.1"))
	}
}
