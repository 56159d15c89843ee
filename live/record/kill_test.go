package record

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/live"
	"waymark/run"
	"waymark/storage"
)

// The kill test needs a process to kill. This binary is one when killDir is set.
const killDir = "WAYMARK_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		callUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

// callUntilKilled makes calls in four sessions and prints a line for each that was answered.
func callUntilKilled(dir string) {
	store, err := storage.Open(dir, storage.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	e, err := live.NewWorkspaces(store, unlearned).Get(context.Background(), "default")
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	r := New(opened(e), callerFunc(works), Options{})
	for s := range 4 {
		session := fmt.Sprint(os.Getpid(), "-", s)
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprint("t", n)
				result, err := r.Call(context.Background(), run.Call{Tool: fmt.Sprint("tool", n%7), ID: id, Session: session})
				if err != nil || result.Unrecorded != "" {
					fmt.Println("error", err, result.Unrecorded)
					os.Exit(1)
				}
				fmt.Fprintf(os.Stdout, "ack %s %s\n", session, id)
			}
		}()
	}
	select {}
}

// A process is killed while it calls: every call that was answered is in the history, in its episode, and a
// replay gives the model that the next process starts with.
func TestKill(t *testing.T) {
	rounds := 3
	if s := os.Getenv("WAYMARK_KILL_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range rounds {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), killDir+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for first := true; lines.Scan(); first = false {
			var session, id string
			_, err := fmt.Sscanf(lines.Text(), "ack %s %s", &session, &id)
			require.NoError(t, err, "round %d: it says %q", round, lines.Text())
			acked[session+" "+id] = true
			if first {
				time.AfterFunc(time.Duration(20+37*round%100)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait(), "it was killed")

		store, err := storage.Open(dir, storage.Options{})
		require.NoError(t, err)
		w := live.NewWorkspaces(store, unlearned)
		e, err := w.Get(t.Context(), "default")
		require.NoError(t, err)
		found := 0
		for _, ep := range history(t, e) {
			for i, s := range ep.Steps {
				require.Equal(t, fmt.Sprint("t", i), s.ID, "in order, none missing")
				if acked[ep.Session+" "+s.ID] {
					found++
				}
			}
		}
		require.Equal(t, len(acked), found, "round %d: calls that were answered are lost", round)
		sameAsWhole(t, e)
		require.NoError(t, w.Close(t.Context()))
		require.NoError(t, store.Close())
	}
	t.Logf("%d kills, %d calls answered, none lost", rounds, len(acked))
}
