package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/evidence"
)

// A judge proposes, the documents of the input answer.
func TestTriangulateByItself(t *testing.T) {
	const reply = `{"hypotheses":[{"text":"Scour washed out the pier foundation","rationale":"Fast water digs at piers","key_fact":"A hole in the river bed"},` +
		`{"text":"Metal fatigue cracked the tie rods","rationale":"Old iron rods","key_fact":"Cracks"},{"text":"An overloaded truck broke the deck","rationale":"Heavy traffic","key_fact":"A truck"},` +
		`{"text":"An earthquake shook the abutments","rationale":"A fault is near","key_fact":"A quake"},{"text":"Frost split the arch stones","rationale":"A cold winter","key_fact":"Split stones"}]}`
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply}}}}))
	}))
	defer judge.Close()
	dir := t.TempDir()
	const documents = `[{"id":"a","text":"Divers found that scour had washed out the foundation of the pier."},{"id":"b","text":"Fast water had washed out gravel below the pier foundation."}]`
	waymark := func(input string, args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		args = append([]string{"triangulate", "-", "--data", filepath.Join(dir, "data")}, args...)
		code := run(t.Context(), args, strings.NewReader(input), &out, &errs)
		return out.String(), errs.String(), code
	}
	model := []string{"--judge-url", judge.URL + "/v1", "--judge-model", "small"}
	const question = `{"question":"Why did the bridge fall?","even_if_easy":true,"documents":`
	out, errs, code := waymark(question+documents+"}", append(model, "--json")...)
	require.Zero(t, code, errs)
	var a evidence.Answer
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	assert.Equal(t, "h1", a.Ranking[0].Hypothesis)
	out, errs, code = waymark(question+"[]}", model...)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^h5 +Frost split`, out)

	_, errs, code = waymark(question + documents + "}")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "no judge")
	_, errs, code = waymark(`{"question":"Why?","search_tool":"web:search"}`)
	assert.Equal(t, exitNegative, code)
	assert.Contains(t, errs, "search_tool: no servers are connected")
}
