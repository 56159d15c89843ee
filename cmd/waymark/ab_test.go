package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/suggest"
)

// ways are tasks in which what follows b depends on what came before it: what only the learned profile
// sees. Reversed, the other thing follows.
func ways(from, tasks int, reversed bool) string {
	var lines strings.Builder
	for i := from; i < from+tasks; i++ {
		first := i * 7 % 5 % 2
		last := first
		if reversed {
			last = 1 - first
		}
		fmt.Fprintf(&lines, `{"kind":"episode","id":"way%d","steps":[{"tool":"%s"},{"tool":"b"},{"tool":"%s"}]}`+"\n", i, []string{"a", "d"}[first], []string{"c", "e"}[last])
	}
	return lines.String()
}

// A bad batch is imported: the model in force stays until somebody insists, and everything says so.
func TestRefusedRebuild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	run := func(code int, stdin string, args ...string) string {
		t.Helper()
		out, errs, got := waymark(t, stdin, append(args, "--data", dir)...)
		require.Equal(t, code, got, "%v: %s%s", args, out, errs)
		return out
	}
	profile := func() suggest.ModelInfo {
		var a suggest.NextAnswer
		require.NoError(t, json.Unmarshal([]byte(run(exitDone, "", "next", "--after", "a,b", "--json")), &a))
		return a.Model
	}
	run(exitDone, ways(0, 200, false), "import", "-", "--format", "waymark")
	out := run(exitDone, "", "rebuild")
	assert.Regexp(t, `profile auto: learned after a context \(mrr 1\.000`, out)
	assert.Regexp(t, `after a context +mrr .* no worse`, out)
	before := profile()
	assert.Equal(t, suggest.ProfileLearned, before.Profile)
	require.NotNil(t, before.Auto)
	assert.Equal(t, 40, before.Auto.Episodes)
	assert.False(t, before.Auto.At.IsZero())

	out = run(exitDone, ways(200, 300, true)+ways(500, 100, false), "import", "-", "--format", "waymark")
	assert.Regexp(t, `held back +REFUSED, .*rebuild --force`, out)
	out = run(exitNegative, "", "rebuild")
	assert.Contains(t, out, "NOT published")
	assert.Regexp(t, `after a context +mrr .* WORSE`, out)
	assert.Equal(t, *before.Auto, *profile().Auto, "the choice in force stays")
	assert.Regexp(t, `rebuild +FAILED +REFUSED, .*WORSE after a context .* on 20`, run(exitNegative, "", "doctor"))
	var job live.Job
	require.NoError(t, json.Unmarshal([]byte(run(exitNegative, "", "rebuild", "--json")), &job))
	assert.Equal(t, live.JobRefused, job.State)
	assert.True(t, job.Gate.Loses())
	run(exitDone, "", "rebuild", "--verify")

	out = run(exitDone, "", "rebuild", "--force")
	assert.Contains(t, out, "rebuilt in")
	assert.Contains(t, out, "WORSE")
	assert.Regexp(t, `rebuild +ok +published by force`, run(exitDone, "", "doctor"))
	run(exitDone, "", "rebuild", "--verify")
	_, errs, code := waymark(t, "", "rebuild", "--force", "--verify", "--data", dir)
	assert.Equal(t, exitUsage, code, errs)
}

// A second profile answers half of the conversations; what hosts report of it is compared, also after the
// server has gone.
func TestABTest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, errs, code := waymark(t, ways(0, 200, false), "import", "-", "--format", "waymark", "--data", dir)
	require.Zero(t, code, errs)
	out, errs, code := waymark(t, "", "ab", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "answers logged: 0;")
	assert.Contains(t, out, "note: no answers are logged now")

	for _, wrong := range [][]string{{"--split", "best"}, {"--split", "seed", "--split-share", "1.5"}, {"--split-share", "0.3"}} {
		_, errs, code = waymark(t, "", append([]string{"serve", "--data", dir, "--addr", "127.0.0.1:0"}, wrong...)...)
		assert.Equal(t, exitUsage, code, "%v: %s", wrong, errs)
	}
	s := startServer(t, dir, "--split", "learned", "--log-served", "1")
	post := func(path string, request, answer any) {
		t.Helper()
		body, err := json.Marshal(request)
		require.NoError(t, err)
		resp, err := http.Post(s.URLs.API+path, "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.NoError(t, json.NewDecoder(resp.Body).Decode(answer))
	}
	require.Eventually(t, func() bool { // until the second profile is fitted the first answers alone
		for i := range 20 {
			var a suggest.NextAnswer
			post("/next", map[string]any{"context": []string{"a"}, "session": fmt.Sprint("early", i)}, &a)
			if a.Experiment.Alone {
				return false
			}
		}
		return true
	}, 2*time.Minute, 10*time.Millisecond)
	arms := map[string]int{}
	for i := range 40 {
		session := fmt.Sprint("conversation", i)
		var a suggest.NextAnswer
		post("/next", map[string]any{"context": []string{"a", "b"}, "session": session}, &a)
		require.NotNil(t, a.Experiment)
		arms[a.Experiment.Arm]++
		var recorded live.RecordResult
		post("/episodes", map[string]any{"id": session, "session": session, "suggestion_id": a.SuggestionID,
			"steps": []any{map[string]any{"tool": "a"}, map[string]any{"tool": "b"}, map[string]any{"tool": "c"}}}, &recorded)
		assert.Equal(t, 1, recorded.Accepted)
		post("/next", map[string]any{"context": []string{"a"}, "min_seq": recorded.Seq}, &a) // counts at once, whatever is logged beside
	}
	require.Len(t, arms, 2, "the test needs both arms")
	out, errs, code = waymark(t, "", "doctor", "--data", dir)
	require.Zero(t, code, errs)
	assert.Regexp(t, `answers +ok +all answers are logged; profile learned answers 0\.5 of the sessions`, out)
	require.Zero(t, s.stop(t), s.stderr)

	out, errs, code = waymark(t, "", "ab", "--data", dir)
	require.Zero(t, code, errs)
	assert.Regexp(t, `second +\d+ of \d+ +\d`, out)
	assert.Contains(t, out, "not enough data: ")
	assert.Contains(t, out, "note: equal questions to one model are logged once")
	var c live.Comparison
	out, errs, code = waymark(t, "", "ab", "--data", dir, "--json")
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	assert.Equal(t, 40, c.Echoed)
	assert.Zero(t, c.Unknown)
	assert.Equal(t, arms["first"], c.Questions[0].Arms[0].Outcomes)
	assert.Equal(t, arms["second"], c.Questions[0].Arms[1].Outcomes)
	_, errs, code = waymark(t, "", "rebuild", "--verify", "--data", dir)
	require.Zero(t, code, errs)
}
