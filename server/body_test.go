package server

import (
	"bufio"
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
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			require.NoError(t, err)
			_, err = conn.Write([]byte("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n" + kind + head + "\r\n\r\n" + map[int]string{415: "{}"}[status]))
			require.NoError(t, err)
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
