//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	dagrun "waymark/run"
	"waymark/suggest"
)

// shopVariable makes the test binary a server that can be told to fail.
const shopVariable = "SHOP_TEST_SERVER"

func init() {
	if os.Getenv(shopVariable) != "" {
		beShop()
		os.Exit(0)
	}
}

var shopTools = []string{"read", "check", "pack", "ship"}

func beShop() {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	for _, name := range shopTools {
		s.AddTool(&mcp.Tool{Name: name, Description: "Can " + name + " an order.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"integer"},"jam":{"type":"boolean"}},"required":["order"]}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in struct{ Jam bool }
				if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
					return nil, err
				}
				text := strconv.Itoa(os.Getpid())
				if in.Jam {
					text = "the machine is jammed"
				}
				return &mcp.CallToolResult{IsError: in.Jam, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// loopHost writes down what it does: calls as a transcript of messages, runs as episodes.
type loopHost struct {
	t           *testing.T
	sessions    []*mcp.ClientSession
	calls, runs bytes.Buffer
	made        int
	failed      int
	pids        map[int]bool
}

// call calls a tool in a session through call_tool.
func (h *loopHost) call(session int, tool string, arguments map[string]any) {
	p := &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": tool, "arguments": arguments}}
	h.made++
	write := func(direction string, message map[string]any) {
		message["jsonrpc"], message["id"] = "2.0", h.made
		require.NoError(h.t, json.NewEncoder(&h.calls).Encode(map[string]any{
			"time": time.Now(), "direction": direction, "server": "waymark", "session": fmt.Sprint("host-", session), "message": message}))
	}
	write("client", map[string]any{"method": "tools/call", "params": p})
	r, err := h.sessions[session].CallTool(h.t.Context(), p)
	require.NoError(h.t, err)
	write("server", map[string]any{"result": r})
	if r.IsError {
		h.failed++
		return
	}
	pid, err := strconv.Atoi(r.Content[0].(*mcp.TextContent).Text)
	require.NoError(h.t, err)
	h.pids[pid] = true
}

// run carries out tasks by run_dag.
func (h *loopHost) run(tasks ...map[string]any) dagrun.Status {
	r, err := h.sessions[0].CallTool(h.t.Context(), &mcp.CallToolParams{Name: "run_dag", Arguments: map[string]any{"dag": map[string]any{"tasks": tasks}}})
	require.NoError(h.t, err)
	text, err := json.Marshal(r.StructuredContent)
	require.NoError(h.t, err)
	var s dagrun.Status
	require.NoError(h.t, json.Unmarshal(text, &s))
	require.True(h.t, s.State.Over(), "%s %v", text, r.Content)
	e := episodic.Episode{ID: s.ID, Session: s.ID, Time: s.StartedAt}
	took := map[string]bool{}
	for _, n := range s.Nodes {
		step := episodic.Step{ID: n.ID, Tool: n.Tool, DependsOn: []string{}, Outcome: episodic.Success, ErrorKind: string(n.ErrorKind)}
		switch n.State {
		case dagrun.NodeFailed:
			step.Outcome = episodic.Failure
		case dagrun.NodeDone:
		default:
			continue // it was not called
		}
		for _, id := range n.DependsOn {
			if took[id] {
				step.DependsOn = append(step.DependsOn, id)
			}
		}
		took[n.ID] = true
		e.Steps = append(e.Steps, step)
	}
	require.NoError(h.t, json.NewEncoder(&h.runs).Encode(e))
	return s
}

func loopTask(id, tool string, arguments map[string]any, after ...string) map[string]any {
	return map[string]any{"id": id, "tool": tool, "arguments": arguments, "depends_on": append([]string{}, after...)}
}

// counted is what a data directory has learned: of nodes the uses, of edges the transitions.
func counted(t *testing.T, dir string) map[string]uint64 {
	out, _ := says(t, 0, "export", "--format", "json", "--data", dir)
	var e suggest.Export
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	counts := map[string]uint64{}
	for _, n := range e.Nodes {
		counts[fmt.Sprintf("%s %s, known %t", n.Kind, n.ID, n.Known)] = n.Uses
	}
	for _, x := range e.Edges {
		counts[x.From+" > "+x.To] = x.Count
	}
	return counts
}

func nextAfter(t *testing.T, dir, tool string) (ids []string) {
	out, _ := says(t, 0, "next", "--after", tool, "--json", "--data", dir)
	var answer suggest.NextAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	for _, s := range answer.Suggestions {
		ids = append(ids, s.ID)
	}
	return ids
}

// shopOrder is what a host asks of a shop.
func shopOrder(order int, how string) map[string]any {
	switch how {
	case "fails": // the tool says that it does not work
		return map[string]any{"order": order, "jam": true}
	case "wrong": // the arguments are
		return map[string]any{"order": "none"}
	}
	return map[string]any{"order": order}
}

// What is learned while a host works is what its transcript teaches an empty directory afterwards: calls and
// runs, those that fail too. WAYMARK_LOOP_ROUNDS sets how many calls.
func TestGraphIsThatOfTheTranscript(t *testing.T) {
	t.Parallel()
	dir, again, files := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data"), t.TempDir()
	const shops = 3
	config := map[string]any{}
	for i := range shops {
		id := fmt.Sprint("shop-", i)
		config[id] = map[string]any{"command": os.Args[0], "env": map[string]string{shopVariable: id}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": config})
	require.NoError(t, err)
	file := func(name string, content []byte) string {
		path := filepath.Join(files, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	says(t, 0, "gateway", "add", file("mcp.json", text), "--yes", "--data", dir)
	s := startServer(t, dir, "--connect")
	require.Eventually(t, func() bool {
		out, _ := says(t, 0, "gateway", "list", "--data", dir)
		return strings.Count(out, "  ready") == shops
	}, 2*time.Minute, 50*time.Millisecond)

	h := &loopHost{t: t, pids: map[int]bool{}}
	for i := range 3 { // over HTTP without session ids the name of the client is the session
		client := mcp.NewClient(&mcp.Implementation{Name: fmt.Sprint("host-", i)}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		h.sessions = append(h.sessions, session)
	}
	random := rand.New(rand.NewPCG(7, 7))
	some := func(order int) string { return fmt.Sprintf("shop-%d:%s", random.IntN(shops), shopTools[order%3]) }
	for i := range rounds(t, "WAYMARK_LOOP_ROUNDS", 40) {
		how := "works"
		switch {
		case i%7 == 3:
			how = "fails"
		case i%11 == 5:
			how = "wrong"
		}
		h.call(random.IntN(len(h.sessions)), some(i), shopOrder(i, how))
	}
	runsFailed := 0
	for i := range 4 {
		task := func(id, how string, after ...string) map[string]any {
			return loopTask(id, some(i+len(after)), shopOrder(i, how), after...)
		}
		how := "works"
		if i%2 == 0 {
			how = "fails"
		}
		risky := task("c", how, "a")
		if i%4 == 0 {
			risky["on_error"] = "continue"
		}
		ran := h.run(task("a", "works"), task("b", "works", "a"), risky, task("d", "works", "b", "c"))
		runsFailed += ran.Failed
	}
	const last, follower = "shop-0:ship", "shop-2:ship" // nothing else ships
	assert.NotContains(t, counted(t, dir), last+" > "+follower)
	ran := h.run(loopTask("a", last, map[string]any{"order": 1}), loopTask("b", follower, map[string]any{"order": 1}, "a"))
	require.Equal(t, dagrun.Done, ran.State)
	assert.Positive(t, h.failed, "the test lets nothing fail")
	assert.Positive(t, runsFailed, "the test lets no task fail")
	assert.Len(t, h.pids, shops, "a server did nothing")

	was := counted(t, dir)
	assert.Contains(t, was, last+" > "+follower, "the last run is in the graph")
	assert.Contains(t, nextAfter(t, dir, last), follower, "the next suggestion knows of the last run")
	out, _ := says(t, 0, "rebuild", "--verify", "--data", dir)
	assert.Contains(t, out, "the replay are equal")
	exported, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
	for _, c := range h.sessions {
		_ = c.Close()
	}
	assert.Zero(t, s.stop(t), s.stderr)
	for pid := range h.pids {
		gone(t, pid)
	}

	var tools bytes.Buffer // the catalog is not in the transcript of a host that knows what it calls
	for line := range strings.Lines(exported) {
		if strings.HasPrefix(line, `{"kind":"tool"`) {
			tools.WriteString(line)
		}
	}
	says(t, 0, "import", file("tools.jsonl", tools.Bytes()), "--format", "waymark", "--data", again)
	says(t, 0, "import", file("calls.jsonl", h.calls.Bytes()), "--format", "mcp-jsonrpc", "--yes", "--data", again)
	says(t, 0, "record", file("runs.jsonl", h.runs.Bytes()), "--data", again)
	assert.Equal(t, was, counted(t, again))
	assert.Contains(t, nextAfter(t, again, last), follower)
	out, _ = says(t, 0, "rebuild", "--verify", "--data", again)
	assert.Contains(t, out, "the replay are equal")
}
