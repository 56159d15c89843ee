//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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

// How much a host does in these tests. They are read before TestMain clears the settings.
var (
	loopCalls = loopSize("WAYMARK_LOOP_CALLS", 60)
	loopRuns  = loopSize("WAYMARK_LOOP_RUNS", 5)
)

func loopSize(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return usual
}

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
	worked      map[string]int // calls that worked, by server
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
	server, _, _ := strings.Cut(tool, ":")
	h.worked[server]++
	if strings.HasPrefix(server, "shop-") {
		pid, err := strconv.Atoi(r.Content[0].(*mcp.TextContent).Text)
		require.NoError(h.t, err)
		h.pids[pid] = true
	}
}

// childrenOf are the processes that a process has started, where the system tells.
func childrenOf(pid int) (children []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if child, notANumber := strconv.Atoi(field); err == nil && notANumber == nil {
				children = append(children, child)
			}
		}
	}
	return children
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

// graphOf is what a data directory has learned.
func graphOf(t *testing.T, dir string) (e suggest.Export) {
	out, _ := says(t, 0, "export", "--format", "json", "--data", dir)
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	return e
}

// counted is what is counted in a graph: of nodes the uses, of edges the transitions.
func counted(e suggest.Export) map[string]uint64 {
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

// loopServer is one of the servers behind the gateway, and what a host asks of it.
type loopServer struct {
	id     string
	config map[string]any
	ask    func(order int, how loopHow) (tool string, arguments map[string]any) // no tool: it cannot be asked so
}

type loopHow int

const (
	loopWorks loopHow = iota
	loopFails         // the tool says that it does not work
	loopWrong         // the arguments are wrong
)

// loopShop is a server of ours.
func loopShop(i int) loopServer {
	id := fmt.Sprint("shop-", i)
	return loopServer{id, map[string]any{"command": os.Args[0], "env": map[string]string{shopVariable: id}}, func(order int, how loopHow) (string, map[string]any) {
		arguments := map[string]any{"order": order}
		switch how {
		case loopFails:
			arguments["jam"] = true
		case loopWrong:
			arguments["order"] = "none"
		}
		return id + ":" + shopTools[order%3], arguments
	}}
}

// What is learned while a host works is what its transcript teaches an empty directory afterwards: calls and
// runs, those that fail too. WAYMARK_LOOP_CALLS and WAYMARK_LOOP_RUNS set how many.
func TestGraphIsThatOfTheTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	testLoop(t, loopShop(0), loopShop(1), loopShop(2), loopShop(3), loopShop(4))
}

func testLoop(t *testing.T, servers ...loopServer) {
	dir, again, files := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data"), t.TempDir()
	config := map[string]any{}
	for _, s := range servers {
		config[s.id] = s.config
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
		return strings.Count(out, "  ready") == len(servers)
	}, 2*time.Minute, 50*time.Millisecond)

	h := &loopHost{t: t, worked: map[string]int{}, pids: map[int]bool{}}
	for i := range 4 { // over HTTP without session ids the name of the client is the session
		client := mcp.NewClient(&mcp.Implementation{Name: fmt.Sprint("host-", i)}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URLs.MCP}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		h.sessions = append(h.sessions, session)
	}
	random := rand.New(rand.NewPCG(7, 7))
	some := func(order int, how loopHow) (tool string, arguments map[string]any) {
		for tool == "" {
			tool, arguments = servers[random.IntN(len(servers))].ask(order, how)
		}
		return tool, arguments
	}
	for i := range loopCalls {
		how := loopWorks
		switch {
		case i%7 == 3:
			how = loopFails
		case i%11 == 5:
			how = loopWrong
		}
		tool, arguments := some(i, how)
		if i < 2*len(servers) { // each of them is called
			tool, arguments = servers[i%len(servers)].ask(i, loopWorks)
		}
		h.call(random.IntN(len(h.sessions)), tool, arguments)
	}
	runsFailed := 0
	for i := range loopRuns - 1 {
		task := func(id string, how loopHow, after ...string) map[string]any {
			tool, arguments := some(i+len(after), how)
			return loopTask(id, tool, arguments, after...)
		}
		how := loopWorks
		if i%2 == 0 {
			how = loopFails
		}
		risky := task("c", how, "a")
		if i%4 == 0 {
			risky["on_error"] = "continue"
		}
		ran := h.run(task("a", loopWorks), task("b", loopWorks, "a"), risky, task("d", loopWorks, "b", "c"))
		runsFailed += ran.Failed
	}
	const last, follower = "shop-0:ship", "shop-4:ship" // nothing else ships
	assert.NotContains(t, counted(graphOf(t, dir)), last+" > "+follower)
	ran := h.run(loopTask("a", last, map[string]any{"order": 1}), loopTask("b", follower, map[string]any{"order": 1}, "a"))
	require.Equal(t, dagrun.Done, ran.State)
	assert.Positive(t, h.failed, "the test lets nothing fail")
	assert.True(t, loopRuns < 2 || runsFailed > 0, "the test lets no task fail")
	for _, server := range servers {
		assert.Positive(t, h.worked[server.id], "%s did nothing", server.id)
	}

	was := graphOf(t, dir)
	assert.Contains(t, counted(was), last+" > "+follower, "the last run is in the graph")
	next := nextAfter(t, dir, last)
	assert.Contains(t, next, follower, "the next suggestion knows of the last run")
	out, _ := says(t, 0, "rebuild", "--verify", "--data", dir)
	assert.Contains(t, out, "the replay are equal")
	resp, err := http.Get(s.URLs.API + "/export")
	require.NoError(t, err)
	exported, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	require.NoError(t, err)
	for _, c := range h.sessions {
		_ = c.Close()
	}
	children := childrenOf(s.cmd.Process.Pid)
	assert.Zero(t, s.stop(t), s.stderr)
	for pid := range h.pids { // of the servers of ours
		children = append(children, pid)
	}
	assert.GreaterOrEqual(t, len(children), 3)
	for _, pid := range children {
		gone(t, pid)
	}

	var tools bytes.Buffer // the catalog is not in the transcript of a host that knows what it calls
	for line := range strings.Lines(string(exported)) {
		if strings.HasPrefix(line, `{"kind":"tool"`) {
			tools.WriteString(line)
		}
	}
	says(t, 0, "import", file("tools.jsonl", tools.Bytes()), "--format", "waymark", "--data", again)
	says(t, 0, "import", file("calls.jsonl", h.calls.Bytes()), "--format", "mcp-jsonrpc", "--yes", "--data", again)
	says(t, 0, "record", file("runs.jsonl", h.runs.Bytes()), "--data", again)
	assert.Equal(t, counted(was), counted(graphOf(t, again)))
	assert.Contains(t, nextAfter(t, again, last), follower)
	out, _ = says(t, 0, "rebuild", "--verify", "--data", again)
	assert.Contains(t, out, "the replay are equal")
	t.Logf("%d calls, %d failed; %d runs, %d tasks failed; %d nodes, %d edges", h.made, h.failed, loopRuns, runsFailed, len(was.Nodes), len(was.Edges))
}
