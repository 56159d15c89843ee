package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is committed is what the sources give: `make page` writes it.
func TestBuiltFilesAreThoseOfTheSources(t *testing.T) {
	want, err := build(".")
	require.NoError(t, err)
	entries, err := os.ReadDir("../dist")
	require.NoError(t, err)
	require.Len(t, entries, len(want), "run make page")
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join("../dist", name))
		require.NoError(t, err, "run make page")
		require.True(t, string(content) == string(got), "%s differs from its sources: run make page", name)
	}
}

func TestVendoredFilesAreChecked(t *testing.T) {
	for _, tt := range []struct{ name, list, want string }{
		{"changed", `{"a.mjs":{"package":"a 1","license":"MIT","sha256":"00"}}`, "its SHA-256 is"},
		{"not listed", `{}`, "vendor.json does not name its package and licence"},
		{"no licence", `{"a.mjs":{"package":"a 1"}}`, "vendor.json does not name its package and licence"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.mjs"), []byte("x"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "vendor.json"), []byte(tt.list), 0o600))
			require.ErrorContains(t, checkVendor(dir), tt.want)
		})
	}
}
