package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	"waymark/storage"
)

// killedDAG has reads and notes side by side and after each other.
func killedDAG() run.Request {
	q := run.Request{}
	for i := range 12 {
		tool := "note:add"
		if i%3 == 0 {
			tool = "note:read"
		}
		t := catalog.Task{ID: fmt.Sprint("t", i), Tool: tool, Arguments: map[string]json.RawMessage{"node": json.RawMessage(strconv.Quote(fmt.Sprint("t", i)))}}
		if i >= 3 {
			t.Arguments["before"] = json.RawMessage(fmt.Sprintf(`{"$from":"t%d.result.node"}`, i-3))
		}
		q.DAG.Tasks = append(q.DAG.Tasks, t)
	}
	return q
}

// diary writes down when each call begins and ends.
type diary struct{ file *os.File }

func (d diary) Call(_ context.Context, c run.Call) (run.Result, error) {
	var a struct{ Node string }
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return run.Result{}, err
	}
	fmt.Fprintf(d.file, "begin %s %s %s\n", c.Session, a.Node, c.Tool)
	time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	fmt.Fprintf(d.file, "end %s %s %s\n", c.Session, a.Node, c.Tool)
	return run.Result{Structured: append(strconv.AppendQuote([]byte(`{"node":`), a.Node+"!"), byte(125))}, nil
}

const killedDir = "WAYMARK_TEST_RUNS"

// TestRunsOfAChild is the process that is killed: it goes on with what it finds, and begins more.
func TestRunsOfAChild(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("runs as the child of TestKillDuringRuns")
	}
	file, err := os.OpenFile(filepath.Join(dir, "diary"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	store, err := storage.Open(filepath.Join(dir, "data"), storage.Options{})
	require.NoError(t, err)
	w := live.NewWorkspaces(store, live.Options{})
	s, err := New(Config{Store: store, Workspaces: w, Caller: diary{file}})
	require.NoError(t, err)
	e, err := w.Get(t.Context(), api.DefaultWorkspace)
	require.NoError(t, err)
	yes, no := true, false
	r, err := e.PutTools(t.Context(), []catalog.Tool{{ID: "note:add", Annotations: &catalog.Annotations{Destructive: &no}}, {ID: "note:read", Annotations: &catalog.Annotations{ReadOnly: &yes}}}, live.Approver)
	require.NoError(t, err)
	require.NoError(t, e.Wait(t.Context(), r.Seq))
	s.runs.Resume(t.Context())
	fmt.Println("ready")
	a := api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "test"}
	for os.Getenv("WAYMARK_TEST_MORE") != "" {
		begun, err := s.runs.Begin(t.Context(), a, "", killedDAG(), false)
		require.NoError(t, err)
		fmt.Println("run", begun.ID)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // several at once
		for range s.runs.Watch(ctx, api.DefaultWorkspace, begun.ID) {
		}
		cancel()
	}
	// The last one says how every run stands, once nothing moves any more.
	heads, err := runs.Journal{Table: store.Table(api.DefaultWorkspace)}.Heads(t.Context())
	require.NoError(t, err)
	for _, h := range heads {
		for {
			st, err := s.runs.Status(t.Context(), api.DefaultWorkspace, h.ID)
			require.NoError(t, err)
			if st.State != run.Running {
				b, _ := json.Marshal(st)
				fmt.Println("status", string(b))
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	s.Close()
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, store.Close())
}

// kill -9 at any moment of any run: no run that was acknowledged is lost, no call is made
// twice, and what may have happened is interrupted. WAYMARK_KILL_ROUNDS sets how often.
func TestKillDuringRuns(t *testing.T) {
	t.Parallel()
	rounds := 3
	if s := os.Getenv("WAYMARK_KILL_ROUNDS"); s != "" {
		var err error
		rounds, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	child := func(more string) (*exec.Cmd, io.Reader) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRunsOfAChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), killedDir+"="+dir, "WAYMARK_TEST_MORE="+more)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd, out
	}
	random := rand.New(rand.NewPCG(3, 4))
	begun := map[string]bool{}
	for round := range rounds {
		cmd, out := child("yes")
		lines := bufio.NewScanner(out)
		ready, armed := false, false
		for lines.Scan() {
			ready = ready || lines.Text() == "ready"
			if ready && !armed && (round > 0 || lines.Text() != "ready") { // in the first round something has begun by then
				armed = true
				time.AfterFunc(time.Duration(10+random.IntN(80))*time.Millisecond, func() { cmd.Process.Kill() })
			}
			if id, ok := strings.CutPrefix(lines.Text(), "run "); ok {
				begun[id] = true
			}
		}
		require.True(t, ready, "the child did not start")
		cmd.Wait()
	}
	cmd, out := child("")
	stands := map[string]run.Status{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "status "); ok {
			var s run.Status
			require.NoError(t, json.Unmarshal([]byte(text), &s))
			stands[s.ID] = s
		}
	}
	require.NoError(t, cmd.Wait())

	type call struct{ run, node string }
	began, ended := map[call]int{}, map[call]int{}
	text, err := os.ReadFile(filepath.Join(dir, "diary"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		c := call{f[1], f[2]}
		if f[0] == "begin" {
			began[c]++
		} else {
			ended[c]++
		}
	}
	interrupted := 0
	for c, n := range began {
		require.Equal(t, 1, n, "run %s did %s twice", c.run, c.node)
	}
	require.NotEmpty(t, begun)
	for id := range begun {
		s, ok := stands[id]
		require.True(t, ok, "run %s was acknowledged and is gone", id)
		require.Contains(t, []run.State{run.Done, run.Paused}, s.State, "%+v", s)
		for _, n := range s.Nodes {
			c := call{id, n.ID}
			switch n.State {
			case run.NodeDone:
				require.NotZero(t, ended[c], "run %s says that %s is done", id, n.ID)
				require.JSONEq(t, fmt.Sprintf(`{"node":"%s!"}`, n.ID), string(n.Result))
			case run.NodeInterrupted:
				interrupted++
				require.Contains(t, n.Reason, "may have happened")
			default:
				require.Equal(t, run.NodeWaiting, n.State)
				require.Zero(t, ended[c], "run %s says that %s was not done", id, n.ID)
			}
		}
		if s.State == run.Done {
			require.Empty(t, s.Waiting)
		} else {
			require.NotEmpty(t, s.Waiting)
		}
	}
	t.Logf("%d rounds, %d runs, %d calls; %d interrupted, none made twice", rounds, len(begun), len(began), interrupted)
}
