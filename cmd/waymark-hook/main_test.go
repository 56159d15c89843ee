package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const post = `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"/p/x"},"tool_response":{"ok":true},"tool_use_id":"toolu_02"}`

func build(t testing.TB) string {
	program := filepath.Join(t.TempDir(), "waymark-hook")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// It leaves an event, prints nothing and exits with 0, and so it does where nothing can be written.
func TestProgram(t *testing.T) {
	program, data := build(t), t.TempDir()
	none := filepath.Join(data, "file")
	require.NoError(t, os.WriteFile(none, nil, 0o600))
	for _, tt := range []struct{ data, payload string }{{data, post}, {none, post}, {data, "{"}, {data, ""}} {
		cmd := exec.Command(program, "--data", tt.data)
		cmd.Stdin = strings.NewReader(tt.payload)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err)
		assert.Empty(t, out)
	}
	list, err := filepath.Glob(filepath.Join(data, "spool", "*.json"))
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

// BenchmarkProcess is what a host waits for: from the start of the program to its end.
func BenchmarkProcess(b *testing.B) {
	program, data := build(b), b.TempDir()
	for b.Loop() {
		cmd := exec.Command(program, "--data", data)
		cmd.Stdin = strings.NewReader(post)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
