//go:build unix

package gateway

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestNoChildIsLeftBehind(t *testing.T) {
	o := quick(t)
	g, err := Open(t.Context(), o)
	require.NoError(t, err)
	connect(t, g, definition("good"), definition("hang"), definition("drip"))
	for _, id := range []string{"good", "hang", "drip"} {
		ready(t, g, id)
	}
	require.NoError(t, g.Grant(t.Context(), "*"))
	var grandchild echoed
	require.NoError(t, json.Unmarshal(call(t, g, "good:spawn", `{}`).Structured, &grandchild))
	pid, err := strconv.Atoi(grandchild.Text)
	require.NoError(t, err)
	pids := []int{pid}
	for _, up := range g.ups {
		pids = append(pids, up.link.child.cmd.Process.Pid)
	}
	go func() { _, _ = g.Call(context.Background(), run.Call{Tool: "drip:go"}) }()
	go func() { _, _ = g.Call(context.Background(), run.Call{Tool: "hang:go"}) }()
	for _, id := range []string{"drip", "hang"} {
		require.Eventually(t, func() bool { return busy(g, id) }, 2*time.Minute, time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, g.Close(ctx))
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return !alive(pid) }, 2*time.Minute, 5*time.Millisecond, "process %d lives", pid)
	}
}

// npx removes its lock when it is asked to terminate. If it is killed instead, the next npx waits until the lock is old.
func TestChildThatStartsIsAskedToTerminate(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	script := `trap 'rmdir "$0"; exit' TERM; mkdir "$0"; while :; do sleep .05; done`
	g, err := Open(t.Context(), quick(t))
	require.NoError(t, err)
	connect(t, g, Definition{ID: "npx", Command: "/bin/sh", Args: []string{"-c", script, lock}})
	require.Eventually(t, func() bool { return isThere(lock) }, 2*time.Minute, time.Millisecond)
	assert.Equal(t, []string{"npx"}, g.NotReady())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, g.Close(ctx))
	assert.False(t, isThere(lock))
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
