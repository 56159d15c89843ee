//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A suspended process keeps the data directory and its connections: the calls of other windows end with an error, and the
// windows go on when it does.
func TestWindowsBesideASuspendedOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	w := &work{}
	owner := w.window(t, dir, "2025-11-25")
	answering(t, 1, owner)
	other := w.window(t, dir, "2026-07-28")
	answering(t, 1, other)
	other.over.Store(true) // it asks no more by itself
	<-other.ended
	require.NoError(t, owner.cmd.Process.Signal(syscall.SIGSTOP))
	ask := &mcp.CallToolParams{Name: "suggest_next", Arguments: map[string]any{"context": []string{"a:b"}}}
	_, err := other.session.CallTool(t.Context(), ask)
	assert.ErrorContains(t, err, "again")
	require.NoError(t, owner.cmd.Process.Signal(syscall.SIGCONT))
	_, err = other.session.CallTool(t.Context(), ask)
	assert.NoError(t, err)
	other.session.Close()
}
