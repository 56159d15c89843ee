package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"waymark/live"
	"waymark/suggest"
)

// A rebuild without a server answers everybody else from the active model, records, and lets hosts start; when it ends,
// the hosts go on.
func TestRebuildLocksNobodyOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var lines strings.Builder
	for i := range 4000 { // the judgement alone takes seconds
		fmt.Fprintf(&lines, `{"kind":"episode","id":"t%d","steps":[{"tool":"a:t%d"},{"tool":"b:t%d"},{"tool":"c:t%d"}]}`+"\n", i, i%31, i*7%41, i%31)
	}
	given(t, lines.String(), "import", "-", "--format", "waymark", "--data", dir)
	r := exec.Command(program, "rebuild", "--data", dir, "--progress", "plain")
	errs, err := r.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	t.Cleanup(func() { r.Process.Kill() })
	said := bufio.NewReader(errs)
	_, err = said.ReadString('\n') // it is judging
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, said)
		ended <- r.Wait()
	}()
	asked := `{"id":"meanwhile","steps":[{"tool":"a:t1"},{"tool":"b:t7"}]}`
	given(t, asked, "record", "-", "--data", dir)
	out, _ := says(t, 0, "next", "--after", "a:t1", "--profile", "seed", "--data", dir)
	assert.Contains(t, out, "c:t1")
	w := &work{}
	h := w.window(t, dir, "2025-11-25") // records and asks without a pause, which does not keep the rebuild from its end
	answering(t, 1, h)
	owner, err := readOwner(dir)
	require.NoError(t, err)
	assert.Equal(t, r.Process.Pid, owner.PID)
	assert.Empty(t, ended, "the history is too short for this test")
	require.NoError(t, <-ended)
	answering(t, 2, h)
	h.end(func() { h.session.Close() })
	w.check(t, dir)
	out, _ = says(t, 0, "export", "--format", "waymark", "--data", dir)
	assert.Contains(t, out, `"meanwhile"`)
	says(t, 0, "rebuild", "--verify", "--data", dir)
}

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

// After the import of a bad batch the active model stays until a rebuild is forced, and all surfaces show that. --dry-run says what
// a rebuild would do, and nothing is appended; --all does every workspace, and exits as the worst.
func TestRefusedRebuild(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	bad := func(code int, args ...string) string {
		t.Helper()
		out, _ := says(t, code, append(args, "--workspace", "bad", "--data", dir)...)
		return out
	}
	batch := func(workspace, lines string) string {
		return given(t, lines, "import", "-", "--format", "waymark", "--workspace", workspace, "--data", dir)
	}
	batch("bad", ways(0, 200, false))
	assert.Regexp(t, `^would be published; judged in `, bad(exitDone, "rebuild", "--dry-run"))
	assert.Regexp(t, `rebuilt in .*; .*after a context`, bad(exitDone, "rebuild"))
	asked := func() (a suggest.NextAnswer) {
		require.NoError(t, json.Unmarshal([]byte(bad(exitDone, "next", "--after", "a,b", "--json")), &a))
		return a
	}
	assert.Equal(t, suggest.ProfileLearned, asked().Model.Profile)
	assert.Regexp(t, `held back +REFUSED, .*rebuild --force`, batch("bad", ways(200, 300, true)+ways(500, 100, false)))
	batch("good", ways(0, 200, false))

	before := asked().Model.Seq
	out, _ := says(t, exitNegative, "rebuild", "--dry-run", "--all", "--data", dir)
	assert.Regexp(t, `(?s)^bad: NOT published: .*; WORSE after a context \(mrr .*\ndefault: would be published; judged in [^\n]*\ngood: would be published; [^\n]*no worse[^\n]*\n$`, out)
	assert.Equal(t, before, asked().Model.Seq)
	out, _ = says(t, exitNegative, "rebuild", "--all", "--json", "--data", dir)
	states := map[string]live.JobState{}
	for line := range strings.Lines(out) {
		var l struct {
			Workspace string
			Job       live.Job
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		states[l.Workspace] = l.Job.State
	}
	assert.Equal(t, map[string]live.JobState{"bad": live.JobRefused, "default": live.JobDone, "good": live.JobDone}, states)
	assert.Regexp(t, `rebuild +FAILED +REFUSED, .*WORSE after a context .*event \d+`, bad(exitNegative, "doctor"))
	says(t, exitDone, "rebuild", "--all", "--verify", "--data", dir)

	out = bad(exitDone, "rebuild", "--force")
	assert.Contains(t, out, "rebuilt in")
	assert.Contains(t, out, "WORSE")
	assert.Regexp(t, `rebuild +ok +published by force`, bad(exitDone, "doctor"))
	bad(exitDone, "rebuild", "--verify")
	for _, wrong := range []string{"--dry-run --force", "--dry-run --verify", "--force --verify", "--all"} {
		bad(exitUsage, append([]string{"rebuild"}, strings.Fields(wrong)...)...)
	}
}

// The units and the manifest of docs/rebuild.md are accepted by what reads them, as far as it is installed.
func TestRebuildUnits(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rebuild.md"))
	require.NoError(t, err)
	dir := t.TempDir()
	files := map[string]string{}
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[2] != "" {
			files[b[2]] = b[3]
			require.NoError(t, os.WriteFile(filepath.Join(dir, b[2]), []byte(strings.ReplaceAll(b[3], "/usr/bin/waymark", program)), 0o600))
		}
	}
	var job struct {
		Kind string
		Spec struct {
			Schedule          string
			ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
			JobTemplate       struct {
				Spec struct {
					Template struct {
						Spec struct{ Containers []struct{ Command []string } }
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(files["cronjob.yaml"]), &job))
	assert.Equal(t, "CronJob", job.Kind)
	assert.Equal(t, "Forbid", job.Spec.ConcurrencyPolicy)
	require.Len(t, job.Spec.JobTemplate.Spec.Template.Spec.Containers, 1)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("systemd-analyze is not installed")
		return
	}
	out, err := exec.Command("systemd-analyze", "verify", filepath.Join(dir, "waymark-rebuild.service"), filepath.Join(dir, "waymark-rebuild.timer")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), dir)
}
