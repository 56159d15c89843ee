package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
	profile := func() string {
		var a suggest.NextAnswer
		require.NoError(t, json.Unmarshal([]byte(run(exitDone, "", "next", "--after", "a,b", "--json")), &a))
		return a.Model.Profile
	}
	run(exitDone, ways(0, 200, false), "import", "-", "--format", "waymark")
	out := run(exitDone, "", "rebuild")
	assert.Regexp(t, `rebuilt in .*; .*after a context`, out)
	assert.Equal(t, suggest.ProfileLearned, profile())

	out = run(exitDone, ways(200, 300, true)+ways(500, 100, false), "import", "-", "--format", "waymark")
	assert.Regexp(t, `held back +REFUSED, .*rebuild --force`, out)
	out = run(exitNegative, "", "rebuild")
	assert.Contains(t, out, "NOT published")
	assert.Regexp(t, `WORSE after a context`, out)
	assert.Regexp(t, `rebuild +FAILED +REFUSED, .*WORSE after a context .*event \d+`, run(exitNegative, "", "doctor"))
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
