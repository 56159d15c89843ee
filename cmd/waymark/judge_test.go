package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The endpoint given is reason enough to ask it; the reply outlives the process, and its reasons are shown and logged.
func TestJudgeIsAskedOnceForUnscoredInput(t *testing.T) {
	asked := 0
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		assert.Equal(t, "Bearer sesame", r.Header.Get("Authorization"))
		const reply = `{"scores":{"specificity":4,"novelty":4,"connectionValidity":{"explanation":"both choose paths","score":4},"feasibility":4,"grounding":4},"composite":4.5}`
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply}}}}))
	}))
	defer judge.Close()
	t.Setenv("WAYMARK_JUDGE_KEY", "sesame")
	dir := t.TempDir()
	input := filepath.Join(dir, "in.json")
	require.NoError(t, os.WriteFile(input, []byte(`{"hypotheses":[{"id":"h","statement":"Ants route packets."}]}`), 0o600))
	score := func(more ...string) string {
		var out, errs bytes.Buffer
		args := append([]string{"score", "hypothesis", input, "--data", filepath.Join(dir, "data"), "--judge-url", judge.URL + "/v1", "--judge-model", "small"}, more...)
		require.Zero(t, run(t.Context(), args, nil, &out, &errs), errs.String())
		return out.String()
	}
	text := score()
	assert.Contains(t, text, "both choose paths")
	assert.Regexp(t, `(?m)^h +composite +4\.5 +4$`, text)
	assert.Equal(t, 1, asked)

	score()
	assert.Equal(t, 1, asked, "another process finds the reply in the workspace")
	score("--workspace", "other")
	assert.Equal(t, 2, asked, "another workspace does not")

	var out, errs bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"forget", "--before", "2100-01-01T00:00:00Z", "--yes", "--data", filepath.Join(dir, "data")}, nil, &out, &errs), errs.String())
	score()
	assert.Equal(t, 3, asked, "what is forgotten is asked again")
}
