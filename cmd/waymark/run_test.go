package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	dagrun "waymark/run"
)

// The example of docs/runs.md does what is said there.
func TestRunsExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runs.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	require.Len(t, blocks, 2)
	data := filepath.Join(t.TempDir(), "data")
	for _, b := range blocks {
		given(t, string(b[1]), "capability", "import", "-", "--data", data)
	}
	params := `{"hypotheses":[{"id":"h1","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}},
	 {"id":"h2","scores":{"specificity":5,"novelty":4,"connection_validity":4,"feasibility":4,"grounding":4}}]}`
	out, _ := says(t, 0, "run", "best-hypothesis", "--params", params, "--json", "--data", data)
	var s struct {
		State  string
		Output json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	assert.Equal(t, "done", s.State)
	assert.JSONEq(t, `{"best":"h2","of":2}`, string(s.Output))
}

// Whoever approves sees tool, server and arguments, without secrets and hidden characters.
func TestCallsThatWaitAreShown(t *testing.T) {
	s := dagrun.Status{Waiting: []string{"a", "b"}, Nodes: []dagrun.Node{
		{NodeInfo: dagrun.NodeInfo{ID: "a", Tool: "mail:send"}, Reason: "it may destroy something", Arguments: json.RawMessage("{\"to\":\"x\u202e\",\"api_key\":\"sk-abcdefghij0123456789\"}")},
		{NodeInfo: dagrun.NodeInfo{ID: "b", Tool: "shred"}, Reason: "it is not granted", Arguments: json.RawMessage(`{"letter":"` + strings.Repeat("x", shownArguments) + `"}`)},
		{NodeInfo: dagrun.NodeInfo{ID: "c", Tool: "mail:read"}, Arguments: json.RawMessage(`{"id":1}`)},
	}}
	var b strings.Builder
	showWaiting(&b, s, []string{"a", "c"})
	assert.Equal(t, "\na calls mail:send of server mail: it may destroy something\n  {\"to\":\"x\",\"api_key\":\"[redacted]\"}\n", b.String())
	b.Reset()
	showWaiting(&b, s, nil)
	assert.Contains(t, b.String(), "\nb calls shred: it is not granted\n  {\"letter\":\"xxx")
	assert.NotContains(t, b.String(), "mail:read")
	assert.Less(t, b.Len(), shownArguments+300)
}
