package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/score"
	"waymark/score/evidence"
)

// What is answered is kept, whatever becomes of the record of its run.
func TestATriangulationIsKeptBeforeItsRunIsRecorded(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RecordScores = true })
	require.NoError(t, w.cfg.Workspaces.Close(t.Context())) // no run can be recorded any more
	a := parse[evidence.Answer](t, 200, w.ask("POST", "/v1/triangulations",
		`{"question":"Why?","hypotheses":[{"id":"h1","text":"it rains"},{"id":"h2","text":"it snows"}]}`))
	got := parse[evidence.Answer](t, 200, w.ask("GET", "/v1/triangulations/"+a.ID, ""))
	assert.Equal(t, a, got)
}

// Secrets in what a run or a triangulation was asked for are shown to nobody, unless they are kept.
func TestRunsAndTriangulationsShowNoSecrets(t *testing.T) {
	secret := "ghp_" + strings.Repeat("aB3dE6", 6)
	for _, keep := range []bool{false, true} {
		w := newWeb(t, func(c *Config) {
			c.Workspaces = live.NewWorkspaces(c.Store, live.Options{KeepSecrets: keep, Measure: unlearned.Measure})
		})
		run := w.ask("POST", "/v1/runs", `{"dag":{"intent":"with `+secret+`","tasks":[{"id":"t","tool":"`+score.ContributionID+`","arguments":{"role":"test_designer","text":"x"}}]}}`)
		require.Less(t, run.status, 300, run.body)
		begun := w.ask("POST", "/v1/triangulations", `{"question":"Why `+secret+`?","hypotheses":[{"id":"h1","text":"rain `+secret+`"},{"id":"h2","text":"snow"}],"rounds":[{"snippets":[{"id":"s","text":"rain `+secret+`"}]}]}`)
		a := parse[evidence.Answer](t, 200, begun)
		added := w.ask("POST", "/v1/triangulations/"+a.ID+"/evidence", `{"snippets":[{"id":"s2","text":"rain `+secret+` again"}]}`)
		require.Equal(t, 200, added.status, added.body)
		for _, path := range []string{"/v1/runs", "/v1/runs/" + parse[struct{ ID string }](t, 202, run).ID, "/v1/triangulations/" + a.ID} {
			got := w.ask("GET", path, "")
			require.Equal(t, 200, got.status, got.body)
			assert.Equal(t, keep, strings.Contains(got.body, secret), path)
		}
	}
}

// What a source put into triangulations is forgotten with it.
func TestForgetTriangulations(t *testing.T) {
	w := newWeb(t)
	a, _ := w.twoKeys()
	begin := func(key, question string) string {
		return "/v1/triangulations/" + parse[evidence.Answer](t, 200, w.ask("POST", "/v1/triangulations",
			`{"question":"`+question+`","hypotheses":[{"id":"h1","text":"rain"},{"id":"h2","text":"snow"}]}`, key)).ID
	}
	table := w.cfg.Store.Table("a")
	mine, his, old, other := begin(a, "mine?"), begin(a, "his?"), begin(a, "the old question?"), begin(a, "another?")
	for path, sources := range map[string][]string{mine: {"local"}, his: {"key:his", "key:hers"}, old: nil, other: nil} {
		key := strings.TrimPrefix(path, "/v1/")
		value, _, err := table.Get(t.Context(), key)
		require.NoError(t, err)
		var row map[string]any
		require.NoError(t, json.Unmarshal(value, &row))
		assert.Len(t, row["sources"], 1)
		if row["sources"] = sources; sources == nil {
			delete(row, "sources")
			delete(row, "time")
		}
		value, err = json.Marshal(row)
		require.NoError(t, err)
		err = table.Put(t.Context(), key, value)
		require.NoError(t, err)
	}
	left := func() (all []string) {
		for _, path := range []string{mine, his, old, other} {
			if w.ask("GET", path, "", a).status == 200 {
				all = append(all, path)
			}
		}
		return all
	}
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"source":"key:hers"}`, a).status)
	assert.Equal(t, []string{mine, old, other}, left())
	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"before":"2100-01-01T00:00:00Z"}`, a).status)
	assert.Equal(t, []string{old, other}, left())
}
