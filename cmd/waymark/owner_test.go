package main

import (
	"io/fs"
	"net/http"
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

// A command notices that the process it asks is no longer the owner: also where one with another token has its address.
func TestOwnerGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	owner, err := readOwner(dir)
	require.NoError(t, err)
	ask := func(token string) error {
		c := &client{http: http.DefaultClient, base: "http://" + owner.Addr, token: token}
		_, err := c.call(t.Context(), http.MethodGet, "/v1/jobs/rebuild-1", nil, nil)
		require.Error(t, err)
		return err
	}
	require.False(t, ownerGone(ask(owner.Token)), "there is no such job")
	require.True(t, ownerGone(ask("of the process before")))
	require.NoError(t, s.cmd.Process.Kill())
	s.cmd.Wait()
	require.True(t, ownerGone(ask(owner.Token)))
}
