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

	"waymark/scorer"
)

// The flags of a judge reach its endpoint, and the key comes from the environment.
func TestScoreByJudge(t *testing.T) {
	var key, model string
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		key, model = r.Header.Get("Authorization"), body.Model
		const reply = `{"specificity":{"explanation":"a","score":4},"novelty":{"explanation":"b","score":4},"connection_validity":{"explanation":"c","score":4},"feasibility":{"explanation":"d","score":4},"grounding":{"explanation":"e","score":4}}`
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply}}}}))
	}))
	defer judge.Close()
	t.Setenv("WAYMARK_JUDGE_KEY", "sesame")
	dir := t.TempDir()
	input := filepath.Join(dir, "in.json")
	require.NoError(t, os.WriteFile(input, []byte(`{"hypotheses":[{"id":"h","statement":"Ants route packets."}],"judge":{}}`), 0o600))
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"score", "hypothesis", input, "--json", "--data", filepath.Join(dir, "data"), "--judge-url", judge.URL + "/v1", "--judge-model", "small,large"}, nil, &out, &errs)
	require.Zero(t, code, errs.String())
	var a scorer.HypothesisAnswer
	require.NoError(t, json.Unmarshal(out.Bytes(), &a))
	require.Len(t, a.Results, 1)
	assert.Equal(t, "pass", a.Results[0].Verdict)
	assert.Equal(t, "Bearer sesame", key)
	assert.Equal(t, "small", model)
	assert.NotContains(t, out.String()+errs.String(), "sesame")
}
