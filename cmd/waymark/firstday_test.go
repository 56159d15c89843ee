//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	dagrun "waymark/run"
	"waymark/suggest"
)

// storeVariable makes the test binary a server whose tools hand values on to each other.
const storeVariable = "STORE_TEST_SERVER"

func init() {
	if os.Getenv(storeVariable) != "" {
		beStore()
		os.Exit(0)
	}
}

// storeTools are the tools of a store: what each takes, what it gives, and of which value that is made.
var storeTools = []struct{ name, does, takes, gives string }{
	{"find_order", "Find the orders of a customer by words.", "query", "order"},
	{"check_stock", "Check that what was ordered is in stock.", "order", "stock"},
	{"pack_order", "Put what was ordered into a parcel.", "order", "parcel"},
	{"ship_parcel", "Hand a parcel to the carrier.", "parcel", "tracking"},
	{"refund_order", "Give the money for an order back.", "order", "refund"},
	{"notify_customer", "Tell a customer how a parcel can be followed.", "tracking", "message"},
}

func beStore() {
	s := mcp.NewServer(&mcp.Implementation{Name: "store"}, nil)
	for _, tool := range storeTools {
		schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, tool.takes, tool.takes)
		s.AddTool(&mcp.Tool{Name: tool.name, Description: tool.does, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in map[string]string
				if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
					return nil, err
				}
				out := storeResult(tool.gives, in[tool.takes])
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(out), Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func storeResult(gives, value string) string {
	return fmt.Sprintf(`{%q:"%s of %s"}`, gives, gives, value)
}

// storeTranscripts writes sessions as Claude Code keeps them: each request is one of a few, done by the
// same tools.
func storeTranscripts(t *testing.T, folder string) {
	takes, gives := map[string]string{}, map[string]string{}
	for _, tool := range storeTools {
		takes[tool.name], gives[tool.name] = tool.takes, tool.gives
	}
	requests := []struct {
		intent string
		tools  []string
	}{
		{"ship the order of %s", []string{"find_order", "check_stock", "pack_order", "ship_parcel"}},
		{"send %s what was ordered", []string{"find_order", "check_stock", "pack_order", "ship_parcel"}},
		{"give %s the money back", []string{"find_order", "refund_order"}},
	}
	at := time.Now().Add(-48 * time.Hour).UTC()
	for session, customer := range []string{"Ada Lovelace", "Grace Hopper", "Emmy Noether", "Alan Turing"} {
		var b bytes.Buffer
		write := func(kind string, message map[string]any) {
			at = at.Add(time.Second)
			require.NoError(t, json.NewEncoder(&b).Encode(map[string]any{
				"type": kind, "sessionId": fmt.Sprint("session-", session), "uuid": fmt.Sprint(at.UnixNano()), "timestamp": at, "message": message}))
		}
		for i, request := range requests {
			write("user", map[string]any{"content": fmt.Sprintf(request.intent, customer)})
			values := map[string]string{"query": customer + ", " + fmt.Sprint("request ", i)}
			for j, tool := range request.tools {
				id := fmt.Sprintf("toolu_%d_%d_%d", session, i, j)
				write("assistant", map[string]any{"id": "msg_" + id, "content": []any{
					map[string]any{"type": "tool_use", "id": id, "name": "mcp__store__" + tool, "input": map[string]any{takes[tool]: values[takes[tool]]}}}})
				values[gives[tool]] = gives[tool] + " of " + values[takes[tool]]
				write("user", map[string]any{"content": []any{
					map[string]any{"type": "tool_result", "tool_use_id": id, "content": []any{map[string]any{"type": "text", "text": storeResult(gives[tool], values[takes[tool]])}}}}})
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("session-%d.jsonl", session)), b.Bytes(), 0o600))
	}
}

// scriptedHost asks and calls as an agent would.
type scriptedHost struct {
	t *testing.T
	*mcp.ClientSession
}

// ask calls a tool of Waymark and reads its structured answer.
func (h scriptedHost) ask(tool string, arguments any, answer any) {
	h.t.Helper()
	r, err := h.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(h.t, err)
	said, err := json.Marshal(r.Content)
	require.NoError(h.t, err)
	require.False(h.t, r.IsError, "%s: %s", tool, said)
	text, err := json.Marshal(r.StructuredContent)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(text, answer), "%s", text)
}

func (h scriptedHost) next(after ...string) (ids []string) {
	var a suggest.NextAnswer
	h.ask("suggest_next", map[string]any{"context": after}, &a)
	for _, s := range a.Suggestions {
		ids = append(ids, s.ID)
	}
	return ids
}

// The first day with a host: its transcripts are imported, then it finds, asks, plans and runs, and what it
// has run is in the next suggestion, also after a restart.
func TestFirstDay(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program several times")
	}
	dir, files := filepath.Join(t.TempDir(), "data"), t.TempDir()
	storeTranscripts(t, files)
	out, _ := says(t, 0, "import", files, "--data", dir)
	assert.Contains(t, out, "12 episodes")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"store": map[string]any{"command": os.Args[0], "env": map[string]string{storeVariable: "1"}}}})
	require.NoError(t, err)
	file := filepath.Join(files, "mcp.json")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	says(t, 0, "gateway", "add", file, "--yes", "--data", dir)

	h := scriptedHost{t, mcpClient(t, &mcp.CommandTransport{Command: exec.Command(program, "mcp", "--connect", "--suggest-after", "--data", dir)})}
	var found struct {
		Results []struct {
			ID          string          `json:"id"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"results"`
	}
	require.Eventually(t, func() bool { // the store is starting
		h.ask("find_tool", map[string]any{"query": "put what was ordered into a parcel", "explain": true}, &found)
		return len(found.Results) > 0 && found.Results[0].ID == "store:pack_order" && len(found.Results[0].InputSchema) > 0
	}, 2*time.Minute, 20*time.Millisecond)
	assert.Equal(t, "store:pack_order", h.next("store:find_order", "store:check_stock")[0], "as the transcripts have it")

	// The plan comes from the history, with the wires between its tasks; the host adds what it alone knows.
	var plan map[string]any
	h.ask("suggest_dag", map[string]any{"intent": "ship the order of Ada"}, &plan)
	dag, _ := plan["dag"].(map[string]any)
	tasks, _ := dag["tasks"].([]any)
	require.Len(t, tasks, 4, "%v", plan)
	for i, want := range []string{"find_order", "check_stock", "pack_order", "ship_parcel"} {
		assert.Equal(t, "store:"+want, tasks[i].(map[string]any)["tool"], "%v", plan)
	}
	tasks[0].(map[string]any)["arguments"] = map[string]any{"query": "Ada, request 7"}
	var ran dagrun.Status
	h.ask("run_dag", map[string]any{"dag": dag}, &ran)
	require.Equal(t, dagrun.Done, ran.State, "%+v", ran)
	require.Len(t, ran.Nodes, 4)
	text, err := json.Marshal(ran.Nodes[3])
	require.NoError(t, err)
	assert.Contains(t, string(text), "tracking of parcel of order of Ada, request 7", "values went along the wires")

	// Nobody has ever told a customer.
	const last, follower = "store:ship_parcel", "store:notify_customer"
	before := h.next("store:pack_order", last)
	assert.True(t, len(before) == 0 || before[0] != follower, "%v", before)
	h.ask("run_dag", map[string]any{"dag": map[string]any{"tasks": []any{
		map[string]any{"id": "ship", "tool": last, "arguments": map[string]any{"parcel": "parcel of Grace"}},
		map[string]any{"id": "tell", "tool": follower, "arguments": map[string]any{"tracking": map[string]any{"$from": "ship.result.tracking"}}},
	}}}, &ran)
	require.Equal(t, dagrun.Done, ran.State, "%+v", ran)
	assert.Equal(t, follower, h.next("store:pack_order", last)[0], "the next suggestion knows of the run")

	var answer struct {
		Waymark struct {
			Suggestions []struct{ ID string } `json:"suggestions"`
		} `json:"_waymark"`
	}
	h.ask("call_tool", map[string]any{"tool": last, "arguments": map[string]any{"parcel": "parcel of Emmy"}}, &answer)
	require.NotEmpty(t, answer.Waymark.Suggestions)
	assert.Equal(t, follower, answer.Waymark.Suggestions[0].ID, "and rides along with an answer")
	require.NoError(t, h.Close())

	assert.Equal(t, follower, nextAfter(t, dir, last)[0], "it is still known when all has ended")
	out, _ = says(t, 0, "import", files, "--data", dir) // a configuration stands among the transcripts
	assert.Contains(t, out, "known       12 episodes")
	out, _ = says(t, 0, "rebuild", "--verify", "--data", dir)
	assert.True(t, strings.Contains(out, "the replay are equal"), out)
}
