//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A named pipe is read once, to its end, as standard input is.
func TestImportNamedPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	written := make(chan error)
	go func() {
		written <- os.WriteFile(pipe, []byte(`{"kind":"tool","id":"fs:read"}`+"\n"+`{"kind":"tool","id":"fs:write"}`+"\n"), 0)
	}()
	got, _ := says(t, 0, "import", "--data", filepath.Join(dir, "data"), pipe)
	require.NoError(t, <-written)
	assert.Contains(t, got, "2 tools")
	assert.Contains(t, got, pipe)
}
