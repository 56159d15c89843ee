package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest/evaluate"
)

// folder writes files into a new folder called set.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// chains writes episodes of tools one after the other.
func chains(split string, intent string, repeat int, tools ...string) string {
	var b strings.Builder
	for n := range repeat {
		var steps []map[string]any
		for i, tool := range tools {
			step := map[string]any{"id": fmt.Sprint(i + 1), "tool": tool, "depends_on": []string{}}
			if i > 0 {
				step["depends_on"] = []string{fmt.Sprint(i)}
			}
			steps = append(steps, step)
		}
		line, _ := json.Marshal(map[string]any{"id": fmt.Sprint(split, "-", strings.Join(tools, "-"), "-", n), "intent": intent, "steps": steps,
			"outcome": "success", "split": split}) // plain values always encode
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func catalogOf(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, `{"id":%q,"name":%q,"description":"%s something"}`+"\n", id, id, strings.ReplaceAll(id, ":", " "))
	}
	return b.String()
}

// Where the same tools always follow each other, nobody is better than the engine.
func easySet(t testing.TB) string {
	tools := []string{"web:fetch", "json:parse", "db:store", "mail:send"}
	return folder(t, map[string]string{
		"tools.jsonl": catalogOf(tools...),
		"episodes.jsonl": chains("train", "fetch, parse and store a page", 6, tools[0], tools[1], tools[2]) +
			chains("train", "mail a page", 3, tools[0], tools[3]) +
			chains("test", "fetch, parse, store this page", 3, tools[0], tools[1], tools[2]),
	})
}

// evaluated runs an evaluation and decodes what --json prints.
func evaluated(t testing.TB, wantCode int, args ...string) (map[string]json.RawMessage, string) {
	t.Helper()
	out, errs, code := waymark(t, "", append([]string{"evaluate", "--json", "--data", filepath.Join(t.TempDir(), "data")}, args...)...)
	require.Equal(t, wantCode, code, "%s%s", out, errs)
	assert.Empty(t, errs, "no progress but on a terminal")
	var r map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r, out
}

// What comes after b depends on what came before it, and only the longer chain knows: the engine loses.
func TestEvaluationLost(t *testing.T) {
	var episodes strings.Builder
	ids := []string{"b"}
	for i := range 8 {
		before, after := fmt.Sprint("x:a", i), fmt.Sprint("x:c", (i*3)%8)
		ids = append(ids, before, after)
		episodes.WriteString(chains("train", "", 4, before, "b", after))
		episodes.WriteString(chains("test", "", 2, before, "b", after))
	}
	slices.Sort(ids)
	set := folder(t, map[string]string{"tools.jsonl": catalogOf(slices.Compact(ids)...), "episodes.jsonl": episodes.String()})
	r, _ := evaluated(t, 1, "--dataset", set, "--profile", "seed")
	var lost []evaluate.Row
	require.NoError(t, json.Unmarshal(r["lost"], &lost))
	require.Len(t, lost, 1)
	assert.Equal(t, "next mrr", lost[0].Question+" "+lost[0].Metric)
	for _, part := range []string{"next_intent", "tools", "dag"} {
		assert.NotContains(t, string(r["rows"]), part, "no intent, no %s", part)
	}
	out, _, code := waymark(t, "", "evaluate", "--dataset", set, "--profile", "seed", "--data", filepath.Join(t.TempDir(), "data"))
	assert.Equal(t, 1, code)
	assert.Regexp(t, `(?s)\nlost:\n.*\nnext +mrr .* behind`, out)
}

func TestEvaluationRefuses(t *testing.T) {
	set := easySet(t)
	empty := folder(t, map[string]string{"tools.jsonl": catalogOf("a:b"), "episodes.jsonl": chains("test", "", 1, "a:b")})
	for _, tt := range []struct {
		name string
		code int
		says string
		args []string
	}{
		{"profile", 2, `unknown --profile "best": want learned or seed`, []string{"--dataset", set, "--profile", "best"}},
		{"distractors of an own history", 2, "--distractors needs --dataset", []string{"--distractors", set}},
		{"no such folder", 3, "nowhere", []string{"--dataset", filepath.Join(set, "nowhere")}},
		{"nothing to test", 3, "nothing to test", []string{"--dataset", empty}},
		{"empty workspace", 3, "evaluate the history of workspace default", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := waymark(t, "", append([]string{"evaluate", "--data", filepath.Join(t.TempDir(), "data")}, tt.args...)...)
			assert.Equal(t, tt.code, code, errs)
			assert.Contains(t, errs, tt.says)
			assert.Empty(t, out)
		})
	}
}

// The own history: the bundled sample, imported. With and without a server the report is the same.
func TestEvaluateOwnHistory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	_, errs, code := waymark(t, "", "import", sampleCut(t, 200, "forge", "metrics", "tracker", "chat", "mail", "files", "calendar"), "--data", data)
	require.Zero(t, code, errs)
	text, errs, code := waymark(t, "", "evaluate", "--data", data, "--profile", "seed")
	require.Contains(t, []int{0, 1}, code, errs)
	assert.LessOrEqual(t, strings.Count(text, "\n"), 40)
	golden := filepath.Join("testdata", "evaluate.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "go test ./cmd/waymark -run EvaluateOwn -update writes it anew")

	server := startServer(t, data)
	resp, err := http.Get(server.URLs.API + "/evaluation")
	require.NoError(t, err)
	defer resp.Body.Close()
	var kept struct {
		Report evaluate.Report
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&kept))
	assert.Equal(t, "seed", kept.Report.Profile)
	assert.Equal(t, 40, kept.Report.TestEpisodes)
	assert.NotEmpty(t, kept.Report.Rows)
	served, errs, _ := waymark(t, "", "evaluate", "--data", data, "--profile", "seed")
	assert.Equal(t, text, served, errs)
}
