package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A device is written to: to rename a file to its name would take it away from everybody.
func TestReplaceFileLeavesADevice(t *testing.T) {
	sink := filepath.Join(t.TempDir(), "sink")
	require.NoError(t, os.Symlink(os.DevNull, sink))
	require.NoError(t, replaceFile(sink, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }))
	info, err := os.Lstat(sink)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
}
