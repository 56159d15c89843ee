//go:build unix

package ingest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A named pipe in a folder is passed over: nobody may ever write to it.
func TestPipesInAFolderArePassedOver(t *testing.T) {
	dir := t.TempDir()
	session, err := os.ReadFile("testdata/claude/s2.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), session, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "b.jsonl"), 0o600))
	items := 0
	for item, err := range Read(t.Context(), dir, Options{}) {
		require.NoError(t, err)
		if item.Episode != nil {
			items++
		}
	}
	require.Positive(t, items)
}

// A file of a folder that cannot be read is dropped with its name; the others count.
func TestUnreadableFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	session, err := os.ReadFile("testdata/claude/s2.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "a.jsonl"))) // also the superuser cannot read it
	_, err = Detect(dir)
	require.ErrorContains(t, err, "a.jsonl cannot be read: no such file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.jsonl"), session, 0o600))
	items := 0
	var unread []Item
	for item, err := range Read(t.Context(), dir, Options{}) {
		require.NoError(t, err)
		if item.Episode != nil {
			items++
		}
		if item.Unread {
			unread = append(unread, item)
		}
	}
	require.Positive(t, items)
	require.Equal(t, []Item{{File: "a.jsonl", Unread: true, Dropped: "cannot be read: no such file or directory"}}, unread)
}
