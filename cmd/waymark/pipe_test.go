package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	pipeHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	pipeReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	pipeTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// pipeCall is a tools/call message.
func pipeCall(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// pipeAnswers sorts the lines that a pipe answered: results by id, and the codes of errors.
func pipeAnswers(t *testing.T, out string) (results map[int]string, codes []int) {
	t.Helper()
	results = map[int]string{}
	for line := range strings.Lines(out) {
		var m struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		switch {
		case m.Error != nil:
			codes = append(codes, m.Error.Code)
		case m.ID != nil:
			results[*m.ID] = string(m.Result)
		}
	}
	return results, codes
}

// What is piped in before the end of input is answered in full, by a process that owns the directory and by one
// that passes messages on to a server, with and without servers behind it.
func TestPipeIsAnsweredToItsEnd(t *testing.T) {
	many, manyIDs := []string{pipeHello, pipeReady}, []int{1}
	for id := 2; id <= 201; id++ {
		many, manyIDs = append(many, pipeCall(id, "suggest_next", `{"context":["fs:read_file"]}`)), append(manyIDs, id)
	}
	cases := map[string]struct {
		input string
		ids   []int
		codes []int
		holds map[int]string
	}{
		"handshake, list, call": {
			input: strings.Join([]string{pipeHello, pipeReady, pipeTools, pipeCall(3, "suggest_next", `{"context":["fs:read_file"]}`), ""}, "\n"),
			ids:   []int{1, 2, 3}, holds: map[int]string{2: "suggest_next", 3: "json:parse"},
		},
		"without initialized": {input: pipeHello + "\n" + pipeTools + "\n", ids: []int{1, 2}},
		"last line unended":   {input: pipeHello + "\n" + pipeReady + "\n" + pipeTools, ids: []int{1, 2}},
		"CRLF":                {input: strings.Join([]string{pipeHello, pipeReady, "", pipeTools, ""}, "\r\n"), ids: []int{1, 2}},
		"not JSON between":    {input: strings.Join([]string{pipeHello, pipeReady, "{nope", pipeTools, ""}, "\n"), ids: []int{1, 2}, codes: []int{-32700}},
		"messages that nothing answers": {
			input: strings.Join([]string{pipeHello, pipeReady, `{"jsonrpc":"2.0","id":5,"method":"nope"}`, `{"jsonrpc":"2.0","method":"notifications/unheard"}`, pipeTools}, "\n"),
			ids:   []int{1, 2}, codes: []int{-32601},
		},
		"no input":          {},
		"two hundred calls": {input: strings.Join(many, "\n"), ids: manyIDs},
		"a record counts for the question after it": {
			input: strings.Join([]string{pipeHello, pipeReady,
				pipeCall(2, "record_episode", `{"id":"new","steps":[{"tool":"dog:fetch"},{"tool":"dog:return"}],"outcome":"success"}`),
				pipeCall(3, "suggest_next", `{"context":["dog:fetch"]}`)}, "\n"),
			ids: []int{1, 2, 3}, holds: map[int]string{3: "dog:return"},
		},
		"a slow call in flight": {
			input: strings.Join([]string{pipeHello, pipeReady, pipeCall(2, "rebuild", `{}`), strings.Replace(pipeTools, `"id":2`, `"id":3`, 1)}, "\n"),
			ids:   []int{1, 2, 3}, holds: map[int]string{2: "rebuilt"},
		},
	}
	for _, road := range []string{"alone", "beside a server", "with servers"} {
		t.Run(road, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			given(t, threeEpisodes, "record", "-", "--data", dir)
			args := []string{"mcp", "--data", dir}
			switch road {
			case "beside a server":
				startServer(t, dir)
			case "with servers":
				args = append(args, "--connect")
			}
			for name, c := range cases {
				results, codes := pipeAnswers(t, given(t, c.input, args...))
				for _, id := range c.ids {
					assert.Contains(t, results, id, name)
				}
				assert.Len(t, results, len(c.ids), name)
				assert.Equal(t, c.codes, codes, name)
				for id, text := range c.holds {
					assert.Contains(t, results[id], text, name)
				}
			}
		})
	}
}

// A host that closes both ends, or dies with calls in flight, leaves no process behind.
func TestPipeOfAHostThatIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := exec.Command(program, "mcp", "--data", dir)
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = theirs, &stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	require.NoError(t, ours.Close())
	_, err = io.WriteString(in, strings.Join([]string{pipeHello, pipeReady, pipeTools, ""}, "\n"))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(t, err, "the end of the host is the normal end: %s", &stderr)
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		t.Fatal("it did not end")
	}
	out, errs, code := waymark(t, "", "doctor", "--data", dir)
	assert.Contains(t, out, "nobody", "%d %s", code, errs)
}
