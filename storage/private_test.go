//go:build unix

package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nobody but the owner may read a file of the directory: while it is open, after it is closed, and where an earlier
// program left them open to others.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	open := func() (others []string) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			if d.Type().IsRegular() && info.Mode().Perm()&0o077 != 0 {
				others = append(others, path)
			}
			return nil
		}))
		return others
	}
	for range 2 {
		b, err := Open(dir, Options{Logger: quiet})
		require.NoError(t, err)
		assert.Empty(t, open())
		mustAppend(t, mustLog(t, b, "default"), Record{Payload: []byte("x")})
		assert.Eventually(t, func() bool { return len(open()) == 0 }, 2*time.Minute, 10*time.Millisecond)
		require.NoError(t, b.Close())
		assert.Empty(t, open())

		tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
		require.NoError(t, err)
		require.NotEmpty(t, tables)
		for _, name := range tables {
			require.NoError(t, os.Chmod(name, 0o644))
		}
	}
}
