package hook

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// The payloads are as Claude Code and Codex document them, with SECRET where a value is.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, payload string
		want          Event
		ok            bool
		wrong         string
	}{
		{"a prompt", `{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":" fix it \n"}`, Event{Kind: Asked, Session: "s1", Intent: "fix it"}, true, ""},
		{"an empty prompt", `{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":""}`, Event{}, false, ""},
		{"before a call", `{"session_id":"s1","transcript_path":"t.jsonl","cwd":"/p","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"mcp__fs__read","tool_input":{"path":"SECRET"},"tool_use_id":"toolu_1"}`,
			Event{Kind: Began, Session: "s1", Call: "toolu_1", Tool: "fs:read", Shape: "{path:string}"}, true, ""},
		{"after a call", `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"SECRET"},"tool_response":{"ok":true},"tool_use_id":"toolu_2"}`,
			Event{Kind: Ended, Session: "s1", Call: "toolu_2", Tool: "Write", Shape: "{file_path:string}", Outcome: episodic.Success}, true, ""},
		{"a wrapper, of a subagent", `{"session_id":"s1","agent_id":"a7","hook_event_name":"PostToolUse","tool_name":"mcp__hub__call_tool","tool_input":{"tool":"mcp__ci__run","arguments":{"n":1}},"tool_response":[{"type":"text","text":"SECRET"}],"tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1/a7", Call: "x", Tool: "ci:run", Shape: "{n:integer}", Outcome: episodic.Success}, true, ""},
		{"a failure", `{"session_id":"s1","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"Command timed out SECRET","tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1", Call: "x", Tool: "Bash", Shape: "{}", Outcome: episodic.Failure, ErrorKind: "timeout"}, true, ""},
		{"a failure in the response", `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_input":{},"tool_response":{"isError":true,"content":[{"type":"text","text":"401 Unauthorized"}]},"tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1", Call: "x", Tool: "a:b", Shape: "{}", Outcome: episodic.Unknown, ErrorKind: "auth"}, true, ""},
		{"refused", `{"session_id":"s1","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"The user doesn't want to proceed","tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1", Call: "x", Tool: "Bash", Shape: "{}", Outcome: episodic.Unknown, ErrorKind: "policy"}, true, ""},
		{"interrupted", `{"session_id":"s1","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"Exit code 137","is_interrupt":true,"tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1", Call: "x", Tool: "Bash", Shape: "{}", Outcome: episodic.Unknown, ErrorKind: "canceled"}, true, ""},
		{"no interruption", `{"session_id":"s1","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"Exit code 1","is_interrupt":false,"tool_use_id":"x"}`,
			Event{Kind: Ended, Session: "s1", Call: "x", Tool: "Bash", Shape: "{}", Outcome: episodic.Failure, ErrorKind: "tool"}, true, ""},
		{"through Waymark", `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"mcp__waymark__fs__read","tool_input":{"path":"SECRET"},"tool_use_id":"x"}`,
			Event{Kind: Began, Session: "s1", Call: "x", Tool: "fs:read", Through: true, Shape: "{path:string}"}, true, ""},
		{"the end", `{"session_id":"s1","hook_event_name":"SessionEnd","reason":"exit"}`, Event{Kind: Over, Session: "s1"}, true, ""},
		{"another event", `{"session_id":"s1","hook_event_name":"Notification"}`, Event{}, false, ""},
		{"a question to Waymark itself", `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"mcp__waymark__find_tool","tool_input":{},"tool_use_id":"x"}`, Event{}, false, ""},
		{"no session", `{"hook_event_name":"PreToolUse","tool_name":"x"}`, Event{}, false, "session"},
		{"no tool", `{"session_id":"s1","hook_event_name":"PreToolUse"}`, Event{}, false, "tool"},
		{"no JSON", `{"session_id"`, Event{}, false, "JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, ok, err := Read([]byte(tt.payload), noon, nil)
			assert.Equal(t, tt.ok, ok)
			if tt.wrong != "" {
				assert.ErrorContains(t, err, tt.wrong)
				return
			}
			require.NoError(t, err)
			if ok {
				tt.want.Time, tt.want.name = noon, e.name
				assert.Equal(t, tt.want, e)
				text, err := json.Marshal(e)
				require.NoError(t, err)
				assert.NotContains(t, string(text), "SECRET")
			}
		})
	}
}

// A call without an id is known by its tool and arguments, before and after it.
func TestReadWithoutCallID(t *testing.T) {
	read := func(event, arguments string) Event {
		e, _, err := Read([]byte(`{"session_id":"s1","hook_event_name":"`+event+`","tool_name":"Bash","tool_input":`+arguments+`}`), noon, nil)
		require.NoError(t, err)
		return e
	}
	before := read("PreToolUse", `{"c":1}`)
	assert.True(t, before.Unnamed)
	assert.Equal(t, before.Call, read("PostToolUse", `{"c":1}`).Call)
	assert.NotEqual(t, before.Call, read("PreToolUse", `{"c":2}`).Call)
}

func TestReadDigests(t *testing.T) {
	key := episodic.DigestKey{7}
	e, _, err := Read([]byte(`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"a","tool_input":{"id":"value-1"},"tool_response":"{\"id\":\"value-1\"}","tool_use_id":"x"}`), noon, &key)
	require.NoError(t, err)
	assert.NotEmpty(t, e.Inputs["id"])
	assert.Equal(t, e.Inputs, e.Outputs)
}

// Whatever goes wrong, the command returns: it prints nothing and leaves nothing half done.
func TestMainNeverFails(t *testing.T) {
	post := `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"a","tool_input":{},"tool_response":"x","tool_use_id":"x"}`
	t.Setenv("WAYMARK_WORKSPACE", "team")
	dir := t.TempDir()
	require.NoError(t, Main([]string{"--host", "codex", "--data", dir}, strings.NewReader(post), io.Discard, ""))
	names, err := SpoolOf(dir).List(time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, names, 1)
	e, err := SpoolOf(dir).Take(names[0])
	require.NoError(t, err)
	assert.Equal(t, []string{"codex", "team", "a"}, []string{e.Host, e.Workspace, e.Tool})
	info, err := os.Stat(filepath.Join(dir, "spool", names[0]))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Error(t, Main([]string{"--data", file}, strings.NewReader(post), io.Discard, ""), "no directory can be made there")
	assert.Error(t, Main([]string{"--nonsense"}, strings.NewReader(post), io.Discard, dir))
	assert.Error(t, Main([]string{"--data", dir}, strings.NewReader("{"), io.Discard, ""))
	list, err := os.ReadDir(filepath.Join(dir, "spool"))
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

func TestSpool(t *testing.T) {
	s := SpoolOf(t.TempDir())
	names, err := s.List(noon)
	require.NoError(t, err)
	assert.Empty(t, names, "there is no spool yet")
	for _, at := range []int{3, 1, 2} {
		require.NoError(t, s.Leave(Event{Kind: Over, Session: "s", Host: "h", Time: noon.Add(time.Duration(at) * time.Second)}))
	}
	names, err = s.List(noon.Add(2500 * time.Millisecond))
	require.NoError(t, err)
	require.Len(t, names, 2, "what is newer is not complete yet")
	for i, name := range names {
		e, err := s.Take(name)
		require.NoError(t, err)
		assert.Equal(t, noon.Add(time.Duration(i+1)*time.Second), e.Time)
		require.NoError(t, s.Remove(name))
		require.NoError(t, s.Remove(name), "again")
	}
	for name, text := range map[string]string{"0-bad.json": "{", "1-empty.json": "", "2-none.json": "{}", "odd.json": "[]", "ignored.txt": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(string(s), name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(string(s), "3-link.json")))
	names, err = s.List(noon)
	require.NoError(t, err)
	assert.Len(t, names, 5)
	for _, name := range names {
		_, err := s.Take(name)
		assert.ErrorContains(t, err, name)
	}

	assert.Nil(t, s.Key("default"))
	require.NoError(t, s.KeepKey("default", episodic.DigestKey{1}))
	require.NoError(t, s.KeepKey("../../x", episodic.DigestKey{2}))
	assert.Equal(t, episodic.DigestKey{1}, *s.Key("default"))
	assert.Equal(t, episodic.DigestKey{2}, *s.Key("../../x"))

	require.NoError(t, s.DropKeys())
	assert.Nil(t, s.Key("default"))

	require.NoError(t, os.WriteFile(filepath.Join(string(s), full), nil, 0o600))
	assert.Error(t, s.Leave(Event{Time: noon}), "nobody takes anything in")
	_, err = s.List(noon)
	require.NoError(t, err)
	assert.NoError(t, s.Leave(Event{Time: noon}), "somebody has looked")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"a","tool_input":{},"tool_response":"x","tool_use_id":"x"}`))
	f.Add([]byte(`{"session_id":"s1","hook_event_name":"PostToolUseFailure","tool_name":"call_tool","tool_input":"{\"tool\":\"x\"}","error":{"a":1}}`))
	key := episodic.DigestKey{1}
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, ok, err := Read(payload, noon, &key)
		if ok && err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(e); err != nil || ok && len(text) > largest {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	})
}

func TestPromptIsCutBesideItsSecrets(t *testing.T) {
	prompt := strings.Repeat("y", episodic.MaxIntent-10) + " AKIA" + "IOSFODNN7EXAMPLE zzz"
	e, _, err := Read([]byte(`{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"`+prompt+`"}`), noon, nil)
	require.NoError(t, err)
	assert.NotContains(t, e.Intent, "AKIA")
	assert.LessOrEqual(t, len(e.Intent), episodic.MaxIntent)
}
