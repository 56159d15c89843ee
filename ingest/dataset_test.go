package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The dependency graph of a data set becomes what its tools require. A line that cannot be read loses only itself, and one
// without a type is no dependency.
func TestDatasetReadsDependencies(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl":      `{"id":"a"}` + "\n" + `{"id":"b","requires":["z"]}`,
		"tool_graph.jsonl": "{\n" + `{"source":"a","target":"b","type":"needs"}` + "\n" + `{"source":"b","target":"a"}` + "\n" + `{"target":"a","type":"needs"}`,
		"episodes.jsonl":   "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	requires, dropped := map[string][]string{}, []string{}
	for it, err := range Read(t.Context(), dir, Options{Format: "dataset"}) {
		require.NoError(t, err)
		if it.Tool == nil {
			dropped = append(dropped, it.File)
		} else {
			requires[it.ID] = it.Tool.Requires
		}
	}
	assert.Equal(t, map[string][]string{"a": nil, "b": {"a", "z"}}, requires)
	assert.Equal(t, []string{"tool_graph.jsonl", "tool_graph.jsonl"}, dropped)
}
