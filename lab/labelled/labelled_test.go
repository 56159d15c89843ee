package labelled

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/ingest"
)

func folder(t *testing.T, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestRead(t *testing.T) {
	files := map[string]string{
		"tools.jsonl": `{"id":"a"}` + "\n" + `{"id":"b"}`,
		"episodes.jsonl": `{"id":"1","steps":[{"tool":"a"}],"split":"train","kind":"run","task":"t"}` + "\n\n" +
			`{"id":"2","steps":[{"tool":"b"}],"split":"test","kind":"gold"}` + "\n" +
			`{"id":"3","steps":[]}`,
		"tool_graph.jsonl": `{"source":"a","target":"b","type":"needs"}`,
		"baselines.json":   `{"next": {"kind": "run"}, "intent": {"kind": "gold"}}`,
	}
	set, err := Read(t.Context(), folder(t, files))
	require.NoError(t, err)
	assert.Equal(t, "set", set.Name)
	assert.Len(t, set.Tools, 2)
	require.Len(t, set.Episodes, 2)
	for i, want := range []Episode{{Split: "train", Task: "t", Next: true}, {Split: "test", Intent: true}} {
		want.Episode = set.Episodes[i].Episode
		assert.Equal(t, want, set.Episodes[i])
	}
	assert.Equal(t, "1", set.Episodes[0].Episode.ID)
	assert.Equal(t, []Link{{"a", "b", "needs"}}, set.Links)
	assert.Empty(t, set.Tools[0].Requires)
	assert.Equal(t, []string{"a"}, set.Tools[1].Requires, "the tools know of it")
	assert.Equal(t, ingest.Counts{Episodes: 1}, set.Report.Dropped, "an episode without steps")

	assert.False(t, set.TaskGraph)

	delete(files, "baselines.json")
	delete(files, "tool_graph.jsonl")
	set, err = Read(t.Context(), folder(t, files))
	require.NoError(t, err)
	assert.Empty(t, set.Links)
	for _, e := range set.Episodes {
		assert.True(t, e.Next && e.Intent, "without a rule every episode is in both parts")
	}

	files["tool_graph.jsonl"] = `{"source":"a","target":"b"}`
	set, err = Read(t.Context(), folder(t, files))
	require.NoError(t, err)
	assert.True(t, set.TaskGraph, "links without a type")
	assert.Empty(t, set.Links)
	assert.Empty(t, set.Tools[1].Requires, "a link without a type may come from test plans")

	files["tool_graph.jsonl"] = "{"
	_, err = Read(t.Context(), folder(t, files))
	assert.ErrorContains(t, err, "read data set set: tool_graph.jsonl:1: ")
	delete(files, "tool_graph.jsonl")
	files["baselines.json"] = "[]"
	_, err = Read(t.Context(), folder(t, files))
	assert.ErrorContains(t, err, "baselines.json")
	_, err = Read(t.Context(), "no such folder")
	assert.Error(t, err)
}
