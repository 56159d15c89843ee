package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func folder(t *testing.T, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// A line of the graph that cannot be read loses only itself in an import.
func TestImportReadsRequires(t *testing.T) {
	dir := folder(t, map[string]string{
		"tools.jsonl":      `{"id":"a"}` + "\n" + `{"id":"b","requires":["z"]}`,
		"tool_graph.jsonl": "{\n" + `{"source":"a","target":"b","type":"needs"}`,
	})
	var dropped []string
	for it, err := range Read(t.Context(), dir, Options{}) {
		require.NoError(t, err)
		if it.Tool == nil {
			dropped = append(dropped, it.File)
		} else if it.ID == "b" {
			assert.Equal(t, []string{"a", "z"}, it.Tool.Requires)
		}
	}
	assert.Equal(t, []string{"tool_graph.jsonl"}, dropped)
}
