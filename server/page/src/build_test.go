package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is committed is what the sources give: `make page` writes it, and checks what is vendored.
func TestBuiltFilesAreThoseOfTheSources(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	output, err := exec.CommandContext(t.Context(), "make", "-C", "../../..", "page", "DIST="+dir).CombinedOutput()
	require.NoError(t, err, "%s", output)
	want, err := os.ReadDir(dir)
	require.NoError(t, err)
	entries, err := os.ReadDir("../dist")
	require.NoError(t, err)
	require.Len(t, entries, len(want), "run make page")
	for _, e := range want {
		built, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("../dist", e.Name()))
		require.NoError(t, err, "run make page")
		require.True(t, string(built) == string(got), "%s differs from its sources: run make page", e.Name())
	}
}
