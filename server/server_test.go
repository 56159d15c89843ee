package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/live"
	"waymark/suggest"
)

// web is a server on a loopback port.
type web struct {
	*Server
	t   testing.TB
	url string
	as  string // header of requests that give no Authorization; empty: none
}

func newWeb(t testing.TB, adjust ...func(*Config)) web {
	t.Helper()
	return webOf(t, newOffice(t, adjust...))
}

func webOf(t testing.TB, s *Server) web {
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(ts.Close)
	return web{Server: s, t: t, url: ts.URL}
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends a request; header is a list of "Name: value". A body without a Content-Type is JSON.
func (w web) ask(method, path, body string, header ...string) reply {
	w.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, w.url+path, reader)
	require.NoError(w.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range append([]string{w.as}, header...) {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "":
		case "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// parse reads the body of a reply that must have the given status.
func parse[T any](t testing.TB, status int, r reply) T {
	t.Helper()
	var v T
	require.Equal(t, status, r.status, r.body)
	require.NoError(t, json.Unmarshal([]byte(r.body), &v), r.body)
	return v
}

// settle waits until the model counts what was put.
func (w web) settle(r live.PutResult) {
	w.t.Helper()
	require.NoError(w.t, defaultEngine(w.t, w.Server).Wait(w.t.Context(), r.Seq))
}

// refused is an error as a client sees it.
type refused struct {
	Type, Title, Detail, Instance string
	Status                        int
	Errors                        []struct {
		Message, Location string
		Value             any
	}
}

// requireProblem checks that a reply is a problem document of this status that mentions words.
func requireProblem(t testing.TB, status int, mention string, r reply) refused {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"), r.body)
	p := parse[refused](t, status, r)
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.Equal(t, "urn:waymark:request:"+r.header.Get("X-Request-Id"), p.Instance)
	require.Contains(t, r.body, mention)
	return p
}

// The routes of docs/api in their plainest use, on the office of mcp_test.go.
func TestRoutes(t *testing.T) {
	w := newWeb(t)

	t.Run("probes and pages", func(t *testing.T) {
		for _, c := range []struct{ path, kind, has string }{
			{"/healthz", "application/json", `"ok"`},
			{"/readyz", "application/json", `"ready"`},
			{"/metrics", "text/plain", "waymark_model_nodes 7"}, // 6 tools and 1 capability
			{"/openapi.json", "application/openapi+json", `"openapi": "3.1.0"`},
			{"/docs", "text/html", "/v1/next"},
		} {
			r := w.ask("GET", c.path, "")
			assert.Equal(t, 200, r.status, c.path)
			assert.True(t, strings.HasPrefix(r.header.Get("Content-Type"), c.kind), "%s is %s", c.path, r.header.Get("Content-Type"))
			assert.Contains(t, r.body, c.has, c.path)
			assert.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
			if c.kind == "text/html" { // offline and inert: only the page's style sheet is loaded, nothing could run
				assert.Contains(t, r.header.Get("Content-Security-Policy"), "default-src 'none'")
				assert.NotRegexp(t, `(?i)<script|<link [^>]*href="(?:[^/]|//)|<img|src=|@import|url\(`, r.body)
			}
			assert.Equal(t, 200, w.ask("HEAD", c.path, "").status, c.path)
		}
	})
	t.Run("unknown paths and methods", func(t *testing.T) {
		requireProblem(t, 404, "no such route", w.ask("GET", "/v2/next", ""))
		requireProblem(t, 404, "no such route", w.ask("GET", "/v1/tools/", ""))
		r := w.ask("GET", "/v1/next", "")
		requireProblem(t, 405, "GET is not a method", r)
		assert.Equal(t, "POST", r.header.Get("Allow"))
	})
	t.Run("ids of a request", func(t *testing.T) {
		r := w.ask("GET", "/healthz", "", "X-Request-Id: abc-1")
		assert.Equal(t, "abc-1", r.header.Get("X-Request-Id"))
		r = w.ask("GET", "/healthz", "", "X-Request-Id: <b>x")
		assert.Regexp(t, `^[0-9a-f]{24}$`, r.header.Get("X-Request-Id"))
	})
}

// What is acknowledged counts for a question with its seq, and for one that never comes the wait ends.
func TestMinSeq(t *testing.T) {
	w := newWeb(t)
	for i := range 3 {
		body := fmt.Sprintf(`{"id":"new %d","steps":[{"tool":"slack:get_issue"},{"tool":"json:parse"}]}`, i)
		r := parse[recordResult](t, 200, w.ask("POST", "/v1/episodes", body))
		a := parse[suggest.NextAnswer](t, 200, w.ask("POST", "/v1/next", fmt.Sprintf(`{"context":["slack:get_issue"],"min_seq":%d}`, r.Seq)))
		require.NotEmpty(t, a.Suggestions)
		assert.Equal(t, "json:parse", a.Suggestions[0].ID)
		assert.EqualValues(t, i+1, a.Suggestions[0].Evidence.Count)
		assert.GreaterOrEqual(t, a.Model.Seq, r.Seq)
	}
	for _, path := range []string{"/v1/next", "/v1/search"} {
		r := w.ask("POST", path, map[string]string{"/v1/next": `{"min_seq":999999}`, "/v1/search": `{"query":"x","min_seq":999999}`}[path])
		requireProblem(t, 503, "does not count", r)
		assert.Equal(t, "1", r.header.Get("Retry-After"))
	}
}

// A server starts no goroutine of its own: what New and a request start ends with them.
func TestNothingIsLeftRunning(t *testing.T) {
	running := goleak.IgnoreCurrent()
	t.Run("server", func(t *testing.T) {
		w := newWeb(t)
		w.ask("POST", "/v1/next", `{"context":["fs:read_file"]}`)
		w.ask("POST", "/v1/rebuild", `{}`)
		w.ask("POST", "/v1/episodes", `{"id":"x","steps":[{"tool":"a"}]}`)
		for range 20 { // requests given up half-way
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			req, _ := http.NewRequestWithContext(ctx, "POST", w.url+"/v1/next", strings.NewReader(`{"min_seq":99999}`))
			req.Header.Set("Content-Type", "application/json")
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
			cancel()
		}
	})
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, running)
}
