package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The example of docs/runs.md does what is said there.
func TestRunsExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runs.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	require.Len(t, blocks, 2)
	data := filepath.Join(t.TempDir(), "data")
	for _, b := range blocks {
		_, errs, code := waymark(t, string(b[1]), "capability", "import", "-", "--data", data)
		require.Zero(t, code, errs)
	}
	params := `{"hypotheses":[{"id":"h1","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}},
	 {"id":"h2","scores":{"specificity":5,"novelty":4,"connection_validity":4,"feasibility":4,"grounding":4}}]}`
	out, errs, code := waymark(t, "", "run", "best-hypothesis", "--params", params, "--json", "--data", data)
	require.Zero(t, code, errs)
	var s struct {
		State  string
		Output json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	assert.Equal(t, "done", s.State)
	assert.JSONEq(t, `{"best":"h2","of":2}`, string(s.Output))
}
