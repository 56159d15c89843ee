package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// both runs a test over a socket and in process: the two roads must not be tellable apart.
func both(t *testing.T, h http.Handler, test func(t *testing.T, c *client)) {
	t.Run("socket", func(t *testing.T) {
		s := httptest.NewServer(h)
		defer s.Close()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		test(t, &client{http: &http.Client{Transport: transport}, base: s.URL, token: "t", workspace: "w"})
	})
	t.Run("in process", func(t *testing.T) {
		transport, stop := inProcess(h)
		defer stop()
		test(t, &client{http: &http.Client{Transport: transport}, base: "http://localhost", token: "t", workspace: "w"})
	})
}

// A line is answered before the next one is written, so neither body may be buffered whole.
func TestBodiesStreamBothWays(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		require.NoError(t, rc.EnableFullDuplex())
		require.NoError(t, rc.SetWriteDeadline(time.Time{}))
		w.Header().Set("Trailer", "Lines")
		in := bufio.NewScanner(r.Body)
		n := 0
		for in.Scan() {
			n++
			fmt.Fprintf(w, "%d %s\n", n, in.Text())
			require.NoError(t, rc.Flush())
		}
		w.Header().Set("Lines", fmt.Sprint(n))
		w.Header().Set(http.TrailerPrefix+"Late", "yes")
	})
	both(t, h, func(t *testing.T, c *client) {
		r, w := io.Pipe()
		go fmt.Fprintln(w, "first")
		resp, err := c.do(t.Context(), call{method: "POST", path: "/", body: r})
		require.NoError(t, err)
		defer resp.Body.Close()
		out := bufio.NewReader(resp.Body)
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "1 first\n", line)
		fmt.Fprintln(w, "second")
		line, err = out.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "2 second\n", line)
		w.Close()
		_, err = out.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, "2", resp.Trailer.Get("Lines"))
		assert.Equal(t, "yes", resp.Trailer.Get("Late"))
	})
}

func TestAbortedAnswerIsNotAWholeOne(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	both(t, h, func(t *testing.T, c *client) {
		_, err := c.send(t.Context(), call{method: "GET", path: "/"})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// A problem document (RFC 9457, with the errors extension of the API) reads as one sentence.
func TestProblemReadsAsASentence(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body, want string
		status                        int
	}{
		{"detail", "application/problem+json", `{"title":"Not Found","status":404,"detail":"tool \"a:b\" is unknown"}`, `tool "a:b" is unknown`, 404},
		{"parts", "application/problem+json", `{"title":"Unprocessable Entity","detail":"validation failed","errors":[{"message":"must be a number of at most 100, got 5000","location":"body.limit","value":5000}]}`, "limit: must be a number of at most 100, got 5000", 422},
		{"detail repeats a part", "application/problem+json", `{"detail":"limit: too large","errors":[{"message":"too large","location":"body.limit"},{"message":"unknown","location":"body.lim"}]}`, "limit: too large (lim: unknown)", 422},
		{"no document", "text/plain", "no\nsuch  host\n", "no such host", 403},
		{"empty", "text/plain", "", "Service Unavailable", 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport, stop := inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}))
			defer stop()
			_, err := (&client{http: &http.Client{Transport: transport}, base: "http://localhost"}).send(t.Context(), call{method: "GET", path: "/"})
			var p *problem
			require.ErrorAs(t, err, &p)
			assert.Equal(t, tt.status, p.Status)
			assert.Equal(t, tt.want, p.Error())
		})
	}
}
