package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// npm empties the cache from which npx runs a program: no path within it is written into a host's file.
func TestInitOutOfTheCacheOfNPX(t *testing.T) {
	cached := filepath.Join(t.TempDir(), "_npx", "1", filepath.Base(program))
	require.NoError(t, os.MkdirAll(filepath.Dir(cached), 0o700))
	if err := os.Link(program, cached); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(cached, "init", "--host", "cursor", "--yes", "--data", t.TempDir())
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.Error(t, err, string(out))
	assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(out), "install waymark outside of it")
}
