//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A named pipe is read once, to its end, as standard input is; who waits for its writer can be interrupted.
func TestImportNamedPipe(t *testing.T) {
	dir := t.TempDir()
	silent, pipe := filepath.Join(dir, "silent"), filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(silent, 0o600))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run(ctx, []string{"import", "--data", filepath.Join(dir, "data"), silent}, strings.NewReader(""), &out, &errs))
	assert.Equal(t, "waymark: interrupted\n", errs.String())

	written := make(chan error)
	go func() {
		written <- os.WriteFile(pipe, []byte(`{"kind":"tool","id":"fs:read"}`+"\n"+`{"kind":"tool","id":"fs:write"}`+"\n"), 0)
	}()
	got, _ := says(t, 0, "import", "--data", filepath.Join(dir, "data"), pipe)
	require.NoError(t, <-written)
	assert.Contains(t, got, "2 tools")
	assert.Contains(t, got, pipe)
}
