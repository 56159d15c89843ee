package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/run"
	"waymark/storage"
)

// notedTools is a catalog in memory, with the rows of a table.
type notedTools struct {
	table storage.Table
	mu    sync.Mutex
	tools map[string]catalog.Tool
}

func (n *notedTools) PutTools(ctx context.Context, tools []catalog.Tool, rows map[string]storage.Change) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range tools {
		n.tools[t.ID] = t
	}
	return n.table.Apply(ctx, slices.Collect(maps.Values(rows))...)
}

func (n *notedTools) RemoveTools(_ context.Context, ids []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		delete(n.tools, id)
	}
	return nil
}

func (n *notedTools) ids() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.tools))
}

// quick are limits that tests can wait for.
func quick(t *testing.T) Options {
	table := memory(t).Table("test")
	return Options{Table: table, Catalog: &notedTools{table: table, tools: map[string]catalog.Tool{}}, CallTimeout: 20 * time.Second, StartTimeout: 20 * time.Second,
		ListTimeout: 20 * time.Second, Poll: time.Hour, Settle: 20 * time.Millisecond,
		FirstWait: 20 * time.Millisecond, LongestWait: 200 * time.Millisecond, Limits: ServerLimits{BreakFor: 100 * time.Millisecond, MaxAnswer: 1 << 20}}
}

// definition of a server of ours that plays a role, under an id of the same name.
func definition(role string) Definition {
	return Definition{ID: role, Command: os.Args[0], Env: map[string]string{roleVariable: role}, Dir: os.TempDir()}
}

func open(t *testing.T, o Options) *Gateway {
	g, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		assert.NoError(t, g.Close(ctx))
	})
	return g
}

// connected starts servers, and waits until they are ready.
func connected(t *testing.T, o Options, roles ...string) *Gateway {
	g := open(t, o)
	var defs []Definition
	for _, role := range roles {
		defs = append(defs, definition(role))
	}
	connect(t, g, defs...)
	for _, role := range roles {
		ready(t, g, role)
	}
	return g
}

func connect(t *testing.T, g *Gateway, defs ...Definition) {
	for i := range defs {
		require.NoError(t, g.Agree(t.Context(), defs[i].ID, defs[i].Digest()))
	}
	require.NoError(t, g.Connect(defs))
}

func ready(t *testing.T, g *Gateway, id string) {
	require.Eventually(t, func() bool { return server(g, id).State == Ready }, 2*time.Minute, time.Millisecond, "%s is not ready", id)
}

func server(g *Gateway, id string) Server {
	for _, s := range g.Servers() {
		if s.ID == id {
			return s
		}
	}
	return Server{}
}

func call(t *testing.T, g *Gateway, tool, arguments string) run.Result {
	r, err := g.Call(t.Context(), run.Call{Tool: tool, Arguments: json.RawMessage(arguments)})
	require.NoError(t, err)
	return r
}

func TestCall(t *testing.T) {
	g := connected(t, quick(t), "good")
	r := call(t, g, "good:echo", `{"text":"hello"}`)
	assert.Empty(t, r.Failure)
	assert.Empty(t, r.Unvalidated)
	assert.JSONEq(t, `{"text":"hello"}`, string(r.Structured))
	assert.JSONEq(t, `[{"type":"text","text":"{\"text\":\"hello\"}"}]`, string(r.Content))

	for _, tt := range []struct {
		tool, arguments string
		failure         run.Failure
		message         string
	}{
		{"good:fail", `{"text":"disk on fire"}`, run.FailedTool, "disk on fire"},
		{"good:fail", `{"text":"HTTP 401 from the API"}`, run.FailedAuth, "401"},
		{"good:echo", `{"txt":"hello"}`, run.FailedArgument, "text"},
		{"good:echo", `[]`, run.FailedArgument, "not a JSON object"},
		{"good:echo", `{"text":`, run.FailedArgument, "not a JSON object"},
		{"good:none", `{}`, run.FailedUnknown, `has no tool "none"`},
		{"other:echo", `{}`, run.FailedUnknown, "no connected server offers other:echo"},
		{"good:delete", `{}`, run.FailedPolicy, "waymark gateway grant good:delete"},
		{"good:spawn", `{}`, run.FailedPolicy, "it is not annotated as harmless"},
	} {
		r := call(t, g, tt.tool, tt.arguments)
		assert.Equal(t, tt.failure, r.Failure, "%s %s: %s", tt.tool, tt.arguments, r.Message)
		assert.Contains(t, r.Message, tt.message)
	}

	r, err := g.Call(t.Context(), run.Call{Tool: "good:delete", Approved: true})
	require.NoError(t, err)
	assert.Empty(t, r.Failure, r.Message)
	require.NoError(t, g.Grant(t.Context(), "good:d*"))
	assert.False(t, g.NeedsGrant("good:delete"))
	assert.Empty(t, call(t, g, "good:delete", ``).Failure)
	was, err := g.Revoke(t.Context(), "good:d*")
	require.NoError(t, err)
	assert.True(t, was)
	assert.True(t, g.NeedsGrant("good:delete"))
	assert.Equal(t, run.FailedPolicy, call(t, g, "good:delete", `null`).Failure)
}

// Who asks right after a server was agreed to waits until it was asked for its tools, and never for one that runs.
func TestStarted(t *testing.T) {
	g := open(t, quick(t))
	connect(t, g, definition("good"))
	began := time.Now()
	assert.True(t, g.Started(t.Context()))
	if time.Since(began) < firstLook { // else it was longer, on a machine with much else to do
		assert.NotEmpty(t, g.Tools())
	}
	ready(t, g, "good")
	assert.False(t, g.Started(t.Context()))
}

func TestCallIsCancelled(t *testing.T) {
	g := connected(t, quick(t), "good")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := g.Call(ctx, run.Call{Tool: "good:wait", Arguments: json.RawMessage(`{"ms":5000}`)})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Empty(t, call(t, g, "good:echo", `{"text":"still there"}`).Failure)
}

// A server may ask the host for something first; the question and the answer pass through.
func TestServerAsksBack(t *testing.T) {
	g := connected(t, quick(t), "good")
	meta := map[string]any{mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}, "traceparent": "00-1-2-01"}
	r, err := g.Call(t.Context(), run.Call{Tool: "good:ask", Meta: meta})
	require.NoError(t, err)
	require.NotEmpty(t, r.NeedsInput, "%+v", r)
	assert.Equal(t, "kept", r.State)
	assert.Contains(t, string(r.NeedsInput), `"who?"`)

	meta = map[string]any{MetaInputResponses: mcp.InputResponseMap{"name": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}}, MetaRequestState: r.State}
	r, err = g.Call(t.Context(), run.Call{Tool: "good:ask", Meta: meta})
	require.NoError(t, err)
	assert.Contains(t, string(r.Content), "Ada kept")
}

func TestNothingStartsWithoutConsent(t *testing.T) {
	o := quick(t)
	g := open(t, o)
	d := definition("good")
	require.NoError(t, g.Connect([]Definition{d}))
	assert.Equal(t, Server{ID: "good", Transport: "stdio", State: Stopped, Breaker: "closed", ByTool: []ToolCalls{}}, server(g, "good"))
	assert.Contains(t, call(t, g, "good:echo", `{}`).Message, "the start of server good")

	require.NoError(t, g.Agree(t.Context(), "good", d.Digest()))
	ready(t, g, "good")
	changed := d
	changed.Args = []string{"-test.v"}
	require.NoError(t, g.Connect([]Definition{changed}))
	assert.Equal(t, Stopped, server(g, "good").State, "another command line is another agreement")

	again := open(t, o)
	require.NoError(t, again.Connect([]Definition{d}))
	assert.Equal(t, Idle, server(again, "good").State, "its tools are known")
	assert.Empty(t, call(t, again, "good:echo", `{"text":"x"}`).Failure)
	require.NoError(t, again.Forget(t.Context(), t.TempDir(), "default", "good"))
	assert.Empty(t, o.Catalog.(*notedTools).ids())
	require.NoError(t, again.Connect([]Definition{d}))
	assert.Equal(t, Stopped, server(again, "good").State)
}

func TestEnvironmentOfChildren(t *testing.T) {
	t.Setenv("WAYMARK_SECRET", "ours")
	t.Setenv("NODE_OPTIONS", "--require=evil.js")
	t.Setenv("PASSED", "along")
	t.Setenv("TOKEN", "t0ken")
	g := open(t, quick(t))
	d := definition("good")
	d.Inherit = []string{"PASSED"}
	d.Env["API_KEY"], d.Env["MODE"] = "Bearer ${env:TOKEN}", "${NOT_SET:-default}"
	connect(t, g, d)
	ready(t, g, "good")
	var seen echoed
	require.NoError(t, json.Unmarshal(call(t, g, "good:environment", `{}`).Structured, &seen))
	env := strings.Split(seen.Text, "\n")
	assert.Contains(t, env, "API_KEY=Bearer t0ken")
	assert.Contains(t, env, "MODE=default")
	assert.Contains(t, env, "PASSED=along")
	assert.NotContains(t, seen.Text, "WAYMARK_SECRET")
	assert.NotContains(t, seen.Text, "NODE_OPTIONS")
}

// Each fault of a server is told as what it is, and the server is there again for the next call where that
// is possible.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		role    string
		failure run.Failure
		message string
		starts  int64 // at least
	}{
		{"hang", run.FailedTimeout, "no answer within 300ms", 1},
		{"drip", run.FailedTimeout, "no answer within 300ms", 1},
		{"exit", run.FailedUnavailable, "it ended: exit status 3; it last said: out of memory", 2},
		{"null", run.FailedTool, "answered null", 1},
		{"empty", run.FailedTool, "without content", 1},
		{"huge", run.FailedTool, "longer than 1048576 bytes", 1},
		{"hugelast", run.FailedTool, "longer than 1048576 bytes", 1},
		{"refuses", run.FailedArgument, "n must be positive", 1},
		{"noise", "", "", 1},
		{"storm", "", "", 1},
		{"pings", "", "", 1},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			o := quick(t)
			if tt.failure == run.FailedTimeout {
				o.CallTimeout = 300 * time.Millisecond
			}
			g := connected(t, o, tt.role)
			r := call(t, g, tt.role+":go", `{}`)
			assert.Equal(t, tt.failure, r.Failure, r.Message)
			assert.Contains(t, r.Message, tt.message)
			require.Eventually(t, func() bool {
				s := server(g, tt.role)
				return s.State == Ready && s.Starts >= tt.starts
			}, 2*time.Minute, 5*time.Millisecond)
			assert.EqualValues(t, 1, server(g, tt.role).Calls)
			if tt.failure == "" {
				assert.Empty(t, call(t, g, tt.role+":go", `{}`).Failure)
			}
		})
	}
	t.Run("wrongschema", func(t *testing.T) {
		t.Parallel()
		r := call(t, connected(t, quick(t), "wrongschema"), "wrongschema:go", `{}`)
		assert.Empty(t, r.Failure)
		assert.Empty(t, r.Structured)
		assert.JSONEq(t, `[{"type":"text","text":"{\"n\":\"seven\"}"}]`, string(r.Content))
		assert.Contains(t, r.Unvalidated, "n: got string, want integer")
		assert.True(t, r.Misfit)
		strict := quick(t)
		strict.StrictResults = true
		r = call(t, connected(t, strict, "wrongschema"), "wrongschema:go", `{}`)
		assert.Equal(t, run.FailedTool, r.Failure)
		assert.Contains(t, r.Message, "n: got string, want integer")
		assert.Empty(t, r.Content)
	})
	t.Run("digits", func(t *testing.T) {
		t.Parallel()
		r := call(t, connected(t, quick(t), "digits"), "digits:go", `{}`)
		assert.Equal(t, `{"id":9007199254740993,"z":1.50}`, string(r.Structured))
		assert.Equal(t, `[{"type":"text","text":"x","more":1}]`, string(r.Content))
	})
	t.Run("a tool listed twice", func(t *testing.T) {
		t.Parallel()
		g := connected(t, quick(t), "twice")
		call(t, g, "twice:go", `{}`)
		require.Len(t, g.Withheld(), 1)
		assert.Equal(t, "go is listed twice; the first counts", g.Withheld()[0].Detail)
	})
}

func TestServersThatDoNotStart(t *testing.T) {
	o := quick(t)
	for _, tt := range []struct{ role, problem string }{
		{"dies", "it ended: exit status 7; it last said: cannot find my database"},
		{"dumb", "deadline exceeded"},
		{"endless", "the list does not end: more than 64 pages"},
		{"circle", "the list does not end: a page leads to itself"},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			o := o
			if tt.role == "dumb" {
				o.StartTimeout = 600 * time.Millisecond
			}
			o.Table = memory(t).Table("test")
			g := open(t, o)
			connect(t, g, definition(tt.role))
			require.Eventually(t, func() bool { return strings.Contains(server(g, tt.role).Problem, tt.problem) }, 2*time.Minute, 5*time.Millisecond, "%+v", server(g, tt.role))
			require.Eventually(t, func() bool { return server(g, tt.role).Starts > 1 }, 2*time.Minute, 5*time.Millisecond)
		})
	}
	t.Run("no such program", func(t *testing.T) {
		g := open(t, o)
		d := definition("good")
		d.Command = "/nowhere/at/all"
		connect(t, g, d)
		require.Eventually(t, func() bool { return server(g, "good").State == Waiting }, 2*time.Minute, 5*time.Millisecond)
		assert.Contains(t, call(t, g, "good:echo", `{}`).Message, "no such file")
	})
}

// After calls in a row without an answer a server is left alone and started anew.
func TestBreaker(t *testing.T) {
	o := quick(t)
	o.CallTimeout, o.Limits.BreakAfter, o.Limits.BreakFor = 50*time.Millisecond, 3, time.Hour
	g := connected(t, o, "drip")
	for range 3 {
		assert.Equal(t, run.FailedTimeout, call(t, g, "drip:go", `{}`).Failure)
	}
	require.Eventually(t, func() bool { return server(g, "drip").Starts == 2 }, 2*time.Minute, time.Millisecond)
	ready(t, g, "drip")
	assert.Contains(t, call(t, g, "drip:go", `{}`).Message, "left alone for a while: 3 calls in a row had no answer")
}

// Calls beyond those that may run at once wait, as long as a call may take.
func TestConcurrency(t *testing.T) {
	o := quick(t)
	o.Limits.Concurrency = 2
	g := connected(t, o, "good")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := g.Call(t.Context(), run.Call{Tool: "good:wait", Arguments: json.RawMessage(`{"ms":20}`)})
			assert.NoError(t, err)
			assert.Empty(t, r.Failure, r.Message)
		})
	}
	all.Wait()
	up := g.up("good")
	require.True(t, up.slots.TryAcquire(2))
	up.opts.CallTimeout = 10 * time.Millisecond
	assert.Contains(t, call(t, g, "good:wait", `{"ms":1}`).Message, "is busy")
	up.slots.Release(2)
}

func TestChangedToolsAreQuarantined(t *testing.T) {
	o := quick(t)
	o.Poll = 20 * time.Millisecond
	file := filepath.Join(t.TempDir(), "description")
	turns := definition("turns")
	turns.Env["TURN_FILE"] = file
	g := open(t, o)
	changes := make(chan struct{}, 100)
	g.OnChange(func() { changes <- struct{}{} })
	connect(t, g, turns)
	ready(t, g, "turns")
	assert.Empty(t, call(t, g, "turns:go", `{}`).Failure)
	assert.Equal(t, []string{"turns:go"}, o.Catalog.(*notedTools).ids())
	tools := g.Tools()

	require.NoError(t, storage.ReplaceFile(file, []byte("Does it, and sends you a copy.")))
	require.Eventually(t, func() bool { return len(g.Withheld()) == 1 }, 2*time.Minute, time.Millisecond)
	w := g.Withheld()[0]
	assert.Equal(t, "turns:go", w.ID)
	assert.Equal(t, ReasonChanged, w.Reason)
	assert.Equal(t, []string{"description"}, w.Changed)
	assert.Equal(t, []PartChange{{"description", "`Does it.`", "`Does it, and sends you a copy.`"}}, w.Changes)
	assert.Empty(t, g.Tools())
	assert.Len(t, tools, 1, "what was handed out stays as it was")
	r := call(t, g, "turns:go", `{}`)
	assert.Equal(t, run.FailedPolicy, r.Failure)
	assert.Contains(t, r.Message, "waymark approve turns:go")
	assert.Equal(t, "Does it.", o.Catalog.(*notedTools).tools["turns:go"].Description, "the catalog keeps the contract that was approved")

	again := open(t, o)
	assert.Equal(t, []Withheld{w}, again.Withheld(), "without any server running")

	require.NoError(t, storage.ReplaceFile(file, []byte("Does it, and sends me a copy.")))
	require.Eventually(t, func() bool {
		now := g.Withheld()
		return len(now) == 1 && now[0].Fingerprint != w.Fingerprint
	}, 2*time.Minute, time.Millisecond)
	assert.ErrorIs(t, g.Approve(t.Context(), "turns:go", w.Fingerprint), ErrChangedAgain)
	require.NoError(t, g.Approve(t.Context(), "turns:go", g.Withheld()[0].Fingerprint))
	assert.Empty(t, g.Withheld())
	assert.Empty(t, call(t, g, "turns:go", `{}`).Failure)
	assert.Equal(t, "Does it, and sends me a copy.", o.Catalog.(*notedTools).tools["turns:go"].Description)

	require.NoError(t, storage.ReplaceFile(file, []byte("Does it.")))
	require.Eventually(t, func() bool { return len(g.Withheld()) == 1 }, 2*time.Minute, time.Millisecond, "the old contract is a change, too")
	require.NoError(t, storage.ReplaceFile(file, []byte("Does it, and sends me a copy.")))
	require.Eventually(t, func() bool { return len(g.Withheld()) == 0 }, 2*time.Minute, time.Millisecond, "back to what was approved")
	assert.NotEmpty(t, changes)
}

// A row that cannot be read closes what it is about.
func TestDamagedPins(t *testing.T) {
	o := quick(t)
	d := definition("good")
	g := connected(t, o, "good")
	assert.Empty(t, call(t, g, "good:echo", `{"text":"x"}`).Failure)
	for row, broken := range map[string]string{pinRow + "good:echo": `{"id":`, pinRow + "good:fail": `{"id":"good:fail"}`, consentRow + "good": `{`} {
		err := o.Table.Put(t.Context(), row, []byte(broken))
		require.NoError(t, err)
	}
	again := open(t, o)
	assert.Len(t, again.Withheld(), 2)
	require.NoError(t, again.Connect([]Definition{d}))
	assert.Equal(t, Stopped, server(again, "good").State)
	require.NoError(t, again.Agree(t.Context(), "good", d.Digest()))
	ready(t, again, "good")
	for _, id := range []string{"good:echo", "good:fail"} {
		r := call(t, again, id, `{"text":"x"}`)
		assert.Equal(t, run.FailedPolicy, r.Failure)
		assert.Contains(t, r.Message, "cannot be read")
	}
	require.NoError(t, again.Approve(t.Context(), "good:echo", ""))
	require.Eventually(t, func() bool { return again.Withheld()[0].Reason == ReasonNew }, 2*time.Minute, time.Millisecond, "what is there now waits to be looked at")
	require.NoError(t, again.Approve(t.Context(), "good:echo", ""))
	assert.Empty(t, call(t, again, "good:echo", `{"text":"x"}`).Failure)
}

// memory is an empty store, closed at the end of the test.
func memory(t testing.TB) *storage.Store {
	store := storage.NewMemory()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
