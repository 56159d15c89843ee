package server

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line that is no message is answered as JSON-RPC has it, and the session goes on.
func TestABadFrameDoesNotEndTheSession(t *testing.T) {
	s := newOffice(t)
	hostIn, serverOut := io.Pipe()
	serverIn, hostOut := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), serverIn, serverOut, defaultWorkspace) }()
	answers := bufio.NewScanner(hostIn)
	answers.Buffer(nil, 1<<20)
	ask := func(line string) map[string]any {
		_, err := io.WriteString(hostOut, line+"\n")
		require.NoError(t, err)
		require.True(t, answers.Scan(), answers.Err())
		var m map[string]any
		require.NoError(t, json.Unmarshal(answers.Bytes(), &m))
		return m
	}
	code := func(m map[string]any) any { return m["error"].(map[string]any)["code"] }
	for line, want := range map[string]float64{
		"hello": -32700, "{\"jsonrpc\":\"2.0\"": -32700, "{} {}": -32700, "\xff\xfe": -32700,
		"5": -32600, "[ ]": -32600, `{"jsonrpc":"1.0","id":7,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxFrame) + `"}`: -32600,
	} {
		assert.Equal(t, want, code(ask(line)), "%.60q", line)
	}
	assert.Equal(t, 7.0, ask(`{"jsonrpc":"1.0","id":7,"method":"ping"}`)["id"])
	assert.Equal(t, -32600.0, code(ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), "before the handshake")
	m := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	assert.NotNil(t, m["result"], "%v", m)
	_, err := io.WriteString(hostOut, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(t, err)
	m = ask(`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	assert.Equal(t, -32600.0, code(m), "no batches in this revision: %v", m)
	assert.NotNil(t, ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)["result"])
	require.NoError(t, hostOut.Close())
	require.NoError(t, <-done)
}

func FuzzCheckFrame(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `[]`, `{}`, `null`, `"a"`, `{"jsonrpc":2}`, ` `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		id, code, reason := checkFrame(line)
		assert.Equal(t, code == 0, reason == "")
		if code == 0 {
			assert.True(t, json.Valid(line))
		}
		assert.True(t, id == nil || json.Valid(id))
	})
}

// The revision of 2025-03-26 has batches; one that is none does not end the session.
func TestBatchesOfTheRevisionThatHasThem(t *testing.T) {
	s := newOffice(t)
	hostIn, serverOut := io.Pipe()
	serverIn, hostOut := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), serverIn, serverOut, defaultWorkspace) }()
	answers := bufio.NewScanner(hostIn)
	answers.Buffer(nil, 1<<20)
	ask := func(line string) string {
		_, err := io.WriteString(hostOut, line+"\n")
		require.NoError(t, err)
		require.True(t, answers.Scan(), answers.Err())
		return answers.Text()
	}
	assert.Contains(t, ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`), "2025-03-26")
	_, err := io.WriteString(hostOut, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(t, err)
	for _, wrong := range []string{`[1]`, `[[]]`, `[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":2}]`} {
		assert.Contains(t, ask(wrong), "-32600", wrong)
	}
	var got []map[string]any
	require.NoError(t, json.Unmarshal([]byte(ask(`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)), &got))
	assert.Len(t, got, 2)
	require.NoError(t, hostOut.Close())
	require.NoError(t, <-done)
}

// An error of the SDK gets its code in a plain message and in a server-sent event; all else stays as it is.
func TestMended(t *testing.T) {
	for _, c := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}` + "\n", `{"error":{"code":-32603,"message":"no"},"id":1,"jsonrpc":"2.0"}` + "\n"},
		{"event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}` + "\n\n", "event: message\ndata: " + `{"error":{"code":-32603,"message":"no"},"id":1,"jsonrpc":"2.0"}` + "\n\n"},
		{"event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n", "event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n"},
		{`"error":{"code":0,`, `"error":{"code":0,`},
	} {
		assert.Equal(t, c[1], string(mended([]byte(c[0]))))
	}
}
