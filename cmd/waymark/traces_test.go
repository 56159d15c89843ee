//go:build unix

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Spans that were acknowledged are recorded although the server was killed before their trace was complete.
func TestTracesAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir)
	span := func(id, parent, tool, from, to string) string {
		return `{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"` + id + `","parentSpanId":"` + parent + `","name":"execute_tool ` + tool + `","startTimeUnixNano":"` + from +
			`000000000","endTimeUnixNano":"` + to + `000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}}]}`
	}
	body := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span("00f067aa0ba902b7", "00f067aa0ba902b9", "fs:read", "1790000000", "1790000001") + "," +
		span("00f067aa0ba902b8", "00f067aa0ba902b9", "fs:write", "1790000002", "1790000003") + `]}]}]}`
	resp, err := http.Post(s.URLs.API+"/traces", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()

	s = startServer(t, dir)
	assert.Zero(t, s.stop(t), "a server that stops records what waits: %s", s.stderr)
	out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
	assert.Equal(t, 1, strings.Count(out, `"kind":"episode"`), out)
	assert.Contains(t, out, `"tool":"fs:write"`)
}
