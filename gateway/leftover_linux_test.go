package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/storage"
)

const markVariable = "GATEWAY_TEST_MARK"

// beOwner is a process with a gateway of its own. It says which processes it and its server have started.
func beOwner() {
	table, err := storage.NewMemory().Table("test")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	g, err := Open(ctx, Options{Table: table, Mark: os.Getenv(markVariable)})
	if err != nil {
		panic(err)
	}
	d := definition("good")
	if g.Agree(ctx, d.ID, d.Digest()) != nil || g.Grant(ctx, "*") != nil || g.Connect([]Definition{d}) != nil {
		panic("the server does not start")
	}
	for server(g, d.ID).State != Ready {
		time.Sleep(time.Millisecond)
	}
	for _, tool := range []string{"spawn", "daemon"} {
		r, err := g.Call(ctx, run.Call{Tool: "good:" + tool})
		var started echoed
		if err != nil || json.Unmarshal(r.Structured, &started) != nil {
			panic(r.Message)
		}
		fmt.Println(started.Text)
	}
	fmt.Println(g.ups["good"].current().child.cmd.Process.Pid)
	select {}
}

// What the servers of a process that was killed had started ends when the next one with its mark begins; what
// left the group, and what carries another mark, does not.
func TestLeftoversAreEnded(t *testing.T) {
	own := func(mark string) (grandchild, daemon int) {
		owner := exec.Command(os.Args[0])
		owner.Env = append(os.Environ(), roleVariable+"=owner", markVariable+"="+mark)
		out, err := owner.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, owner.Start())
		var pids []int
		lines := bufio.NewScanner(out)
		for len(pids) < 3 && lines.Scan() {
			pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			require.NoError(t, err)
			pids = append(pids, pid)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		}
		require.NoError(t, owner.Process.Kill())
		_ = owner.Wait()
		require.Len(t, pids, 3)
		require.Eventually(t, func() bool { return !runs(pids[2]) }, 2*time.Minute, time.Millisecond, "the kernel ends the server itself")
		return pids[0], pids[1]
	}
	mark := fmt.Sprint("test-", os.Getpid())
	grandchild, daemon := own(mark)
	other, _ := own(mark + "0")
	o := quick(t)
	o.Mark = mark
	g := open(t, o)
	require.True(t, runs(grandchild))
	if ps, err := exec.LookPath("ps"); err == nil { // what other systems than Linux are asked
		list, err := exec.Command(ps, "axewwo", "pid=,pgid=,command=").Output()
		require.NoError(t, err)
		assert.Equal(t, []int{grandchild}, leftovers(string(list), mark))
	}
	require.NoError(t, g.Connect(nil))
	require.Eventually(t, func() bool { return !runs(grandchild) }, 2*time.Minute, time.Millisecond)
	assert.True(t, runs(daemon))
	assert.True(t, runs(other))
}
