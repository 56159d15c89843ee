package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

func TestOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, err := readOwner(dir)
	require.ErrorIs(t, err, storage.ErrNotFound)
	o := ownerNote{PID: 4711, Addr: "127.0.0.1:8080", Token: "secret", Started: "2026-01-02T03:04:05Z", Command: "serve"}
	require.NoError(t, writeOwner(dir, ownerNote{PID: 1}))
	require.NoError(t, writeOwner(dir, o))
	got, err := readOwner(dir)
	require.NoError(t, err)
	require.Equal(t, o, got)
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, ownerName): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ownerName), []byte("{"), 0o600))
	_, err = readOwner(dir)
	require.Error(t, err)
	require.NoError(t, removeOwner(dir))
	require.NoError(t, removeOwner(dir))
}
