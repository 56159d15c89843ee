package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"waymark/score/evidence"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A judge proposes, the files of a folder answer.
func TestTriangulateByItself(t *testing.T) {
	const reply = `{"hypotheses":[{"text":"Scour washed out the pier foundation","rationale":"Fast water digs at piers","key_fact":"A hole in the river bed"},` +
		`{"text":"Metal fatigue cracked the tie rods","rationale":"Old iron rods","key_fact":"Cracks"},{"text":"An overloaded truck broke the deck","rationale":"Heavy traffic","key_fact":"A truck"},` +
		`{"text":"An earthquake shook the abutments","rationale":"A fault is near","key_fact":"A quake"},{"text":"Frost split the arch stones","rationale":"A cold winter","key_fact":"Split stones"}]}`
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply}}}}))
	}))
	defer judge.Close()
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
	model := []string{"--judge-url", judge.URL + "/v1", "--judge-model", "small", "--even-if-easy"}
	out, errs, code := waymark(append([]string{"triangulate", "--auto", "Why did the bridge fall?", "--search-file", texts, "--json"}, model...)...)
	require.Zero(t, code, errs)
	var a evidence.Answer
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	assert.Equal(t, "h1", a.Ranking[0].Hypothesis)
	for _, s := range a.Inquiry.Snippets {
		assert.Contains(t, []string{"a/divers.txt", "b.md"}, s.ID)
	}

	out, errs, code = waymark(append([]string{"triangulate", "--auto", "Why did the bridge fall?", "--search-file", filepath.Join(texts, "b.md")}, model...)...)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^h1 +Scour washed out`, out)
	out, errs, code = waymark(append([]string{"triangulate", "--auto", "Why did the bridge fall?"}, model...)...)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^h5 +Frost split`, out)

	for want, args := range map[string][]string{
		"somewhere to look":   {"triangulate", "--auto", "Why?", "--rounds", "2"},
		"goes with --auto":    {"triangulate", "in.json", "--search-file", texts},
		"does not exist":      {"triangulate", "--auto", "Why?", "--search-file", filepath.Join(dir, "nothing")},
		"no judge":            {"triangulate", "--auto", "Why?", "--even-if-easy", "--search-file", texts},
		"triangulate needs I": {"triangulate", "--auto"},
	} {
		_, errs, code := waymark(args...)
		assert.Equal(t, exitUsage, code, want)
		assert.Contains(t, errs, want)
	}
	_, errs, code = waymark("triangulate", "--auto", "Why?", "--search-tool", "web:search")
	assert.Equal(t, exitNegative, code)
	assert.Contains(t, errs, "search_tool: no servers are connected")
}
