package ingest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The fixture follows the layout of ecosystem section 9 A; what could be private has SECRET in it.
func TestClaudeCode(t *testing.T) {
	items, seen, report := read(t, "testdata/claude", Options{})
	require.Len(t, items, 7, "%q", seen)
	assert.Equal(t, "import:claude-code", items[0].Episode.Source)
	got, err := json.MarshalIndent(items[0].Episode, "", " ")
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"`+items[0].ID+`","intent":"Fix the build","time":"2026-08-10T12:00:00Z","session":"s1","source":"import:claude-code","outcome":"unknown","steps":[
		{"id":"1","tool":"fs:read","group":"1","outcome":"success","duration_ms":1250,"shape":"{limit:integer,path:string,range:{from:number},tags:[string]}"},
		{"id":"2","tool":"Bash","group":"1","outcome":"failure","error_kind":"timeout","duration_ms":2000,"shape":"{*:integer,command:string}"},
		{"id":"3","tool":"github:search_issues","outcome":"unknown","shape":"{query:string}"},
		{"id":"4","tool":"jira:create","group":"2","outcome":"unknown","shape":"{title:string}"},
		{"id":"5","tool":"Task","group":"2","outcome":"success","shape":"{prompt:string}"}]}`, string(got))
	assert.Equal(t, []string{"/commit all files", "call_tool"}, []string{items[1].Episode.Intent, items[1].Episode.Steps[0].Tool})
	side := items[3].Episode
	assert.Equal(t, "Look for callers", side.Intent)
	assert.Equal(t, "s1/subagent", side.Session)
	require.Len(t, side.Steps, 1, "the user refused one call: it is no step")
	assert.Equal(t, []string{"search:code", "unknown", "auth"}, []string{side.Steps[0].Tool, string(side.Steps[0].Outcome), side.Steps[0].ErrorKind})
	assert.Equal(t, []string{"s2/a7", "Glob", "{}"}, []string{items[4].Episode.Session, items[4].Episode.Steps[0].Tool, items[4].Episode.Steps[0].Shape})
	assert.True(t, items[5].Duplicate, "a resumed session repeats an earlier one")
	assert.Equal(t, &Tally{Lines: 27}, items[6].Tally)
	assert.Contains(t, items[2].Dropped, "ends early")
	assert.Equal(t, Counts{Episodes: 4}, report.Taken)
	for _, it := range items {
		b, err := json.Marshal(it)
		require.NoError(t, err)
		assert.NotContains(t, string(b), "SECRET")
	}
}
