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
)

// rebuilding is a rebuild that has begun.
type rebuilding struct {
	*exec.Cmd
	ended chan error
}

// startRebuild starts a rebuild of a workspace with many tasks and returns once it is judging.
func startRebuild(t *testing.T, dir string) *rebuilding {
	t.Helper()
	r := &rebuilding{exec.Command(program, "rebuild", "--data", dir, "--progress", "plain"), make(chan error, 1)}
	errs, err := r.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	t.Cleanup(func() { r.Process.Kill() })
	said := bufio.NewReader(errs)
	first, err := said.ReadString('\n')
	require.NoError(t, err, first)
	go func() {
		rest, _ := io.ReadAll(said)
		if err := r.Wait(); err != nil {
			r.ended <- fmt.Errorf("%w: %s%s", err, first, rest)
		}
		close(r.ended)
	}()
	return r
}

// goesOn reports whether the rebuild has not ended.
func (r *rebuilding) goesOn() bool {
	select {
	case err, failed := <-r.ended:
		if failed {
			r.ended <- err
		}
		return false
	default:
		return true
	}
}

// manyTasks fills a workspace: its judgement alone takes seconds.
func manyTasks(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "data")
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, `{"kind":"episode","id":"t%d","steps":[{"tool":"a:t%d"},{"tool":"b:t%d"},{"tool":"c:t%d"}]}`+"\n", i, i%31, i*7%41, i%31)
	}
	_, errs, code := waymark(t, lines.String(), "import", "-", "--format", "waymark", "--data", dir)
	require.Zero(t, code, errs)
	return dir
}

// A rebuild without a server answers everybody else from the active model, records, and lets hosts start; when it ends,
// the hosts go on.
func TestRebuildLocksNobodyOut(t *testing.T) {
	dir := manyTasks(t)
	r := startRebuild(t, dir)
	asked := `{"id":"meanwhile","steps":[{"tool":"a:t1"},{"tool":"b:t7"}]}`
	_, errs, code := waymark(t, asked, "record", "-", "--data", dir)
	require.Zero(t, code, errs)
	out, _ := says(t, 0, "next", "--after", "a:t1", "--profile", "seed", "--data", dir)
	assert.Contains(t, out, "c:t1")
	w := &work{}
	h := w.window(t, dir, "2025-11-25") // records and asks without a pause, which does not keep the rebuild from its end
	answering(t, 1, h)
	owner, err := readOwner(dir)
	require.NoError(t, err)
	assert.Equal(t, r.Process.Pid, owner.PID)
	assert.True(t, r.goesOn(), "the history is too short for this test")
	require.NoError(t, <-r.ended)
	answering(t, 2, h)
	h.end(func() { h.session.Close() })
	w.check(t, dir)
	out, _ = says(t, 0, "export", "--format", "waymark", "--data", dir)
	assert.Contains(t, out, `"meanwhile"`)
	says(t, 0, "rebuild", "--verify", "--data", dir)
}

// --dry-run says what a rebuild would do, and nothing is appended; --all does every workspace, and exits as the worst.
func TestRebuildAllAndDryRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	run := func(code int, stdin string, args ...string) string {
		t.Helper()
		out, errs, got := waymark(t, stdin, append(args, "--data", dir)...)
		require.Equal(t, code, got, "%v: %s%s", args, out, errs)
		return out
	}
	run(exitDone, ways(0, 200, false), "import", "-", "--format", "waymark", "--workspace", "bad")
	assert.Regexp(t, `^would be published; judged in `, run(exitDone, "", "rebuild", "--dry-run", "--workspace", "bad"))
	run(exitDone, "", "rebuild", "--workspace", "bad")
	run(exitDone, ways(200, 300, true)+ways(500, 100, false), "import", "-", "--format", "waymark", "--workspace", "bad")
	run(exitDone, ways(0, 200, false), "import", "-", "--format", "waymark", "--workspace", "good")
	head := func(workspace string) (at uint64) {
		var a struct {
			Model struct {
				Seq uint64 `json:"seq"`
			} `json:"model"`
		}
		require.NoError(t, json.Unmarshal([]byte(run(exitDone, "", "next", "--json", "--workspace", workspace)), &a))
		require.NotZero(t, a.Model.Seq)
		return a.Model.Seq
	}
	before := []uint64{head("bad"), head("good")}
	out := run(exitNegative, "", "rebuild", "--dry-run", "--all")
	assert.Regexp(t, `(?s)^bad: NOT published: .*; WORSE after a context \(mrr .*\ndefault: would be published; judged in [^\n]*\ngood: would be published; [^\n]*no worse[^\n]*\n$`, out)
	assert.Equal(t, before, []uint64{head("bad"), head("good")})
	out = run(exitNegative, "", "rebuild", "--all", "--json")
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
	assert.Greater(t, head("good"), before[1])
	run(exitDone, "", "rebuild", "--all", "--verify")
	for _, other := range []string{"--force", "--verify"} {
		run(exitUsage, "", "rebuild", "--dry-run", other)
	}
	run(exitUsage, "", "rebuild", "--all", "--workspace", "good")
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
