package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever reads may stop after any item: no decoder emits another one.
func TestReadingStops(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl": `{"id":"a"}` + "\n" + `{"id":"b"}`, "tool_graph.jsonl": "{", "episodes.jsonl": `{"id":"e","steps":[{"tool":"a"}]}`,
		"api/openapi.json": `{"openapi":"3.0.0","info":{"title":"t"},"paths":{"/a":{"get":{"parameters":[` +
			`{"name":"x","in":"query","schema":{"$ref":"#/none"}},{"name":"y","in":"query","schema":{"$ref":"other.json"}}]},"post":{}}}}`,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for format, folder := range map[string]string{"dataset": dir, "openapi": filepath.Join(dir, "api")} {
		for most := range 5 {
			n := 0
			for range Read(t.Context(), folder, Options{Format: format}) {
				if n++; n > most {
					break
				}
			}
			require.Equal(t, min(most+1, 4), n, format)
		}
	}
}
