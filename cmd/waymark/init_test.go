package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// initWith runs init from another path of the program, with another PATH.
func initWith(t *testing.T, path, search string) (out string, code int) {
	cmd := exec.Command(path, "init", "--host", "cursor", "--print", "--data", t.TempDir())
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH="+search)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// linked links the program into a new directory.
func linked(t *testing.T, link func(old, new string) error, dir string) (path string) {
	path = filepath.Join(t.TempDir(), filepath.FromSlash(dir), filepath.Base(program))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := link(program, path); err != nil {
		t.Skip(err)
	}
	return path
}

// Caches are emptied: no path within one is written into a host's file.
func TestInitFromACache(t *testing.T) {
	for _, dir := range []string{
		"_npx/1/node_modules/.bin", "pnpm/dlx/ab/node_modules/waymark", "xfs-1/dlx-2/node_modules/waymark",
		"bunx-0-waymark@latest/node_modules/waymark", "uv/archive-v0/x/bin", "go-build17/b001/exe",
	} {
		out, code := initWith(t, linked(t, os.Link, dir), "")
		assert.Equal(t, exitUsage, code, dir)
		assert.Contains(t, out, "then run waymark init --host cursor")
	}
}

// A package manager replaces the target of the link in PATH, so the link is written.
func TestInitWritesThePathInPATH(t *testing.T) {
	link := linked(t, os.Symlink, "bin")
	out, code := initWith(t, program, filepath.Dir(link))
	assert.Zero(t, code)
	assert.Contains(t, out, filepath.ToSlash(link))
	out, _ = initWith(t, program, t.TempDir())
	assert.Contains(t, out, filepath.ToSlash(program))
}
