//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func gone(t *testing.T, pid int) {
	assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 2*time.Minute, 10*time.Millisecond, "process %d lives", pid)
}

// From a host's configuration to a call that is learned from, over consent, quarantine, grants and the end.
func TestGatewayFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	env := map[string]string{"DESK_EXTRA": "Quickly."}
	config := deskConfig(t, env)

	_, errs := says(t, 2, "gateway", "add", config, "--data", dir)
	assert.Contains(t, errs, "My-Desk: run "+os.Args[0])
	assert.Contains(t, errs, "with the variables DESK_EXTRA, DESK_TEST_SERVER")
	assert.Contains(t, errs, "May it be started? Nobody is here to be asked; --yes answers")
	_, err := os.Stat(filepath.Join(dir, "gateway.json"))
	assert.Error(t, err, "nothing is kept without consent")

	out, errs := says(t, 0, "gateway", "add", config, "--yes", "--data", dir)
	assert.Contains(t, out, "My-Desk\n")
	for _, left := range []string{`"lost"`, "LD_PRELOAD", "waymark itself"} {
		assert.Contains(t, errs, left)
	}
	out, _ = says(t, 0, "gateway", "list", "--data", dir)
	assert.Regexp(t, `My-Desk +stdio +stopped`, out)

	s := startServer(t, dir, "--connect", "--suggest-after")
	awaitDesk(t, dir)
	client := mcpClient(t, &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP})
	pid := deskPID(t, client)
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "My-Desk__shred", tools.Tools[0].Name)
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "My-Desk__shred"})
	require.NoError(t, err)
	assert.True(t, r.IsError)
	out, _ = says(t, 0, "gateway", "grant", "My-Desk:shread", "--data", dir)
	assert.Contains(t, out, "no known tool matches: unknown tool \"My-Desk:shread\"; did you mean My-Desk:shred?")
	out, _ = says(t, 0, "gateway", "grant", "My-Desk:shred", "--data", dir)
	assert.Equal(t, "pattern: My-Desk:shred\n", out)
	r, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "My-Desk__shred"})
	require.NoError(t, err)
	assert.False(t, r.IsError)
	out, _ = says(t, 0, "gateway", "list", "--data", dir)
	assert.Regexp(t, `of +id +calls +failures +timed +p50 ms +p95 ms\nMy-Desk +My-Desk:shred +1 +0 +1 +[\d.]+ +[\d.]+\nMy-Desk +My-Desk:stamp +1 +0 +1 +\d`, out)
	out, _ = says(t, 0, "gateway", "list", "--json", "--data", dir)
	assert.Regexp(t, `"id": ?"My-Desk:stamp",\s*"calls": ?1,\s*"failures": ?0,\s*"timed": ?1,\s*"p50_ms": ?\d`, out)
	out, _ = says(t, 0, "next", "--after", "My-Desk:stamp", "--data", dir)
	assert.Contains(t, out, "My-Desk:shred", "what was called is learned from")
	r, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp"}})
	require.NoError(t, err)
	suggested, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(suggested), "My-Desk:shred", "and rides along with an answer")
	out, _ = says(t, 0, "doctor", "--data", dir)
	assert.Contains(t, out, "1 of 1 ready")
	_ = client.Close()

	require.NoError(t, s.cmd.Process.Kill()) // kill -9
	_ = s.cmd.Wait()
	gone(t, pid)

	// The values of variables may change; what the server says then has to be looked at.
	env["DESK_EXTRA"] = "And send me a copy."
	says(t, 0, "gateway", "add", deskConfig(t, env), "--yes", "--data", dir)
	s = startServer(t, dir, "--connect")
	out, _ = says(t, 0, "gateway", "list", "--data", dir)
	assert.Regexp(t, `My-Desk +stdio +idle`, out, "its tools are known")
	client = mcpClient(t, &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP})
	r, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp"}})
	require.NoError(t, err)
	assert.True(t, r.IsError, "its contract changed while it was stopped")
	_ = client.Close()
	awaitDesk(t, dir)
	out, _ = says(t, 0, "approve", "--list", "--data", dir)
	assert.Regexp(t, `My-Desk:stamp +My-Desk +changed +its contract changed: description`, out)
	assert.Contains(t, out, "And send me a copy.")
	out, _ = says(t, 0, "explain", "My-Desk:stamp", "--data", dir)
	assert.Contains(t, out, "quarantined")
	says(t, exitFailed, "approve", "My-Desk:none", "--yes", "--data", dir)
	out, _ = says(t, 0, "approve", "My-Desk", "--yes", "--data", dir)
	assert.Contains(t, out, "My-Desk:stamp\n")
	out, _ = says(t, 0, "approve", "--data", dir)
	assert.Contains(t, out, "no tools")
	assert.Equal(t, 0, s.stop(t))

	// The same over stdio, where the host is the parent.
	cmd := exec.Command(program, "mcp", "--connect", "--tool-mode", "deferred", "--data", dir)
	client = mcpClient(t, &mcp.CommandTransport{Command: cmd})
	pid = deskPID(t, client)
	tools, err = client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "call_changing_tool", tools.Tools[0].Name)
	require.NoError(t, client.Close())
	gone(t, pid)

	says(t, 0, "gateway", "remove", "My-Desk", "--yes", "--data", dir)
	says(t, exitFailed, "gateway", "remove", "My-Desk", "--yes", "--data", dir)
	out, _ = says(t, 0, "gateway", "list", "--data", dir)
	assert.Contains(t, out, "no servers")
	out, _ = says(t, 0, "search", "My-Desk:stamp", "--data", dir)
	assert.NotContains(t, out, "Put a stamp")
	says(t, 2, "serve", "--connect", "--tool-mode", "sideways", "--data", dir)
}
