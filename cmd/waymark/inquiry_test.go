package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"waymark/score/evidence"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A judge proposes, the files of a folder answer.
func TestTriangulateByItself(t *testing.T) {
	dir := t.TempDir()
	texts := filepath.Join(dir, "texts")
	for name, text := range map[string]string{
		"a/divers.txt": "Divers found that scour had washed out the foundation of the pier.", "b.md": "Fast water had washed out gravel below the pier foundation.",
		".hidden/x.txt": "Metal fatigue cracked the tie rods.", "picture.png": "\xff Frost split the arch stones.", "broken.txt": "\xff\xfe",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(texts, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(texts, name), []byte(text), 0o600))
	}
	waymark := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--data", filepath.Join(dir, "data")), nil, &out, &errs)
		return out.String(), errs.String(), code
	}
	model := []string{"--judge-url", aJudge(t), "--judge-model", "small", "--even-if-easy"}
	out, errs, code := waymark(append([]string{"triangulate", "--auto", "Why did the bridge fall?", "--search-file", texts, "--json"}, model...)...)
	require.Zero(t, code, errs)
	var a evidence.Answer
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	assert.Equal(t, "h1", a.Ranking[0].Hypothesis)
	for _, s := range a.Inquiry.Snippets {
		assert.Contains(t, []string{"a/divers.txt", "b.md"}, s.ID)
	}

	for want, args := range map[string][]string{
		"does not exist":      {"triangulate", "--auto", "Why?", "--search-file", filepath.Join(dir, "nothing")},
		"triangulate needs I": {"triangulate", "--auto"},
	} {
		_, errs, code := waymark(args...)
		assert.Equal(t, exitUsage, code, want)
		assert.Contains(t, errs, want)
	}
	_, errs, code = waymark("triangulate", "Why", "did it fall?", "--even-if-easy", "--search-file", texts)
	assert.Equal(t, exitNegative, code)
	assert.Contains(t, errs, "no judge")
	_, errs, code = waymark("triangulate", "--auto", "Why?", "--search-tool", "web:search")
	assert.Equal(t, exitNegative, code)
	assert.Contains(t, errs, "search_tool: no servers are connected")
}
