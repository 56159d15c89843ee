package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
