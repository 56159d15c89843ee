//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endless repeats a text for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// starting is a command of the program with bounded memory and directories of its own.
func starting(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	cmd = exec.Command("sh", append([]string{"-c", `ulimit -v 8000000 && exec "$0" "$@"`, program}, args...)...)
	cmd.Env = append(os.Environ(), "WAYMARK_DATA="+filepath.Join(dir, "data"), "TMPDIR="+dir, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// An input without an end is refused with its limit, in bounded memory.
func TestEndlessInput(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))
	const document, stream = "larger than 64 MiB", "larger than 1024 MiB"
	long, nested := strings.Repeat("a", 64<<10), strings.Repeat("[", 64<<10)
	lines := `{"id":"e","steps":[{"tool":"fs:read_file"}],"intent":"` + strings.Repeat("a", 250<<10) + "\"}\n"
	type row struct {
		args  string
		input string
		says  string
		code  int
	}
	rows := []row{
		{"record /dev/zero", "", document, exitNegative},
		{"record -", long, document, exitNegative},
		{"record -", nested, document, exitNegative},
		{"record -", lines, "larger than 1073741824 bytes", exitNegative},
		{"import /dev/zero", "", stream, exitNegative},
		{"import -", lines, stream, exitNegative},
		{"restore /dev/zero", "", "this is not a backup", exitFailed},
		{"mcp", long, stream, exitNegative},
		{"score custom-rubric.yaml /dev/zero", "", document, exitNegative},
		{"score /dev/zero " + empty, "", document, exitNegative},
		{"capability propose --rubric /dev/zero", "", document, exitUsage},
		{"next --config /dev/zero", "", document, exitUsage},
		{"next --thesaurus /dev/zero", "", "longer than 65535 bytes", exitUsage},
		{"serve --tls-cert /dev/zero --tls-key /dev/zero", "", document, exitNegative},
	}
	for _, command := range []string{"score items", "capability import", "gateway add", "run"} {
		rows = append(rows, row{command + " /dev/zero", "", document, exitNegative}, row{command + " -", long, document, exitNegative})
	}
	// A child counts the memory of its parent until it starts: what the tests before took must not be its peak.
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	for _, r := range rows {
		t.Run(r.args, func(t *testing.T) {
			cmd, stderr := starting(t, strings.Fields(r.args)...)
			if r.input != "" {
				cmd.Stdin = &endless{text: r.input}
			}
			began := time.Now()
			_ = cmd.Run() // its exit code follows
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			t.Logf("%v, %d KiB: %s", time.Since(began), peak, stderr)
			assert.Equal(t, r.code, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), r.says)
			assert.Less(t, peak, int64(300<<10), "KiB of resident memory")
		})
	}
}

// A signal ends a command that waits for a pipe: for somebody to write to it, and for what they write.
func TestSignalEndsAWaitingCommand(t *testing.T) {
	for _, command := range []string{"record PIPE", "import PIPE", "restore PIPE", "score items PIPE", "run PIPE", "capability import PIPE", "gateway add PIPE",
		"next --config PIPE", "next --thesaurus PIPE", "triangulate --auto why --search-file PIPE"} {
		for _, written := range []bool{false, true} {
			t.Run(command, func(t *testing.T) {
				pipe := filepath.Join(t.TempDir(), "pipe")
				require.NoError(t, syscall.Mkfifo(pipe, 0o600))
				cmd, stderr := starting(t, strings.Fields(strings.ReplaceAll(command, "PIPE", pipe))...)
				require.NoError(t, cmd.Start())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				if written {
					require.Eventually(t, func() bool { // which succeeds once somebody reads
						w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
						if err == nil {
							t.Cleanup(func() { w.Close() })
						}
						return err == nil
					}, 30*time.Second, 10*time.Millisecond, stderr)
				}
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				began := time.Now()
				select {
				case err := <-ended:
					require.Error(t, err)
					t.Logf("%v after the signal: %s", time.Since(began), stderr)
					if written { // else the signal may come before the program has begun
						assert.Contains(t, stderr.String(), "interrupted")
					}
				case <-time.After(time.Minute):
					cmd.Process.Kill()
					t.Fatal("it did not end")
				}
			})
		}
	}
}
