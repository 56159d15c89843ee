package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// A line after a record waits for it; a request to the host that can no longer be answered fails at the end of the input.
func TestFramesAtTheEndOfInput(t *testing.T) {
	serverIn, hostOut := io.Pipe()
	hostIn, serverOut := io.Pipe()
	f := newFrames(serverIn, serverOut)
	defer f.Close()
	go io.Copy(io.Discard, hostIn)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for r := bufio.NewScanner(f); r.Scan(); {
			lines <- r.Text()
		}
	}()
	record := `{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"record_episode","arguments":{}}}`
	go func() {
		io.WriteString(hostOut, record+"\n"+callLine(2)+"\n"+`{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n")
		io.WriteString(hostOut, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		hostOut.Close()
	}()
	require.Equal(t, record, <-lines)
	select {
	case line := <-lines:
		require.Fail(t, "passed on before the record was answered", line)
	case <-time.After(20 * time.Millisecond):
	}
	write := func(line string) {
		_, err := f.out.Write([]byte(line + "\n"))
		require.NoError(t, err)
	}
	write(`{"jsonrpc":"2.0","id":"r","result":{}}`)
	assert.Equal(t, callLine(2), <-lines)
	assert.Contains(t, <-lines, "ping")
	assert.Contains(t, <-lines, "cancelled")
	write(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`)
	failed := <-lines
	assert.Contains(t, failed, `"id":7`)
	assert.Contains(t, failed, "closed its end")
	write(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	_, more := <-lines
	assert.False(t, more, "the input ends when the last call is answered; a cancelled one is not waited for")
}

// Once the server shuts down, calls in flight are still answered and later ones are refused.
func TestFramesAtShutdown(t *testing.T) {
	serverIn, hostOut := io.Pipe()
	hostIn, serverOut := io.Pipe()
	f := newFrames(serverIn, serverOut)
	defer f.Close()
	passed := bufio.NewScanner(f)
	go io.WriteString(hostOut, callLine(1)+"\n")
	require.True(t, passed.Scan())
	f.drain()
	ended := make(chan bool)
	go func() { ended <- passed.Scan() }()
	go io.WriteString(hostOut, callLine(2)+"\n")
	answers := bufio.NewScanner(hostIn)
	require.True(t, answers.Scan())
	assert.Contains(t, answers.Text(), `"id":2`)
	assert.Contains(t, answers.Text(), "shutting down")
	go f.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"))
	require.True(t, answers.Scan())
	assert.Contains(t, answers.Text(), `"id":1`)
	assert.False(t, <-ended)
}

// callLine is the line of a call that has to be answered.
func callLine(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"suggest_next","arguments":{}}}`, id)
}
