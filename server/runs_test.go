package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/gateway"
	"waymark/live"
	"waymark/live/state"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
	"waymark/server/internal/runs"
	mcpserver "waymark/server/mcp"
	"waymark/suggest"
)

// bench answers calls with their arguments, or as a test wants it to.
type bench struct {
	mu      sync.Mutex
	calls   []run.Call
	ended   map[string]episodic.Outcome // what became of sessions
	answers map[string]func(ctx context.Context, c run.Call) (run.Result, error)
}

func (d *bench) Call(ctx context.Context, c run.Call) (run.Result, error) {
	d.mu.Lock()
	d.calls = append(d.calls, c)
	answer := d.answers[c.Tool]
	d.mu.Unlock()
	if answer != nil {
		return answer(ctx, c)
	}
	return run.Result{Structured: c.Arguments}, nil
}

func (d *bench) Ended(_ context.Context, _, session string, o episodic.Outcome) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended == nil {
		d.ended = map[string]episodic.Outcome{}
	}
	d.ended[session] = o
	return nil
}

func (d *bench) outcome(session string) episodic.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended[session]
}

func (d *bench) tools() (tools []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		tools = append(tools, c.Tool)
	}
	return tools
}

const benchTools = `[
 {"id":"issue:find","description":"Find issues by a query.","input_schema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]},"output_schema":{"type":"object","properties":{"issue_number":{"type":"integer"},"query":{"type":"string"}}},"annotations":{"read_only":true}},
 {"id":"issue:show","description":"Show one issue.","input_schema":{"type":"object","properties":{"issue_number":{"type":"integer"}},"required":["issue_number"]},"annotations":{"read_only":true}},
 {"id":"issue:close","description":"Close one issue.","input_schema":{"type":"object","properties":{"issue_number":{"type":"integer"}},"required":["issue_number"]},"annotations":{"destructive":true}}]`

const showFirst = `{"id":"show-first","description":"Find and show an issue.","tags":["issues","daily"],"input_schema":{"type":"object","properties":{"words":{"type":"string"}},"required":["words"]},
 "tasks":[{"id":"find","tool":"issue:find","arguments":{"query":{"$from":"params.words"}}},{"id":"show","tool":"issue:show","arguments":{"issue_number":{"$from":"find.issue_number"}}}]}`

func newBench(t testing.TB, adjust ...func(*Config)) (web, *bench) {
	d := &bench{answers: map[string]func(context.Context, run.Call) (run.Result, error){
		"issue:find": func(context.Context, run.Call) (run.Result, error) {
			return run.Result{Structured: json.RawMessage(`{"issue_number":7}`)}, nil
		},
	}}
	w := newWeb(t, append([]func(*Config){func(c *Config) { c.Caller = d; c.RecordScores = true }}, adjust...)...)
	t.Cleanup(w.Close)
	parse[any](t, 200, w.ask("PUT", "/v1/tools", benchTools))
	parse[any](t, 200, w.ask("PUT", "/v1/capabilities", "["+showFirst+"]"))
	w.current()
	return w, d
}

// ended waits for the end of a run, or until it pauses.
func (w web) ended(id string) run.Status {
	w.t.Helper()
	var s run.Status
	require.Eventually(w.t, func() bool {
		s = parse[run.Status](w.t, 200, w.ask("GET", "/v1/runs/"+id, ""))
		return s.State != run.Running
	}, 2*time.Minute, 2*time.Millisecond)
	return s
}

func TestRuns(t *testing.T) {
	w, d := newBench(t)
	r := w.ask("POST", "/v1/runs", `{"intent":"bugs","dag":{"tasks":[
	 {"id":"a","tool":"mcp__issue__find","arguments":{"query":{"$from":"intent"}}},
	 {"id":"b","tool":"issue:show","arguments":{"issue_number":{"$from":"a.result.issue_number"}}}]}}`)
	begun := parse[run.Status](t, 202, r)
	assert.Equal(t, "/v1/runs/"+begun.ID, r.header.Get("Location"))
	s := w.ended(begun.ID)
	assert.Equal(t, run.Done, s.State, "%+v", s)
	assert.JSONEq(t, `{"issue_number":7}`, string(s.Output))
	assert.Equal(t, begun.ID, d.calls[0].Session)
	assert.Equal(t, "bugs", d.calls[0].Intent)

	// The same after it has left memory.
	require.Eventually(t, func() bool { _, ok := w.runs.Find("default", begun.ID); return !ok }, 2*time.Minute, time.Millisecond)
	assert.Equal(t, s, w.ended(begun.ID))

	// Progress is a stream that ends.
	resp, err := http.Get(w.url + "/v1/runs/" + begun.ID + "/events")
	require.NoError(t, err)
	defer resp.Body.Close()
	var events []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if e, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			events = append(events, e)
		}
	}
	assert.Equal(t, "end", events[len(events)-1])

	var page struct {
		Runs       []state.RunHead
		NextCursor string `json:"next_cursor"`
	}
	parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`))
	page = parse[struct {
		Runs       []state.RunHead
		NextCursor string `json:"next_cursor"`
	}](t, 200, w.ask("GET", "/v1/runs?limit=1", ""))
	require.Len(t, page.Runs, 1)
	assert.Equal(t, "show-first", page.Runs[0].Capability, "the newest first")
	newest := w.ended(page.Runs[0].ID)
	page = parse[struct {
		Runs       []state.RunHead
		NextCursor string `json:"next_cursor"`
	}](t, 200, w.ask("GET", "/v1/runs?state=done&limit=1&cursor="+page.NextCursor, ""))
	require.Len(t, page.Runs, 1)
	assert.Equal(t, begun.ID, page.Runs[0].ID)

	require.Equal(t, 200, w.ask("POST", "/v1/forget", `{"episode":"capability-`+newest.ID+`"}`).status)
	requireProblem(t, 404, "there is no run", w.ask("GET", "/v1/runs/"+newest.ID, ""))
	requireProblem(t, 404, "there is no run", w.ask("GET", "/v1/runs/"+newest.ID+"/events", ""))
	assert.Equal(t, s, w.ended(begun.ID), "runs of other episodes stay")
	requireProblem(t, 404, "there is no run", w.ask("POST", "/v1/runs/none/cancel", ""))
}

// A request that is repeated with its id starts nothing.
func TestRunsWithAnIDStartOnce(t *testing.T) {
	w, d := newBench(t)
	const show = `{"id":"mine-1","dag":{"tasks":[{"id":"a","tool":"issue:show","arguments":{"issue_number":7}}]}`
	parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"issue:show","arguments":{"issue_number":1}}]}}`))
	parse[runs.Answer](t, 200, w.ask("POST", "/v1/runs", show+`,"dry_run":true}`))
	var all sync.WaitGroup
	for range 8 { // one begins it, the others find it
		all.Go(func() { assert.Contains(t, []int{202, 409}, w.ask("POST", "/v1/runs", show+"}").status) })
	}
	all.Wait()
	s := w.ended("mine-1")
	require.Equal(t, run.Done, s.State, "%+v", s)
	require.Eventually(t, func() bool { return !w.runs.GoesOn("default", "mine-1") }, 2*time.Minute, time.Millisecond)
	assert.Equal(t, s, parse[run.Status](t, 202, w.ask("POST", "/v1/runs", show+"}")))
	requireProblem(t, 409, "begun by another request", w.ask("POST", "/v1/runs", strings.Replace(show, "7", "8", 1)+"}"))
	requireProblem(t, 422, "letter or digit first", w.ask("POST", "/v1/runs", strings.Replace(show, "mine-1", "../x", 1)+"}"))
	assert.Len(t, d.tools(), 2)
	page := parse[struct{ Runs []state.RunHead }](t, 200, w.ask("GET", "/v1/runs", ""))
	require.Len(t, page.Runs, 2)
	assert.Equal(t, "mine-1", page.Runs[0].ID, "the newest first")
}

// All that is wrong is said at once, and nothing is called.
func TestRunsAreCheckedFirst(t *testing.T) {
	w, d := newBench(t)
	p := requireProblem(t, 422, "the DAG cannot be run", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[
	 {"id":"a","tool":"issue:find","arguments":{"query":5}},{"id":"b","tool":"no:such"},{"id":"c","tool":"issue:show"}]}}`))
	var at []string
	for _, e := range p.Errors {
		at = append(at, e.Location)
	}
	assert.Equal(t, []string{"body.dag.tasks.b", "body.dag.tasks.a.query", "body.dag.tasks.c.issue_number", "body.values"}, at)
	requireProblem(t, 422, "dag: is required", w.ask("POST", "/v1/runs", `{}`))
	requireProblem(t, 422, "unknown field", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[]},"limit":3}`))
	requireProblem(t, 422, "unknown field", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"b","depends":[]}]}}`))
	requireProblem(t, 404, "there is no capability", w.ask("POST", "/v1/runs", `{"capability":"none"}`))
	requireProblem(t, 422, "without values for params.words", w.ask("POST", "/v1/runs", `{"capability":"show-first"}`))

	plan := parse[runs.Answer](t, 200, w.ask("POST", "/v1/runs", `{"dry_run":true,"dag":{"tasks":[{"id":"a","tool":"show-first","arguments":{"words":"x"}},{"id":"b","tool":"issue:close","arguments":{"issue_number":1},"depends_on":["a"]}]}}`))
	assert.Equal(t, runs.Planned, plan.State)
	assert.Equal(t, [][]string{{"a"}, {"b"}}, plan.Plan.Layers)
	require.Len(t, plan.Plan.Nodes, 4)
	assert.NotEmpty(t, plan.Plan.Nodes[3].Approval)
	assert.Empty(t, d.tools())
}

func TestRunsWaitForApproval(t *testing.T) {
	w, d := newBench(t)
	w.as = bearerOf("local-token")
	const dag = `{"dag":{"tasks":[{"id":"a","tool":"issue:close","arguments":{"issue_number":1}},{"id":"b","tool":"issue:close","arguments":{"issue_number":2}}]}`
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", dag+"}"))
	s := w.ended(begun.ID)
	require.Equal(t, run.Paused, s.State)
	assert.Equal(t, []string{"a", "b"}, s.Waiting)
	assert.Empty(t, d.tools())
	requireProblem(t, 409, `node \"c\" does not wait`, w.ask("POST", "/v1/runs/"+s.ID+"/approve", `{"nodes":["c"]}`))
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+s.ID+"/approve", `{"nodes":["a"],"deny":true}`))
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+s.ID+"/approve", ""))
	s = w.ended(s.ID)
	assert.Equal(t, run.Failed, s.State)
	assert.Equal(t, []string{"issue:close"}, d.tools())
	requireProblem(t, 409, "has ended", w.ask("POST", "/v1/runs/"+s.ID+"/approve", ""))

	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", dag+`,"approve":["issue:*"]}`))
	assert.Equal(t, run.Done, w.ended(begun.ID).State)

	// Who may only write may not say yes to it.
	key := parse[struct{ Key string }](t, 200, w.ask("POST", "/v1/keys", `{"name":"k","scopes":["read","write"]}`)).Key
	auth := "Authorization: Bearer " + key
	requireProblem(t, 403, "approve needs the scope admin", w.ask("POST", "/v1/runs", dag+`,"approve":["issue:*"]}`, auth))
	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", dag+"}", auth))
	assert.Equal(t, 403, w.ask("POST", "/v1/runs/"+begun.ID+"/approve", "", auth).status)
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+begun.ID+"/cancel", "", auth))
	require.Eventually(t, func() bool { return w.ended(begun.ID).State == run.Canceled }, 2*time.Minute, time.Millisecond)
}

// What became of a run is what became of its episode, unless it says nothing of the work.
func TestTheOutcomeOfARunIsRecorded(t *testing.T) {
	w, d := newBench(t)
	d.answers["issue:show"] = func(_ context.Context, c run.Call) (run.Result, error) {
		return run.Result{Failure: run.Failure(c.Intent), Message: "no"}, nil
	}
	for intent, want := range map[string]episodic.Outcome{"": episodic.Success, "tool": episodic.Failure, "argument": episodic.Failure, "auth": "", "unavailable": ""} {
		begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"dag":{"intent":"`+intent+`","tasks":[{"id":"a","tool":"issue:show","arguments":{"issue_number":1}}]}}`))
		w.ended(begun.ID)
		assert.Equal(t, want, d.outcome(begun.ID), intent)
	}
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"issue:close","arguments":{"issue_number":1}}]}}`))
	w.ended(begun.ID)
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+begun.ID+"/cancel", ""))
	assert.Equal(t, run.Canceled, w.ended(begun.ID).State)
	assert.Empty(t, d.outcome(begun.ID))
}

func TestRunsAtOnceAreBounded(t *testing.T) {
	w, _ := newBench(t)
	w.as = bearerOf("local-token")
	const waits = `{"dag":{"tasks":[{"id":"a","tool":"issue:close","arguments":{"issue_number":1}}]}}`
	var first string
	keys := []string{}
	for range 3 {
		_, token, err := w.createKey(t.Context(), "", request.DefaultWorkspace, request.AllScopes, "")
		require.NoError(t, err)
		keys = append(keys, "Authorization: Bearer "+token)
	}
	for range runs.MostRuns / 4 {
		parse[run.Status](t, 202, w.ask("POST", "/v1/runs", waits, keys[0]))
	}
	requireProblem(t, 429, "this credential holds too many runs: at most 50 of 200", w.ask("POST", "/v1/runs", waits, keys[0]))
	for range runs.MostRuns / 4 {
		first = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", waits, keys[1])).ID
	}
	requireProblem(t, 429, "this address holds too many runs: at most 100 of 200", w.ask("POST", "/v1/runs", waits, keys[2]))
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+first+"/cancel", ""))
	require.Eventually(t, func() bool { return w.ask("POST", "/v1/runs", waits).status == 202 }, 2*time.Minute, time.Millisecond)
}

// The gateway says which of its tools a person is asked about, whatever somebody writes into the catalog.
func TestRunsThroughAGateway(t *testing.T) {
	s, _ := newOfficeWithDesk(t, "")
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	defer s.Close()
	w := web{Server: s, t: t, url: ts.URL}
	r := parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[{"id":"desk:shred","annotations":{"read_only":true}},{"id":"gone:tool","annotations":{"read_only":true}}]`))
	require.NoError(t, defaultEngine(t, s).Wait(t.Context(), r.Seq))
	const dag = `{"dag":{"tasks":[{"id":"a","tool":"desk:stamp","arguments":{"letter":"x"}},{"id":"b","tool":"desk:shred","arguments":{"letter":{"$from":"a.result.letter"}}}]}}`
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", dag))
	status := w.ended(begun.ID)
	require.Equal(t, run.Paused, status.State, "%+v", status)
	assert.Equal(t, []string{"b"}, status.Waiting)
	assert.JSONEq(t, `{"letter":"x"}`, string(status.Nodes[1].Arguments))
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+begun.ID+"/approve", ""))
	assert.Equal(t, run.Done, w.ended(begun.ID).State)

	plan := parse[runs.Answer](t, 200, w.ask("POST", "/v1/runs", `{"dry_run":true,"dag":{"tasks":[{"id":"a","tool":"gone:tool"}]}}`))
	assert.Contains(t, plan.Plan.Nodes[0].Approval, "not connected")
	require.NoError(t, s.cfg.Upstream.Gateway.Grant(t.Context(), "desk:*"))
	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", dag))
	assert.Equal(t, run.Done, w.ended(begun.ID).State)
	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"desk:sign"}]}}`))
	assert.Contains(t, w.ended(begun.ID).Error, "asks for input")

	// Another workspace has no servers.
	requireProblem(t, 503, "no servers are configured", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"t:t"}]}}`, func() []string {
		put := parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[{"id":"t:t"}]`, "Authorization: Bearer local-token", "Waymark-Workspace: other"))
		other, err := s.cfg.Workspaces.Get(t.Context(), "other")
		require.NoError(t, err)
		require.NoError(t, other.Wait(t.Context(), put.Seq))
		return []string{"Authorization: Bearer local-token", "Waymark-Workspace: other"}
	}()...))
}

// A run that is resumed waits for servers that are only just starting.
func TestResumeWaitsForServers(t *testing.T) {
	s, d := newOfficeWithDesk(t, "")
	a := request.Access{Workspace: request.DefaultWorkspace, Scopes: request.AllScopes, Source: "test"}
	q, err := jsonio.Decode[runs.Request]([]byte(`{"dag":{"tasks":[{"id":"a","tool":"desk:stamp","arguments":{"letter":"x"}},{"id":"b","tool":"desk:shred","arguments":{"letter":{"$from":"a.result.letter"}}},{"id":"c","tool":"desk:stamp","arguments":{"letter":{"$from":"b.result.letter"}}}]}}`))
	require.NoError(t, err)
	dag, err := q.ToRun()
	require.NoError(t, err)
	begun, err := s.runs.Begin(t.Context(), a, "", dag, false)
	require.NoError(t, err)
	one, ok := s.runs.Find(request.DefaultWorkspace, begun.ID)
	require.True(t, ok)
	require.Eventually(t, func() bool { return one.Status().State == run.Paused }, 2*time.Minute, time.Millisecond)
	s.Close()

	table := s.cfg.Store.Table(request.DefaultWorkspace)
	g, err := gateway.Open(t.Context(), gateway.Options{Table: table, Catalog: engineCatalog{s.cfg.Workspaces}})
	require.NoError(t, err)
	defer g.Close(context.Background())
	cfg := s.cfg
	cfg.Upstream.Gateway, cfg.Caller = g, g
	again, err := New(cfg)
	require.NoError(t, err)
	defer again.Close()
	var resumed sync.WaitGroup
	resumed.Go(func() { again.runs.Resume(t.Context()) })
	require.Never(t, func() bool { return again.runs.GoesOn(request.DefaultWorkspace, begun.ID) }, 250*time.Millisecond, 50*time.Millisecond)
	require.NoError(t, g.Connect([]gateway.Definition{{ID: "desk", URL: d.url}}))
	resumed.Wait()
	one, ok = again.runs.Find(request.DefaultWorkspace, begun.ID)
	require.True(t, ok)
	require.Eventually(t, func() bool { return one.Status().State == run.Paused }, 2*time.Minute, time.Millisecond)
	assert.Equal(t, []string{"b"}, one.Status().Waiting, "what a server calls harmless is not asked about")
	require.NoError(t, one.Decide(nil, true))
	<-one.Over()
	assert.Equal(t, run.Done, one.Status().State)
}

// What a question for a DAG answers can be run as it stands, over HTTP and MCP.
func TestASuggestedDAGRunsAsItIs(t *testing.T) {
	w, d := newBench(t)
	for i := range 5 {
		parse[any](t, 200, w.ask("POST", "/v1/episodes", `{"id":"`+string(rune('a'+i))+`","intent":"find and show an issue by a query","steps":[{"tool":"issue:find"},{"tool":"issue:show"}],"outcome":"success"}`))
	}
	w.rebuilt()
	parse[any](t, 204, reply{w.ask("DELETE", "/v1/capabilities/show-first", "").status, nil, "{}"})
	w.rebuilt()
	r := w.ask("POST", "/v1/dag", `{"intent":"find and show an issue by a query"}`)
	require.Contains(t, r.body, `{"$from":"t1.issue_number"}`)
	require.Contains(t, r.body, `{"$from":"intent"}`)
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", r.body))
	s := w.ended(begun.ID)
	assert.Equal(t, run.Done, s.State, "%+v", s)
	assert.Equal(t, []string{"issue:find", "issue:show"}, d.tools())

	client := overMemory(t, w.Server, nil)
	answer := call(t, client, "suggest_dag", map[string]any{"intent": "find and show an issue by a query"})
	ran := answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", answer.StructuredContent))
	assert.Equal(t, run.Done, ran.State, ran.Message)
	assert.Equal(t, 4, len(d.tools()))
}

func TestRunOverMCP(t *testing.T) {
	w, _ := newBench(t)
	var mu sync.Mutex
	var heard []float64
	client := overMemory(t, w.Server, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, r.Params.Progress)
	}})
	params := &mcp.CallToolParams{Name: "run_dag", Arguments: map[string]any{"dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": "show-first", "arguments": map[string]any{"words": "x"}}}}}}
	params.SetProgressToken("p")
	r, err := client.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, run.Done, answerOf[mcpserver.RunAnswer](t, r).State)
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(heard) > 0 }, 2*time.Minute, time.Millisecond)

	waits := answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", map[string]any{"dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": "issue:close", "arguments": map[string]any{"issue_number": 1}}}}}))
	require.Equal(t, run.Paused, waits.State)
	assert.Contains(t, waits.Message, "waymark runs approve "+waits.ID)
	refused := call(t, client, "run_dag", map[string]any{"dag": map[string]any{"tasks": []any{}}, "approve": []string{"*"}})
	assert.True(t, refused.IsError, "a model does not say yes for a person")
	parse[any](t, 202, w.ask("POST", "/v1/runs/"+waits.ID+"/approve", ""))
	assert.Equal(t, run.Done, answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", map[string]any{"run": waits.ID})).State)
	assert.True(t, call(t, client, "run_dag", map[string]any{"run": "none"}).IsError)
	wrong := call(t, client, "run_dag", map[string]any{"dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": "no:such"}}}})
	assert.True(t, wrong.IsError)
	assert.Contains(t, textOf(t, wrong), `tool "no:such" is unknown`)
	dry := answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", map[string]any{"dry_run": true, "dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": "issue:close", "arguments": map[string]any{"issue_number": 1}}}}}))
	assert.Contains(t, dry.Message, "Nothing was run")
}

// A host that can show a form asks the person there; the model has no part in it.
func TestAPersonAtTheHostApproves(t *testing.T) {
	close7 := map[string]any{"dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": "issue:close", "arguments": map[string]any{"issue_number": 7}}}}}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			var log lockedLog
			w, d := newBench(t, log.logTo)
			reply := make(chan *mcp.ElicitResult, 1)
			asked := 0
			client := way.open(t, w.Server, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				assert.Contains(t, r.Params.Message, `a: issue:close {"issue_number":7} (it may destroy something)`)
				return <-reply, nil
			}})
			for i, tt := range []struct {
				said  *mcp.ElicitResult
				state run.State
				calls int
			}{
				{&mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}, run.Done, 1},
				{&mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": false}}, run.Failed, 1},
				{&mcp.ElicitResult{Action: "decline"}, run.Failed, 1},
				{&mcp.ElicitResult{Action: "cancel"}, run.Paused, 1},
			} {
				reply <- tt.said
				answer := answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", close7))
				assert.Equal(t, tt.state, answer.State, "%+v", tt.said)
				assert.Len(t, d.tools(), tt.calls)
				assert.Equal(t, i+1, asked)
				if tt.state == run.Paused { // asked for again, it asks again
					reply <- &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}
					assert.Equal(t, run.Done, answerOf[mcpserver.RunAnswer](t, call(t, client, "run_dag", map[string]any{"run": answer.ID})).State)
				}
			}
			page := parse[struct{ Runs []state.RunHead }](t, 200, w.ask("GET", "/v1/runs", ""))
			assert.Len(t, page.Runs, 4, "an answer begins no run")
			call(t, client, "rebuild", map[string]any{"verify": true})
			parse[any](t, 409, w.ask("POST", "/v1/runs/"+page.Runs[0].ID+"/approve", ""))
			var acts []string
			for line := range strings.Lines(log.String()) {
				if _, act, is := strings.Cut(line, `msg="administrative act" act=`); is {
					name, rest, _ := strings.Cut(act, " status=")
					acts = append(acts, name+" "+rest[:3])
					if acts[len(acts)-1] == "approve-run 200" {
						assert.Contains(t, act, `\"nodes\":[\"a\"]`)
					}
				}
			}
			slices.Sort(acts)
			assert.Equal(t, []string{"approve-run 200", "approve-run 200", "approve-run 200", "approve-run 200", "approve-run 409", "rebuild 200"}, acts)
		})
	}
}

// What comes back decides about what was shown, for who may approve, and is not to be made up.
func TestApprovalsAreSigned(t *testing.T) {
	w, d := newBench(t)
	client := overMemory(t, w.Server, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }})
	tasks := []any{}
	for _, id := range []string{"a", "b"} {
		tasks = append(tasks, map[string]any{"id": id, "tool": "issue:close", "arguments": map[string]any{"issue_number": 1}})
	}
	params := &mcp.CallToolParams{Name: "run_dag", Arguments: map[string]any{"dag": map[string]any{"tasks": tasks}}}
	first, err := client.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.True(t, first.NeedsInput())
	yes := mcp.InputResponseMap{"approval": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}}
	other := "A" // than the first character
	if first.RequestState[0] == 'A' {
		other = "B"
	}
	for _, state := range []string{"x", first.RequestState + "AA", other + first.RequestState[1:]} {
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_dag", Arguments: params.Arguments, InputResponses: yes, RequestState: state})
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Contains(t, textOf(t, r), "requestState")
	}
	assert.Empty(t, d.tools())
	for range 2 { // twice is once
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_dag", Arguments: params.Arguments, InputResponses: yes, RequestState: first.RequestState})
		require.NoError(t, err)
		if !r.IsError {
			assert.Equal(t, run.Done, answerOf[mcpserver.RunAnswer](t, r).State)
		}
		assert.Len(t, d.tools(), 2)
	}

	key := parse[struct{ Key string }](t, 200, w.ask("POST", "/v1/keys", `{"name":"k","scopes":["read","write"]}`)).Key
	writer := connect(t, &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearing{key}}}, "2026-07-28", &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			t.Error("asked, though this credential may not approve")
			return nil, nil
		}})
	assert.Equal(t, run.Paused, answerOf[mcpserver.RunAnswer](t, call(t, writer, "run_dag", params.Arguments)).State)
}

// bearing sends a key along.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// Without servers there is no run_dag, and runs can call scorers and scripts alone.
func TestRunsWithoutServers(t *testing.T) {
	w, _ := newBench(t, func(c *Config) { c.Caller = nil })
	for tool, err := range overMemory(t, w.Server, nil).Tools(t.Context(), nil) {
		require.NoError(t, err)
		assert.NotEqual(t, "run_dag", tool.Name)
	}
	requireProblem(t, 503, "no servers are configured", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"issue:find","arguments":{"query":"x"}}]}}`))
	parse[any](t, 200, w.ask("PUT", "/v1/capabilities", `[{"id":"sum","tools":[],"script":{"language":"expr","source":"params.a + params.b"}}]`))
	w.current()
	begun := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"dag":{"params":{"h":`+strings.TrimSuffix(strings.TrimPrefix(scored1, `{"hypotheses":`), "}")+`},"tasks":[
	 {"id":"s","tool":"`+score.HypothesisID+`","arguments":{"hypotheses":{"$from":"params.h"}}},
	 {"id":"n","tool":"sum","arguments":{"a":{"$expr":"len(tasks.s.result.results)"},"b":41}}]}}`))
	s := w.ended(begun.ID)
	require.Equal(t, run.Done, s.State, "%+v", s)
	assert.JSONEq(t, "42", string(s.Output))
	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"`+score.HypothesisID+`","params":`+scored1+`}`))
	assert.Equal(t, run.Done, w.ended(begun.ID).State)
	begun = parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"`+score.HypothesisID+`","params":{"hypotheses":[{}]}}`))
	s = w.ended(begun.ID)
	assert.Equal(t, run.FailedArgument, s.Nodes[0].ErrorKind, "%+v", s)
}

// Runs of a capability are its track record.
func TestRunsOfACapabilityCount(t *testing.T) {
	w, d := newBench(t)
	runIt := func() run.Status {
		return w.ended(parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`)).ID)
	}
	assert.Equal(t, run.Done, runIt().State)
	d.answers["issue:show"] = func(context.Context, run.Call) (run.Result, error) {
		return run.Result{Failure: run.FailedTool, Message: "gone"}, nil
	}
	assert.Equal(t, run.Failed, runIt().State)
	assert.Equal(t, run.Failed, runIt().State)

	var counts struct {
		Evidence struct{ Successes, Failures int }
	}
	require.Eventually(t, func() bool {
		w.current()
		counts = parse[struct {
			Evidence struct{ Successes, Failures int }
		}](t, 200, w.ask("POST", "/v1/explain", `{"id":"show-first","intent":"find and show an issue"}`))
		return counts.Evidence.Successes+counts.Evidence.Failures == 3
	}, 2*time.Minute, 10*time.Millisecond, "runs are episodes of the capability")
	assert.Equal(t, 1, counts.Evidence.Successes)

	tagged := func(query string) int {
		return len(parse[capabilityPage](t, 200, w.ask("GET", "/v1/capabilities"+query, "")).Capabilities)
	}
	assert.Equal(t, 1, tagged("?tag=issues&tag=daily"))
	assert.Zero(t, tagged("?tag=issues&tag=weekly"))
}

// What a server leaves, the next one goes on with; without servers it stays.
func TestRunsAreResumed(t *testing.T) {
	w, d := newBench(t, func(c *Config) { c.Drain = 20 * time.Millisecond })
	begun := make(chan struct{})
	d.answers["issue:show"] = func(ctx context.Context, _ run.Call) (run.Result, error) {
		close(begun)
		<-ctx.Done()
		return run.Result{}, ctx.Err()
	}
	s := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`))
	<-begun
	w.Close()
	requireProblem(t, 503, "writes", w.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`))
	left := parse[run.Status](t, 200, w.ask("GET", "/v1/runs/"+s.ID, ""))
	assert.Equal(t, run.Paused, left.State)
	requireProblem(t, 503, "goes on when a server starts", w.ask("POST", "/v1/runs/"+s.ID+"/approve", ""))

	cfg := w.cfg
	cfg.Caller = nil
	bare, err := New(cfg)
	require.NoError(t, err)
	bare.runs.Resume(t.Context())
	assert.False(t, bare.runs.GoesOn("default", s.ID))
	bare.Close()

	next := &bench{}
	cfg.Caller = next
	again, err := New(cfg)
	require.NoError(t, err)
	defer again.Close()
	again.runs.Resume(t.Context())
	resumed, ok := again.runs.Find("default", s.ID)
	require.True(t, ok)
	require.Eventually(t, func() bool { return resumed.Status().State == run.Paused }, 2*time.Minute, time.Millisecond)
	assert.Empty(t, next.tools())
	assert.Equal(t, run.NodeInterrupted, resumed.Status().Nodes[1].State)
	require.NoError(t, resumed.Decide(nil, true))
	<-resumed.Over()
	status, err := again.runs.Status(t.Context(), "default", s.ID)
	require.NoError(t, err)
	assert.Equal(t, run.Done, status.State, "%+v", status)
	assert.Equal(t, []string{"issue:show"}, next.tools(), "what ended is not done again")
}

// A value larger than a row is kept in pieces.
func TestRunJournal(t *testing.T) {
	store := memory(t)
	table := store.Table("default")
	j := state.Runs{Table: table, Source: "me"}
	ctx := t.Context()
	require.NoError(t, j.Start(ctx, run.Record{ID: "r", By: "me", StartedAt: time.Unix(1, 0)}))
	big := json.RawMessage(`"` + strings.Repeat("é", 400<<10) + `"`)
	long := strings.Repeat("deep/", 300) + "end"
	require.NoError(t, j.Began(ctx, "r", run.Node{ID: long, State: run.NodeRunning, Arguments: big}))
	require.NoError(t, j.Began(ctx, "r", run.Node{ID: "b", State: run.NodeRunning}))
	require.NoError(t, j.Ended(ctx, "r", run.Node{ID: long, State: run.NodeDone, Result: big}))
	p, err := j.Past(ctx, "r")
	require.NoError(t, err)
	require.Len(t, p.Nodes, 2)
	assert.Equal(t, string(big), string(p.Nodes[long].Result))
	assert.Equal(t, run.NodeRunning, p.Nodes["b"].State)
	require.NoError(t, j.End(ctx, run.Status{ID: "r", State: run.Done}))
	heads, err := j.Heads(ctx)
	require.NoError(t, err)
	require.Len(t, heads, 1)
	assert.Equal(t, "me", heads[0].Source)
	require.NoError(t, j.ForgetSelected(ctx, "", "r", time.Time{}))
	for row, err := range table.List(ctx, "runs") {
		require.NoError(t, err)
		t.Errorf("%s is left", row.Key)
	}
}

// A request for a run has the fields of an answer, with their types; a DAG that is run may have more.
func TestRunRequestHasTheFieldsOfAnAnswer(t *testing.T) {
	replaced := map[reflect.Type]reflect.Type{
		reflect.TypeFor[suggest.DAG]():                 reflect.TypeFor[*runs.DAG](),
		reflect.TypeFor[[]suggest.Task]():              reflect.TypeFor[[]runs.Task](),
		reflect.TypeFor[map[string]suggest.Argument](): reflect.TypeFor[map[string]json.RawMessage](),
	}
	for _, tt := range []struct{ answered, taken any }{
		{mcpserver.DAGAnswer{}, runs.Request{}}, {suggest.DAG{}, runs.DAG{}}, {suggest.Task{}, runs.Task{}},
	} {
		taken := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(tt.taken)) {
			taken[jsonio.Name(f)] = f.Type
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(tt.answered)) {
			if f.Anonymous {
				continue
			}
			want := f.Type
			if r, there := replaced[want]; there {
				want = r
			}
			assert.Equal(t, want, taken[jsonio.Name(f)], "%T.%s", tt.answered, f.Name)
		}
	}
}

// Any other field is refused by name, at every level, over HTTP and MCP alike; the value of a known one has its type.
func TestRunRequestRefusesOtherFields(t *testing.T) {
	w, _ := newBench(t)
	client := overMemory(t, w.Server, nil)
	const tasks = `"tasks":[{"id":"a","tool":"issue:find","arguments":{"query":"x"}}]`
	for _, tt := range []struct{ body, wrong, detail string }{
		{`{"dag":{` + tasks + `},"bogus":1}`, "bogus", ""},
		{`{"dag":{` + tasks + `,"bogus":1}}`, "bogus", ""},
		{`{"dag":{"tasks":[{"id":"a","tool":"issue:find","bogus":1}]}}`, "bogus", ""},
		{`{"dag":{"tasks":[{"id":"a","tool":"issue:find","terms":[{"name":"x","bogus":1}]}]}}`, "bogus", ""},
		{`{"dag":{"tasks":[{"id":"a","tool":"issue:find","wired":[{"bogus":1}]}]}}`, "bogus", ""},
		{`{"dag":{` + tasks + `},"paths":[{"from":"a","bogus":1}]}`, "bogus", ""},
		{`{"dag":{` + tasks + `},"alternatives":[{"bogus":1}]}`, "bogus", ""},
		{`{"dag":{` + tasks + `},"model":{"bogus":1}}`, "bogus", ""},
		{`{"dag":{` + tasks + `},"Confidence":1}`, "Confidence", ""},
		{`{"dag":{` + tasks + `},"confidence":"high"}`, "confidence", "a JSON string does not fit here"},
		{`{"dag":{` + tasks + `},"warnings":"none"}`, "warnings", "a JSON string does not fit here"},
		{`{"dag":{` + tasks + `},"model":{"built_at":"noon"}}`, "built_at", "not a time of RFC 3339"},
	} {
		t.Run(tt.body, func(t *testing.T) {
			r := w.ask("POST", "/v1/runs", tt.body)
			require.Equal(t, 422, r.status, r.body)
			assert.Contains(t, r.body, tt.wrong)
			over := call(t, client, "run_dag", json.RawMessage(tt.body))
			require.True(t, over.IsError)
			assert.Contains(t, textOf(t, over), tt.wrong)
			if tt.detail == "" {
				assert.Contains(t, r.body, "unknown field")
				assert.Contains(t, textOf(t, over), "there is no such argument")
				return
			}
			assert.Contains(t, r.body, tt.detail)
			assert.Contains(t, textOf(t, over), tt.detail)
		})
	}
	parse[any](t, 200, w.ask("POST", "/v1/runs", `{"dag":{`+tasks+`},"dry_run":true}`))
}
