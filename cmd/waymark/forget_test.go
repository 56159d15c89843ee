package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/ingest/hook"
)

// ignoreGone ignores that a file is gone: the server replaces its high-water file while the folder is read.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Words come in by every way there is: commands, HTTP, MCP, imports, hooks, traces, runs, scorers, questions and refused
// requests. After every source was forgotten, neither a backup nor a file beside the database, which overwrites the bytes as
// it compacts its files, holds one of them.
func TestForgetOfEveryWayIn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(5, 6))
	planted := map[string]string{} // by text, where it came in
	plant := func(way string) string {
		text := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) // stays readable in compressed files
		planted[text] = way
		return text
	}
	holding := func() map[string]string { // the file, by way in
		found, backup := map[string]string{}, filepath.Join(t.TempDir(), "backup")
		says(t, 0, "backup", backup, "--data", dir)
		look := func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && path == filepath.Join(dir, "db") {
				return fs.SkipDir
			}
			if err != nil || !d.Type().IsRegular() {
				return ignoreGone(err)
			}
			b, err := os.ReadFile(path)
			for text, way := range planted {
				if bytes.Contains(b, []byte(text)) || strings.Contains(path, text) {
					found[way] = path
				}
			}
			return ignoreGone(err)
		}
		require.NoError(t, filepath.WalkDir(dir, look))
		require.NoError(t, filepath.WalkDir(backup, look))
		return found
	}

	says(t, 0, "gateway", "add", deskConfig(t, map[string]string{}), "--yes", "--data", dir)
	require.NoError(t, os.MkdirAll(string(hook.WhisperOf(dir, "default")), 0o700))
	history := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(history, fmt.Appendf(nil, `{"id":%q,"intent":%q,"steps":[{"tool":"fs:read","outcome":"failure","error":%q}]}`,
		plant("imported id"), plant("imported intent"), plant("imported error")), 0o600))
	s := startServer(t, dir, "--connect")
	post := func(path, body string, want int) { askOver(t, http.MethodPost, s.URLs.API+path, body, want, nil) }
	awaitDesk(t, dir)
	says(t, 0, "import", history, "--data", dir)
	given(t, fmt.Sprintf(`{"id":"r","intent":%q,"steps":[{"tool":"fs:read"},{"tool":"fs:write"}]}`, plant("recorded intent")), "record", "-", "--data", dir)
	post("/episodes", fmt.Sprintf(`{"id":%q,"intent":%q,"session":%q,"steps":[{"tool":"fs:read"}]}`, plant("posted id"), plant("posted intent"), plant("posted session")), 200)
	post("/episodes", fmt.Sprintf(`{"id":"x","intent":%q,"steps":0}`, plant("refused")), 422)
	post("/next", fmt.Sprintf(`{"context":["fs:read"],"intent":%q}`, plant("intent of a question")), 200)
	post("/search", fmt.Sprintf(`{"query":%q}`, plant("words of a search")), 200)
	post("/dag", fmt.Sprintf(`{"intent":"read %s"}`, plant("words of a plan")), 200)
	post("/triangulations", fmt.Sprintf(`{"question":"Why %s?"}`, plant("question to a scorer")), 200)
	post("/runs", fmt.Sprintf(`{"dag":{"tasks":[{"id":"a","tool":"My-Desk:stamp","arguments":{"x":%q}}]}}`, plant("argument of a run")), 202)
	post("/traces", fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","name":"execute_tool fs:read",
		"startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000001000000000","status":{"code":2,"message":%q},"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},
		{"key":"gen_ai.tool.call.arguments","value":{"stringValue":%q}}]}]}]}]}`, plant("error of a span"), plant("argument of a span")), 200)
	session := plant("session of hooks")
	for _, payload := range []string{
		`{"session_id":%q,"hook_event_name":"UserPromptSubmit","prompt":"` + plant("prompt of a hook") + `"}`,
		`{"session_id":%q,"hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"path":"` + plant("argument of a hook") + `"},"tool_response":"` + plant("result of a hook") + `","tool_use_id":"1"}`,
		`{"session_id":%q,"hook_event_name":"PostToolUseFailure","tool_name":"mcp__` + plant("tool of a hook") + `__read","tool_input":{},"error":"` + plant("error of a hook") + `","tool_use_id":"2"}`,
	} {
		cmd := exec.Command(hookProgram, "--host", "claude-code", "--data", dir, "--whisper")
		cmd.Stdin = strings.NewReader(fmt.Sprintf(payload, session))
		require.NoError(t, cmd.Run())
	}
	client := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP})
	for tool, arguments := range map[string]map[string]any{
		"record_episode": {"intent": plant("intent over MCP"), "steps": []any{map[string]any{"tool": "fs:read"}}},
		"call_tool":      {"tool": "My-Desk:stamp", "arguments": map[string]any{"x": plant("argument of a call")}},
	} {
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, r.IsError, "%s: %v", tool, r.Content)
	}
	require.Eventually(t, func() bool {
		out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
		return strings.Contains(out, "hook:claude-code") && strings.Contains(out, "otel:local")
	}, 2*time.Minute, 200*time.Millisecond)
	sources := func() map[string]int {
		out, _ := says(t, 0, "doctor", "--json", "--data", dir)
		var l struct{ Sources map[string]int }
		require.NoError(t, json.Unmarshal([]byte(out), &l), out)
		return l.Sources
	}
	says(t, 0, "rebuild", "--data", dir) // writes a snapshot
	found := holding()
	for _, way := range []string{"imported intent", "recorded intent", "posted id", "prompt of a hook", "tool of a hook", "intent over MCP", "argument of a run"} {
		assert.Contains(t, found, way, "else the test shows nothing")
	}
	for _, way := range []string{"refused", "intent of a question", "words of a search", "words of a plan", "argument of a hook", "result of a hook", "argument of a span", "error of a span", "argument of a call"} {
		assert.NotContains(t, found, way, "is never stored")
	}
	for source := range sources() {
		says(t, 0, "forget", "--source", source, "--yes", "--data", dir)
	}
	assert.Empty(t, holding())
	require.Zero(t, s.stop(t), "%s", s.stderr)
	assert.Empty(t, holding())
}
