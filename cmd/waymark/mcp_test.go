package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// host starts waymark mcp the way an MCP host does.
func host(t *testing.T, dir string, args ...string) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cmd := exec.Command(program, append([]string{"mcp", "--data", dir}, args...)...)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 5 * time.Second}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func suggestNext(t *testing.T, s *mcp.ClientSession, after ...string) []string {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "suggest_next", Arguments: map[string]any{"context": after}})
	require.NoError(t, err)
	require.False(t, result.IsError, "%v", result.Content)
	b, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	var answer struct {
		Suggestions []struct {
			ID string `json:"id"`
		} `json:"suggestions"`
	}
	require.NoError(t, json.Unmarshal(b, &answer), string(b))
	var ids []string
	for _, s := range answer.Suggestions {
		ids = append(ids, s.ID)
	}
	return ids
}

// A host that owns the directory: its session works, and so do other commands meanwhile, and a second
// host that is passed on to the first.
func TestMCPOverStdio(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", dir)
	require.Zero(t, code, errs)

	first := host(t, dir)
	tools, err := first.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	assert.Subset(t, names, []string{"find_tool", "suggest_next", "suggest_dag", "record_episode"})
	assert.Equal(t, []string{"json:parse"}, suggestNext(t, first, "fs:read_file")[:1])

	out, errs, code := waymark(t, "", "next", "--after", "fs:read_file", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "json:parse")

	second := host(t, dir)
	assert.Equal(t, []string{"json:parse"}, suggestNext(t, second, "fs:read_file")[:1])
	require.NoError(t, second.Close())

	require.NoError(t, first.Close())
	out, errs, code = waymark(t, "", "doctor", "--data", dir)
	assert.Contains(t, out, "nobody", "%d %s", code, errs)
}

// A host beside a server is passed on to it, in the workspace it asked for.
func TestMCPBesideAServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	startServer(t, dir)
	_, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", dir, "--workspace", "team")
	require.Zero(t, code, errs)
	assert.Equal(t, []string{"json:parse"}, suggestNext(t, host(t, dir, "--workspace", "team"), "fs:read_file")[:1])
	assert.Empty(t, suggestNext(t, host(t, dir), "fs:read_file"))
	assert.Empty(t, suggestNext(t, host(t, dir, "--workspace", "new"), "fs:read_file"), "a host may ask before anything is recorded")
	_, errs, code = waymark(t, "", "next", "--data", dir, "--workspace", "typo")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, `there is no workspace "typo"; existing workspaces: default, new, team. `)
}
