package server

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/gateway"
	"waymark/run"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/server/internal/runs"
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
	s := w.ended(begun.ID)
	assert.Equal(t, run.Done, s.State, "%+v", s)
	assert.JSONEq(t, `{"issue_number":7}`, string(s.Output))
	assert.Equal(t, begun.ID, d.calls[0].Session)
	assert.Equal(t, "bugs", d.calls[0].Intent)

	// The same after it has left memory.
	require.Eventually(t, func() bool { return !w.runs.GoesOn("default", begun.ID) }, 2*time.Minute, time.Millisecond)
	assert.Equal(t, s, w.ended(begun.ID))

	// Progress is a stream that ends.
	assert.Contains(t, w.ask("GET", "/v1/runs/"+begun.ID+"/events", "").body, "event: end")

	type list struct {
		Runs       []runs.RunHead
		NextCursor string `json:"next_cursor"`
	}
	parse[run.Status](t, 202, w.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`))
	page := parse[list](t, 200, w.ask("GET", "/v1/runs?limit=1", ""))
	require.Len(t, page.Runs, 1)
	assert.Equal(t, "show-first", page.Runs[0].Capability, "the newest first")
	newest := w.ended(page.Runs[0].ID)
	page = parse[list](t, 200, w.ask("GET", "/v1/runs?state=done&limit=1&cursor="+page.NextCursor, ""))
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
	page := parse[struct{ Runs []runs.RunHead }](t, 200, w.ask("GET", "/v1/runs", ""))
	require.Len(t, page.Runs, 2)
	assert.Equal(t, "mine-1", page.Runs[0].ID, "the newest first")
}

func TestRunsAtOnceAreBounded(t *testing.T) {
	w, _ := newBench(t)
	w.as = bearerOf("local-token")
	const waits = `{"dag":{"tasks":[{"id":"a","tool":"issue:close","arguments":{"issue_number":1}}]}}`
	var first string
	keys := []string{}
	for range 3 {
		_, token, err := w.createKey(t.Context(), "", api.DefaultWorkspace, api.AllScopes, "")
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

// A run that is resumed calls servers that are only just starting, and knows what they call harmless.
func TestResumeWaitsForServers(t *testing.T) {
	s, d := officeWithDesk(t, func(*Config) {})
	a := api.Access{Workspace: api.DefaultWorkspace, Scopes: api.AllScopes, Source: "test"}
	q, err := api.Decode[runs.Request]([]byte(`{"dag":{"tasks":[{"id":"a","tool":"desk:stamp","arguments":{"letter":"x"}},{"id":"b","tool":"desk:shred","arguments":{"letter":{"$from":"a.result.letter"}}},{"id":"c","tool":"desk:stamp","arguments":{"letter":{"$from":"b.result.letter"}}}]}}`))
	require.NoError(t, err)
	dag, err := q.ToRun()
	require.NoError(t, err)
	begun, err := s.runs.Begin(t.Context(), a, "", dag, false)
	require.NoError(t, err)
	awaits(t, s, begun.ID, run.Paused)
	s.Close()

	table := s.cfg.Store.Table(api.DefaultWorkspace)
	g, err := gateway.Open(t.Context(), gateway.Options{Table: table, Catalog: engineCatalog{s.cfg.Workspaces}})
	require.NoError(t, err)
	defer g.Close(context.Background())
	cfg := s.cfg
	cfg.Upstream.Gateway, cfg.Caller = g, g
	again, err := New(cfg)
	require.NoError(t, err)
	defer again.Close()
	d.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			time.Sleep(200 * time.Millisecond)
			return next(ctx, method, req)
		}
	})
	require.NoError(t, g.Connect([]gateway.Definition{{ID: "desk", URL: d.url}}))
	_, err = again.runs.Approve(t.Context(), api.DefaultWorkspace, begun.ID, []string{"b"}, true)
	require.NoError(t, err)
	awaits(t, again, begun.ID, run.Done) // what a server calls harmless is not asked about
}

// awaits waits until a run stands so.
func awaits(t *testing.T, s *Server, id string, state run.State) (status run.Status) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		status, err = s.runs.Status(t.Context(), api.DefaultWorkspace, id)
		return err == nil && status.State == state
	}, 2*time.Minute, time.Millisecond, "%+v", &status)
	return status
}

// Without servers there is no run_dag, and runs can call scorers and scripts alone.
func TestRunsWithoutServers(t *testing.T) {
	w, _ := newBench(t, func(c *Config) { c.Caller = nil })
	for tool, err := range overMemory(t, w.Server, nil).Tools(t.Context(), nil) {
		require.NoError(t, err)
		assert.NotEqual(t, "run_dag", tool.Name)
	}
	requireProblem(t, 503, "no servers are connected", w.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"a","tool":"issue:find","arguments":{"query":"x"}}]}}`))
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
	_, err = again.runs.Approve(t.Context(), "default", s.ID, nil, true)
	require.ErrorIs(t, err, run.ErrNotWaiting, "nobody was shown what waits")
	status := awaits(t, again, s.ID, run.Paused)
	assert.Empty(t, next.tools())
	assert.Equal(t, run.NodeInterrupted, status.Nodes[1].State)
	require.Eventually(t, func() bool { return !again.runs.GoesOn("default", s.ID) }, 2*time.Minute, time.Millisecond, "it waits in its row")
	_, err = again.runs.Approve(t.Context(), "default", s.ID, nil, true)
	require.NoError(t, err)
	awaits(t, again, s.ID, run.Done)
	assert.Equal(t, []string{"issue:show"}, next.tools(), "what ended is not done again")
}

// A run whose tools nobody can call any more can still be cancelled.
func TestARunWithoutItsToolsIsCancelled(t *testing.T) {
	w, _ := newBench(t)
	s := parse[run.Status](t, 202, w.ask("POST", "/v1/runs", closeTwo))
	awaits(t, w.Server, s.ID, run.Paused)
	w.Close()
	cfg := w.cfg
	cfg.Caller = nil
	bare, err := New(cfg)
	require.NoError(t, err)
	defer bare.Close()
	s, err = bare.runs.Cancel(t.Context(), "default", s.ID)
	require.NoError(t, err)
	assert.Equal(t, run.Canceled, s.State)
	assert.Empty(t, s.Waiting)
	_, err = bare.runs.Cancel(t.Context(), "default", s.ID)
	require.ErrorContains(t, err, "has ended")
}
