package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/ingest/hook"
)

// The payloads of a session, as each host writes them: a call, the beginning of the one that fails after it where the host
// has a hook there, its failure, and a failure that was repaired before.
var whispering = []struct {
	host     string
	field    func(said map[string]any) any
	payloads []string
	want     []string // part of the line after each payload; "" is silence
}{
	{"claude-code", hookSpecific, []string{
		`{"session_id":"S","hook_event_name":"SessionStart","source":"startup"}`,
		`{"session_id":"S","hook_event_name":"UserPromptSubmit","prompt":"ship it"}`,
		`{"session_id":"S","hook_event_name":"PostToolUse","tool_name":"mcp__gh__create","tool_input":{},"tool_response":"ok","tool_use_id":"1"}`,
		`{"session_id":"S","hook_event_name":"PreToolUse","tool_name":"mcp__gh__merge","tool_input":{},"tool_use_id":"2"}`,
		`{"session_id":"S","hook_event_name":"PostToolUseFailure","tool_name":"mcp__gh__merge","tool_input":{},"error":"checks are missing","tool_use_id":"2"}`,
		`{"session_id":"S","hook_event_name":"PostToolUseFailure","tool_name":"Lint","tool_input":{},"error":"not formatted","tool_use_id":"3"}`,
		`{"session_id":"S","hook_event_name":"PostToolUseFailure","tool_name":"Lint","tool_input":{},"error":"not formatted","tool_use_id":"4"}`,
		`{"session_id":"S","hook_event_name":"SessionEnd","reason":"exit"}`,
	}, []string{"", "", "", "gh:merge failed 20 of 20", "", "where Lint failed here, Fmt", "", ""}},
	{"codex", hookSpecific, []string{
		`{"session_id":"S","hook_event_name":"UserPromptSubmit","prompt":"ship it"}`,
		`{"session_id":"S","hook_event_name":"PostToolUse","tool_name":"mcp__gh__create","tool_input":{},"tool_response":"ok","tool_use_id":"1"}`,
		`{"session_id":"S","hook_event_name":"PostToolUse","tool_name":"Lint","tool_input":{},"tool_response":{"success":false,"error":"not formatted"},"tool_use_id":"2"}`,
	}, []string{"", "", "where Lint failed here, Fmt"}},
	{"cursor", func(said map[string]any) any { return said["additional_context"] }, []string{
		`{"conversation_id":"S","hook_event_name":"sessionStart"}`,
		`{"conversation_id":"S","hook_event_name":"beforeSubmitPrompt","prompt":"ship it"}`,
		`{"conversation_id":"S","hook_event_name":"postToolUse","tool_name":"Read","tool_input":{},"tool_output":"{}","tool_use_id":"1"}`,
		`{"conversation_id":"S","hook_event_name":"postToolUseFailure","tool_name":"Lint","tool_input":{},"error_message":"not formatted","failure_type":"error","tool_use_id":"2"}`,
		`{"conversation_id":"S","hook_event_name":"sessionEnd"}`,
	}, []string{"", "", "", "where Lint failed here, Fmt", ""}},
}

func hookSpecific(said map[string]any) any {
	specific, _ := said["hookSpecificOutput"].(map[string]any)
	return specific["additionalContext"]
}

// The hooks of each host record a session and tell what a history gives reason to, with the programs and a server as they
// are installed.
func TestWhisper(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	history := filepath.Join(t.TempDir(), "history.jsonl")
	require.NoError(t, os.WriteFile(history, []byte(failing(200)), 0o600))
	out, err := exec.Command(program, "import", "--data", dir, history).CombinedOutput()
	require.NoError(t, err, "%s", out)
	folder := hook.WhisperOf(dir, "default")
	require.NoError(t, os.MkdirAll(string(folder), 0o700))
	startServer(t, dir)
	require.Eventually(t, folder.Derived, time.Minute, 50*time.Millisecond)

	hook := func(host, payload string) string {
		cmd := exec.Command(hookProgram, "--host", host, "--data", dir, "--whisper")
		cmd.Stdin = strings.NewReader(payload)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		return string(out)
	}
	for _, tt := range whispering {
		for i, payload := range tt.payloads {
			out := hook(tt.host, payload)
			if tt.want[i] == "" {
				require.Empty(t, out, payload)
				continue
			}
			var said map[string]any
			require.NoError(t, json.Unmarshal([]byte(out), &said), "%s: %s", payload, out)
			require.Contains(t, tt.field(said), tt.want[i])
		}
	}
	require.Eventually(t, func() bool {
		out, err := exec.Command(program, "doctor", "--data", dir).CombinedOutput()
		return err == nil && strings.Contains(string(out), "hook:claude-code") && strings.Contains(string(out), "hook:codex") && strings.Contains(string(out), "hook:cursor")
	}, time.Minute, 200*time.Millisecond, "what hooks report is recorded")
}

// failing is a history in which merging fails right after creating, and Fmt repairs Lint.
func failing(sessions int) string {
	var b strings.Builder
	for i := range sessions {
		steps := map[int]string{
			0: `{"tool":"gh:create","outcome":"success"},{"tool":"gh:merge","outcome":"failure"}`,
			1: `{"tool":"Lint","outcome":"failure"},{"tool":"Fmt","outcome":"success"}`,
		}[i%10]
		if steps == "" {
			steps = []string{`{"tool":"gh:create","outcome":"success"},{"tool":"gh:check","outcome":"success"},{"tool":"gh:merge","outcome":"success"}`,
				`{"tool":"Lint","outcome":"success"},{"tool":"Read","outcome":"success"}`}[i%2]
		}
		fmt.Fprintf(&b, "{\"id\":\"e%d\",\"session\":\"s%d\",\"steps\":[%s]}\n", i, i, steps)
	}
	return b.String()
}
