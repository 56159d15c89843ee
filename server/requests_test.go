package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A body that is announced as too long, or in a form that nothing here reads, is refused before any of it comes.
func TestBodiesAreRefusedByTheirHead(t *testing.T) {
	w := newWeb(t)
	for _, path := range []string{"/v1/episodes", "/v1/next", "/mcp"} {
		for head, status := range map[string]int{
			"Content-Length: 99999999":                                            413,
			"Content-Length: 99999999\r\nExpect: 100-continue":                    413,
			"Content-Length: 2\r\nContent-Encoding: gzip":                         415,
			"Content-Length: 2\r\nContent-Type: application/json; charset=utf-16": 415,
		} {
			kind := "Content-Type: application/json\r\n"
			if strings.Contains(head, "charset") {
				kind = ""
			}
			conn := w.begin("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n" +
				kind + head + "\r\n\r\n" + map[int]string{415: "{}"}[status])
			_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			assert.Equal(t, status, r.StatusCode, "%s %s", path, head)
			if status == 413 {
				assert.True(t, r.Close, "%s %s", path, head)
			}
			conn.Close()
		}
	}
}

// A client that sends its whole body before it reads still gets the answer, if the body arrives within the time for which
// the rest of a refused body is discarded.
func TestRefusedBodyIsDiscarded(t *testing.T) {
	w := newWeb(t)
	body := make([]byte, 16<<20) // larger than the buffers of a connection
	require.Eventually(t, func() bool {
		conn := w.begin("POST /v1/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n\r\n")
		defer conn.Close()
		if _, err := conn.Write(body); err != nil {
			return false
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		return err == nil && r.StatusCode == http.StatusRequestEntityTooLarge
	}, time.Minute, 10*time.Millisecond)
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
}
