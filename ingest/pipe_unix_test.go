//go:build unix

package ingest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file of a folder that cannot be read is dropped with its name, and a named pipe, to which nobody may ever write, is
// passed over; the others count.
func TestUnreadableFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	session, err := os.ReadFile("testdata/claude/s2.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "a.jsonl"))) // also the superuser cannot read it
	_, err = Detect(dir)
	require.ErrorContains(t, err, "a.jsonl cannot be read: no such file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.jsonl"), session, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "c.jsonl"), 0o600))
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
