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
	const document, stream = "larger than 64 MiB", "larger than 1024 MiB"
	long := strings.Repeat("a", 64<<10)
	lines := `{"id":"e","steps":[{"tool":"fs:read_file"}],"intent":"` + strings.Repeat("a", 250<<10) + "\"}\n"
	// A child counts the memory of its parent until it starts: what the tests before took must not be its peak.
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	for _, r := range []struct {
		args, input, says string
		code              int
	}{
		{"record -", long, document, exitNegative},
		{"record -", lines, "larger than 1073741824 bytes", exitNegative},
		{"import /dev/zero", "", stream, exitNegative},
		{"restore /dev/zero", "", "this is not a backup", exitFailed},
		{"mcp", long, stream, exitNegative},
		{"score custom-rubric.yaml /dev/zero", "", document, exitNegative},
		{"capability propose --rubric /dev/zero", "", document, exitNegative},
		{"next --config /dev/zero", "", document, exitUsage},
		{"next --thesaurus /dev/zero", "", "longer than 65535 bytes", exitUsage},
		{"serve --tls-cert /dev/zero --tls-key /dev/zero", "", document, exitNegative},
		{"gateway add /dev/zero", "", document, exitNegative},
	} {
		t.Run(r.args, func(t *testing.T) {
			cmd, stderr := starting(t, strings.Fields(r.args)...)
			if r.input != "" {
				cmd.Stdin = &endless{text: r.input}
			}
			_ = cmd.Run() // its exit code follows
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			assert.Equal(t, r.code, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), r.says)
			assert.Less(t, peak, int64(300<<10), "KiB of resident memory")
		})
	}
}

// A signal ends a command that waits for what somebody writes to a pipe.
func TestSignalEndsAWaitingCommand(t *testing.T) {
	for _, command := range []string{"record PIPE", "import PIPE", "restore PIPE", "score items PIPE", "run PIPE", "gateway add PIPE", "next --config PIPE", "next --thesaurus PIPE", "triangulate PIPE",
		"triangulate --auto why --search-file PIPE"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			cmd, stderr := starting(t, strings.Fields(strings.ReplaceAll(command, "PIPE", pipe))...)
			require.NoError(t, cmd.Start())
			late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
			defer late.Stop()
			require.Eventually(t, func() bool { // which succeeds once somebody reads
				w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					t.Cleanup(func() { w.Close() })
				}
				return err == nil
			}, time.Minute, 10*time.Millisecond, stderr)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			assert.Contains(t, stderr.String(), "interrupted")
		})
	}
}
