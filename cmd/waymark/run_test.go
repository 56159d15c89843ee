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

// The command takes the answer of waymark dag as it is, and refuses the fields that the server refuses.
func TestRunTakesADAGAnswer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	history := ""
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		history += `{"id":"` + id + `","intent":"read a note and send it","steps":[{"tool":"note:read"},{"tool":"mail:send"}],"outcome":"success"}` + "\n"
	}
	_, errs, code := waymark(t, history, "record", "-", "--data", data)
	require.Zero(t, code, errs)
	_, errs, code = waymark(t, "", "rebuild", "--data", data)
	require.Zero(t, code, errs)
	answer, errs, code := waymark(t, "", "dag", "read a note and send it", "--json", "--data", data)
	require.Zero(t, code, errs)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(answer), &fields))
	require.Contains(t, fields, "confidence")

	out, errs, _ := waymark(t, answer, "run", "-", "--dry-run", "--json", "--data", data)
	assert.NotContains(t, out+errs, "unknown field")
	_, errs, code = waymark(t, strings.Replace(answer, `"tasks":`, `"bogus":1,"tasks":`, 1), "run", "-", "--dry-run", "--data", data)
	assert.Equal(t, 1, code, errs)
	assert.Contains(t, errs, `unknown field "bogus"`)
}

// Whoever approves sees tool, server and arguments, without secrets and hidden characters.
func TestCallsThatWaitAreShown(t *testing.T) {
	s := dagrun.Status{Waiting: []string{"a", "b"}, Nodes: []dagrun.Node{
		{ID: "a", Tool: "mail:send", Reason: "it may destroy something", Arguments: json.RawMessage("{\"to\":\"x\u202e\",\"api_key\":\"sk-abcdefghij0123456789\"}")},
		{ID: "b", Tool: "shred", Reason: "nobody has granted it", Arguments: json.RawMessage(`{"letter":"` + strings.Repeat("x", shownArguments) + `"}`)},
		{ID: "c", Tool: "mail:read", Arguments: json.RawMessage(`{"id":1}`)},
	}}
	var b strings.Builder
	showWaiting(&b, s, []string{"a", "c"})
	assert.Equal(t, "\na calls mail:send of server mail: it may destroy something\n  {\"to\":\"x\",\"api_key\":\"[redacted]\"}\n", b.String())
	b.Reset()
	showWaiting(&b, s, nil)
	assert.Contains(t, b.String(), "\nb calls shred: nobody has granted it\n  {\"letter\":\"xxx")
	assert.NotContains(t, b.String(), "mail:read")
	assert.Less(t, b.Len(), shownArguments+300)
}
