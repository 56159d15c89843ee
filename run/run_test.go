package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a catalog.
type shelf struct {
	tools map[string]catalog.Tool
	caps  map[string]catalog.Capability
}

func (s shelf) Tool(id string) (catalog.Tool, bool)             { t, ok := s.tools[id]; return t, ok }
func (s shelf) Capability(id string) (catalog.Capability, bool) { c, ok := s.caps[id]; return c, ok }
func (s shelf) Resolve(spelling string) (string, error) {
	return strings.Replace(spelling, "mcp__fs__", "fs:", 1), nil
}

var yesHint, noHint = true, false

func tool(id, in, out string, hints *catalog.Annotations) catalog.Tool {
	return catalog.Tool{ID: id, InputSchema: json.RawMessage(in), OutputSchema: json.RawMessage(out), Annotations: hints}
}

var reads = &catalog.Annotations{ReadOnly: &yesHint}

// office has tools of each kind.
func office() shelf {
	s := shelf{map[string]catalog.Tool{}, map[string]catalog.Capability{}}
	for _, t := range []catalog.Tool{
		tool("issues:search", `{"type":"object","properties":{"query":{"type":"string","minLength":2},"limit":{"type":"integer","maximum":100}},"required":["query"],"additionalProperties":false}`,
			`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}}}},"total":{"type":"number"}},"required":["items"]}`, reads),
		tool("issues:get", `{"type":"object","properties":{"id":{"type":"integer"},"where":{"type":"object","properties":{"repo":{"type":"string"}}}},"required":["id"]}`,
			`{"type":"object","properties":{"body":{"type":"string"}},"additionalProperties":false}`, reads),
		tool("mail:send", `{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to","text"]}`, "", nil),
		tool("disk:wipe", `{"type":"object"}`, "", &catalog.Annotations{Destructive: &yesHint}),
		tool("note:add", `{"type":"object"}`, "", &catalog.Annotations{Destructive: &noHint}),
		tool("fs:echo", "", "", reads),
		tool("fs:nap", "", "", reads),
		tool("fs:odd", `{"type":"object","properties":{"x":{"pattern":"(?!a)"}}}`, "", reads),
	} {
		s.tools[t.ID] = t
	}
	for _, c := range []catalog.Capability{
		{ID: "first-issue", InputSchema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"string"},"limit":{"type":"integer","default":3}},"required":["words"]}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"body":{"type":"string"}}}`),
			Tasks: []catalog.Task{
				task("find", "issues:search", `{"query":{"$from":"params.words"},"limit":{"$from":"params.limit"}}`),
				task("get", "issues:get", `{"id":{"$from":"find.result.items[0].id"}}`),
			}},
		{ID: "sum", Script: &catalog.Script{Language: "expr", Source: "params.a + (params.b ?? 0)"}, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number","default":1}},"required":["a"]}`)},
		{ID: "star", Script: &catalog.Script{Language: "starlark", Source: "1"}},
		{ID: "idea", Tools: []string{"fs:echo"}},
		{ID: "ring-a", Tasks: []catalog.Task{task("b", "ring-b", "")}},
		{ID: "ring-b", Tasks: []catalog.Task{task("a", "ring-a", "")}},
	} {
		s.caps[c.ID] = c
	}
	return s
}

// task is id and tool, arguments as JSON, then "after" ids.
func task(id, tool, arguments string, after ...string) catalog.Task {
	t := catalog.Task{ID: id, Tool: tool, DependsOn: after}
	if arguments != "" {
		if err := json.Unmarshal([]byte(arguments), &t.Arguments); err != nil {
			panic(err)
		}
	}
	return t
}

func when(t catalog.Task, condition string) catalog.Task { t.When = condition; return t }
func bearing(t catalog.Task) catalog.Task                { t.OnError = catalog.OnErrorContinue; return t }

func dag(tasks ...catalog.Task) Request {
	return Request{DAG: DAG{Intent: "look into it", Params: json.RawMessage(`{"repo":"waymark","n":5,"list":["x"]}`), Tasks: tasks}}
}

func TestCheckSaysAllThatIsWrong(t *testing.T) {
	deep := shelf{map[string]catalog.Tool{}, map[string]catalog.Capability{}}
	for i := range 12 {
		deep.caps[fmt.Sprint("d", i)] = catalog.Capability{ID: fmt.Sprint("d", i), Tasks: []catalog.Task{task("x", fmt.Sprint("d", i+1), "")}}
	}
	for _, tt := range []struct {
		name  string
		q     Request
		rules Rules
		want  []string // in order, each part of a problem
	}{
		{name: "nothing", q: Request{}, want: []string{"there are no tasks"}},
		{name: "unknown tool", q: dag(task("a", "no:such", "")), want: []string{`task "a": tool "no:such" is unknown`}},
		{name: "duplicate", q: dag(task("a", "fs:echo", ""), task("a", "fs:echo", "")), want: []string{`task "a": occurs twice`}},
		{name: "reserved", q: dag(task("params", "fs:echo", ""), task("x/y", "fs:echo", "")), want: []string{`task "params": is no id`, `task "x/y": is no id`}},
		{name: "cycle", q: dag(task("a", "fs:echo", "", "b"), task("b", "fs:echo", "", "a")), want: []string{`tasks form a cycle: "a" needs "b" needs "a"`}},
		{name: "cycle through references", q: dag(task("a", "fs:echo", `{"x":{"$from":"b.result"}}`), when(task("b", "fs:echo", ""), "tasks.a.result != nil")),
			want: []string{`tasks form a cycle: "a" needs "b" needs "a" (a reference`}},
		{name: "itself", q: dag(task("a", "fs:echo", `{"x":{"$from":"a.result"}}`)), want: []string{`task "a": depends on itself`}},
		{name: "missing dependency", q: dag(task("a", "fs:echo", "", "z")), want: []string{`task "a", argument "depends_on": there is no task "z"`}},
		{name: "unknown reference", q: dag(task("a", "fs:echo", `{"x":{"$from":"z.result"},"y":{"$from":""}}`)),
			want: []string{`task "a", argument "x": "z.result": there is no task "z"`, `argument "y": "": there is no task ""`}},
		{name: "required", q: dag(task("a", "mail:send", "")), want: []string{`task "a", argument "text": is required`, `task "a", argument "to": is required`}},
		{name: "not taken", q: dag(task("a", "issues:search", `{"query":"ab","page":1}`)), want: []string{`argument "page": issues:search takes no such argument; it takes limit, query`}},
		{name: "literals", q: dag(task("a", "issues:search", `{"query":"a","limit":1000}`)), want: []string{`argument "limit": maximum`, `argument "query": minLength`}},
		{name: "types", q: dag(task("a", "issues:search", `{"query":{"$from":"params.n"},"limit":{"$from":"intent"}}`)),
			want: []string{`argument "limit": takes integer, and intent is string`, `argument "query": takes string, and params.n is number`}},
		{name: "types of results", q: dag(task("a", "issues:search", `{"query":"ab"}`), task("b", "issues:get", `{"id":{"$from":"a.result.items[0].title"}}`)),
			want: []string{`task "b", argument "id": takes integer, and a.result.items[0].title is string`}},
		{name: "paths into results", q: dag(task("a", "issues:get", `{"id":1}`), task("b", "fs:echo", `{"x":{"$from":"a.result.titel"},"y":{"$from":"a.result.body.z"},"z":{"$from":"a.result[0]"}}`)),
			want: []string{`it has no "titel"; it has body`, `body is string and has no "z"`, `it is object, no list`}},
		{name: "number may be whole", q: dag(task("a", "issues:search", `{"query":"ab"}`), task("b", "issues:get", `{"id":{"$from":"a.total"}}`))},
		{name: "parameter not given", q: dag(task("a", "fs:echo", `{"x":{"$from":"params.z"}}`)), want: []string{"params.z is not given"}},
		{name: "no intent", q: Request{DAG: DAG{Tasks: []catalog.Task{task("a", "fs:echo", `{"x":{"$from":"intent"}}`)}}}, want: []string{"takes the intent, and there is none"}},
		{name: "expressions", q: dag(when(task("a", "fs:echo", `{"x":{"$expr":"1 +"},"y":{"$expr":"tasks.z.result"},"z":{"$from":"intent","b":1}}`), "intent +")),
			want: []string{`argument "when": unexpected token`, `argument "x": unexpected token`, `argument "y": there is no task "z"`, `argument "z": $from stands alone`}},
		{name: "scripts", q: dag(task("a", "star", ""), task("b", "idea", ""), task("c", "sum", "")),
			want: []string{`task "a": capability "star": a script in "starlark" cannot be run here`, `task "b": capability "idea" has neither`, `task "c", argument "a": is required`}},
		{name: "circle of capabilities", q: dag(task("a", "ring-a", "")), want: []string{`task "a/b/a": capabilities call each other in a circle: ring-a calls ring-b calls ring-a`}},
		{name: "too deep", q: dag(task("a", "d0", "")), rules: Rules{Catalog: deep}, want: []string{"more than 8 deep"}},
		{name: "inside a capability", q: dag(task("a", "first-issue", `{"words":3}`)), want: []string{`task "a", argument "words": got number, want string`}},
		{name: "capability unknown", q: Request{Capability: "none"}, want: []string{`capability: "none" is unknown`}},
		{name: "capability parameters", q: Request{Capability: "first-issue", DAG: DAG{Params: json.RawMessage(`{"limit":"x"}`)}},
			want: []string{"params.words: is required and not given", "params.limit: got string, want integer"}},
		{name: "on error and timeout", q: dag(catalog.Task{ID: "a", Tool: "fs:echo", OnError: "retry", TimeoutMS: -1}), want: []string{"on_error", "timeout_ms"}},
		{name: "output", q: Request{DAG: DAG{Tasks: []catalog.Task{task("a", "issues:get", `{"id":1}`)}, Output: json.RawMessage(`{"x":{"$from":"a.result.z"},"y":{"$expr":"tasks.b.result"}}`)}},
			want: []string{`argument`, `there is no task "b"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.rules.Catalog == nil {
				tt.rules.Catalog = office()
			}
			_, err := Check(tt.q, tt.rules)
			if len(tt.want) == 0 {
				require.NoError(t, err)
				return
			}
			var wrong *CheckError
			require.ErrorAs(t, err, &wrong)
			var all []string
			for _, p := range wrong.Problems {
				all = append(all, p.String())
			}
			if tt.name == "output" {
				assert.Contains(t, err.Error(), `it has no "z"`)
				assert.Contains(t, err.Error(), `there is no task "b"`)
				return
			}
			require.Len(t, all, len(tt.want), "%q", all)
			for i, want := range tt.want {
				assert.Contains(t, all[i], want)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	q := dag(
		task("send", "mail:send", `{"to":"me","text":{"$from":"issue.body"}}`),
		task("issue", "first-issue", `{"words":{"$from":"intent"}}`),
		task("echo", "fs:echo", "", "issue"),
		task("wipe", "disk:wipe", "", "echo"),
		task("note", "note:add", ""),
	)
	p, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	assert.Equal(t, []string{"issue", "note", "send", "echo", "wipe"}, p.Order)
	assert.Equal(t, [][]string{{"issue", "note"}, {"send", "echo"}, {"wipe"}}, p.Layers)
	approvals := map[string]bool{}
	for _, n := range p.Nodes {
		approvals[n.ID] = n.Approval != ""
	}
	assert.Equal(t, map[string]bool{"issue": false, "issue/find": false, "issue/get": false, "note": false, "send": true, "echo": false, "wipe": true}, approvals)

	q.Approve = []string{"wipe", "mail:*"}
	p, err = Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	for _, n := range p.Nodes {
		assert.Empty(t, n.Approval, n.ID)
	}
	q.Approve = nil
	p, err = Check(q, Rules{Catalog: office(), Asks: func(catalog.Tool) string { return "" }})
	require.NoError(t, err)
	for _, n := range p.Nodes {
		assert.Empty(t, n.Approval, n.ID)
	}
	// A schema that cannot be used is said, not held against the call.
	p, err = Check(dag(task("a", "fs:odd", `{"x":"b"}`)), Rules{Catalog: office()})
	require.NoError(t, err)
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0], "fs:odd: arguments are not checked")
}

func TestReferences(t *testing.T) {
	ids := map[string]int{"t1": 0, "a.b": 1, "a": 2, "t1.x": 3}
	for _, tt := range []struct {
		text string
		from source
		task int
		path string
		bad  bool
	}{
		{"intent", fromIntent, 0, "", false},
		{"params", fromParams, 0, "", false},
		{"params.a.b", fromParams, 0, ".a.b", false},
		{"t1", fromTask, 0, "", false},
		{"t1.result", fromTask, 0, "", false},
		{"t1.result.result", fromTask, 0, ".result", false},
		{"t1.results", fromTask, 0, ".results", false},
		{"t1.result.items[0].id", fromTask, 0, ".items[0].id", false},
		{"t1.items[12]", fromTask, 0, ".items[12]", false},
		{`t1["odd name"]["a\"]b"]`, fromTask, 0, `.odd name.a"]b`, false},
		{"a.b.c", fromTask, 1, ".c", false},
		{"a.c", fromTask, 2, ".c", false},
		{"t1.x", fromTask, 3, "", false},
		{"t2", 0, 0, "", true},
		{"intent.x", 0, 0, "", true},
		{"t1..x", 0, 0, "", true},
		{"t1.", 0, 0, "", true},
		{"t1[-1]", 0, 0, "", true},
		{"t1[+1]", 0, 0, "", true},
		{"t1[x]", 0, 0, "", true},
		{`t1["x`, 0, 0, "", true},
		{"t1[0", 0, 0, "", true},
		{"t1" + strings.Repeat(".a", 100), 0, 0, "", true},
		{"", 0, 0, "", true},
	} {
		r, err := parseReference(tt.text, ids)
		if tt.bad {
			assert.Error(t, err, tt.text)
			continue
		}
		require.NoError(t, err, tt.text)
		path := ""
		for _, s := range r.path {
			path += s.String()
		}
		assert.Equal(t, []any{tt.from, tt.path}, []any{r.from, path}, tt.text)
		if tt.from == fromTask {
			assert.Equal(t, tt.task, r.task, tt.text)
		}
	}
}

func FuzzReference(f *testing.F) {
	f.Add("t1.result.items[0].id")
	f.Add(`params["x"]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReference(text, map[string]int{"t1": 0})
		if err == nil {
			follow(json.RawMessage(`{"items":[{"id":1}]}`), r.path)
			followSchema(catalog.ReadSchema(json.RawMessage(`{"properties":{"items":{"items":{"$ref":"#"}}}}`)), r.path)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"dag":{"intent":"x","tasks":[{"id":"a","tool":"fs:echo","arguments":{"x":{"$from":"params.y"}}}],"params":{"y":1}}}`)
	f.Add(`{"capability":"first-issue","dag":{"params":{"words":"a"}}}`)
	f.Add(`{"dag":{"tasks":[{"id":"a","tool":"sum","arguments":{"a":{"$expr":"1"}},"when":"true"}],"output":{"$from":"a"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var q Request
		if json.Unmarshal([]byte(text), &q) == nil {
			Check(q, Rules{Catalog: office()})
		}
	})
}

// callee answers calls as a test wants it to.
type callee struct {
	mu      sync.Mutex
	calls   []Call
	answers map[string]func(ctx context.Context, c Call, nth int) (Result, error)
}

func (c *callee) Call(ctx context.Context, call Call) (Result, error) {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	nth := 0
	for _, before := range c.calls {
		if before.Tool == call.Tool {
			nth++
		}
	}
	answer := c.answers[call.Tool]
	c.mu.Unlock()
	if answer != nil {
		return answer(ctx, call, nth)
	}
	return Result{Structured: call.Arguments}, nil
}

func (c *callee) tools() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var tools []string
	for _, call := range c.calls {
		tools = append(tools, call.Tool)
	}
	return tools
}

func says(structured string) func(context.Context, Call, int) (Result, error) {
	return func(context.Context, Call, int) (Result, error) {
		return Result{Structured: json.RawMessage(structured)}, nil
	}
}

func fails(kind Failure) func(context.Context, Call, int) (Result, error) {
	return func(context.Context, Call, int) (Result, error) {
		return Result{Failure: kind, Message: "no luck"}, nil
	}
}

func issuesServer() *callee {
	return &callee{answers: map[string]func(context.Context, Call, int) (Result, error){
		"issues:search": says(`{"items":[{"id":7,"title":"a"},{"id":12345678901234567,"title":"b"}],"total":2}`),
		"issues:get": func(_ context.Context, c Call, _ int) (Result, error) {
			return Result{Structured: json.RawMessage(`{"body":` + string(must(json.Marshal("issue "+string(c.Arguments)))) + `}`)}, nil
		},
	}}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// perform runs a request to its end, or until it pauses.
func perform(t *testing.T, q Request, caller Caller, change func(*Options)) (*Run, Status) {
	t.Helper()
	p, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	o := Options{Caller: caller, Journal: &Memory{}, Timeout: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	r, err := Start(t.Context(), "run-1", p, o)
	require.NoError(t, err)
	return r, rest(t, r)
}

// rest waits until a run ends or pauses.
func rest(t *testing.T, r *Run) Status {
	t.Helper()
	<-r.Over()
	return r.Status()
}

func states(s Status) map[string]NodeState {
	out := map[string]NodeState{}
	for _, n := range s.Nodes {
		out[n.ID] = n.State
	}
	return out
}

func nodeOf(s Status, id string) Node {
	return s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == id })]
}

func TestRunPassesValuesOn(t *testing.T) {
	server := issuesServer()
	q := dag(
		task("t1", "issues:search", `{"query":{"$from":"intent"},"limit":{"$from":"params.n"}}`),
		task("t2", "issues:get", `{"id":{"$from":"t1.result.items[1].id"},"where.repo":{"$from":"params.repo"}}`),
		task("t3", "fs:echo", `{"titles":{"$expr":"map(tasks.t1.result.items, .title)"},"deep":[{"b":{"$from":"t2.body"}},{"$value":{"$from":"as it stands"}}],"plain":1.50}`),
	)
	_, s := perform(t, q, server, nil)
	require.Equal(t, Done, s.State, "%+v", s)
	assert.Equal(t, 3, s.Done)
	require.Len(t, server.calls, 3)
	assert.JSONEq(t, `{"query":"look into it","limit":5}`, string(server.calls[0].Arguments))
	assert.Equal(t, `{"id":12345678901234567,"where":{"repo":"waymark"}}`, string(server.calls[1].Arguments), "a number that no float holds stays what it is")
	assert.Contains(t, string(server.calls[2].Arguments), `"plain":1.50`)
	assert.Contains(t, string(server.calls[2].Arguments), `{"$from":"as it stands"}`)
	assert.Contains(t, string(server.calls[2].Arguments), `"titles":["a","b"]`)
	for _, c := range server.calls {
		assert.Equal(t, "run-1", c.Session)
		assert.Equal(t, "look into it", c.Intent)
		assert.Empty(t, c.Group, "nothing ran beside it")
	}
	assert.JSONEq(t, string(server.calls[2].Arguments), string(s.Output), "the result of the one last task")
}

func TestPartialFailure(t *testing.T) {
	server := issuesServer()
	server.answers["mail:send"] = fails(FailedTool)
	server.answers["note:add"] = fails(FailedAuth)
	q := dag(
		task("bad", "mail:send", `{"to":"a","text":"b"}`),
		task("after", "fs:echo", "", "bad"),
		task("later", "fs:echo", "", "after"),
		task("good", "issues:search", `{"query":"ab"}`),
		task("never", "fs:echo", "", "good"),
		bearing(task("borne", "note:add", "")),
		task("despite", "fs:echo", `{"x":{"$from":"borne.result.x"},"why":{"$expr":"tasks.borne.error"}}`),
		task("empty", "issues:get", `{"id":{"$from":"good.result.items[9].id"}}`),
	)
	q.DAG.Tasks[4].When = "len(tasks.good.result.items) > 5"
	q.DAG.Tasks = append(q.DAG.Tasks, task("beyond", "fs:echo", "", "never"), task("needs", "issues:get", `{"id":{"$from":"never.result.id"}}`))
	q.Approve = []string{"*"}
	_, s := perform(t, q, server, nil)
	assert.Equal(t, Failed, s.State)
	assert.Equal(t, map[string]NodeState{
		"bad": NodeFailed, "after": NodeSkipped, "later": NodeSkipped, "good": NodeDone, "never": NodeSkipped, "borne": NodeFailed,
		"despite": NodeDone, "empty": NodeFailed, "beyond": NodeDone, "needs": NodeSkipped,
	}, states(s))
	assert.Equal(t, "because bad failed", nodeOf(s, "after").Reason)
	assert.Equal(t, "because after skipped", nodeOf(s, "later").Reason)
	assert.Equal(t, "its condition does not hold", nodeOf(s, "never").Reason)
	assert.Equal(t, "because never has no result, which id needs", nodeOf(s, "needs").Reason)
	assert.JSONEq(t, `{"why":"no luck"}`, string(nodeOf(s, "despite").Result), "what is not required and not there is left out")
	assert.Equal(t, FailedArgument, nodeOf(s, "empty").ErrorKind)
	assert.Contains(t, nodeOf(s, "empty").Error, "there is no good.result.items[9].id")
	assert.Equal(t, "bad: no luck", s.Error)
	assert.Equal(t, []int{4 - 1, 3, 4}, []int{s.Done, s.Failed, s.Skipped})
}

// A result of another type than its schema says is found before it is passed on.
func TestArgumentsAreCheckedBeforeTheCall(t *testing.T) {
	server := issuesServer()
	server.answers["issues:search"] = says(`{"items":[{"id":"seven"}]}`)
	_, s := perform(t, dag(task("a", "issues:search", `{"query":"ab"}`), task("b", "issues:get", `{"id":{"$from":"a.items[0].id"}}`)), server, nil)
	assert.Equal(t, Failed, s.State)
	assert.Equal(t, FailedArgument, nodeOf(s, "b").ErrorKind)
	assert.Contains(t, nodeOf(s, "b").Error, "id: got string, want integer")
	assert.Equal(t, []string{"issues:search"}, server.tools())
}

// A call is made once: whether it may be made again is for a person, or the host, to decide.
func TestFailedCalls(t *testing.T) {
	flaky := func(kind Failure, times int) func(context.Context, Call, int) (Result, error) {
		return func(_ context.Context, _ Call, nth int) (Result, error) {
			if nth <= times {
				return Result{Failure: kind, Message: "no luck"}, nil
			}
			return Result{}, nil
		}
	}
	for _, tt := range []struct {
		name, tool string
		answer     func(context.Context, Call, int) (Result, error)
		want       NodeState
		attempts   int
		kind       Failure
		says       string
	}{
		{"unavailable", "fs:echo", flaky(FailedUnavailable, 1), NodeFailed, 1, FailedUnavailable, "no luck"},
		{"not what the tool says", "fs:echo", flaky(FailedTool, 1), NodeFailed, 1, FailedTool, "no luck"},
		{"not what may have happened", "mail:send", flaky(FailedTimeout, 1), NodeFailed, 1, FailedTimeout, "it may have happened"},
		{"unknown", "fs:echo", func(_ context.Context, _ Call, nth int) (Result, error) { return Result{}, errors.New("torn") }, NodeFailed, 1, FailedUnavailable, "torn"},
		{"panic", "mail:send", func(context.Context, Call, int) (Result, error) { panic("bug") }, NodeFailed, 1, FailedUnavailable, "internal error"},
		{"asks", "fs:echo", func(context.Context, Call, int) (Result, error) {
			return Result{NeedsInput: json.RawMessage(`{}`)}, nil
		}, NodeFailed, 1, FailedPolicy, "asks for input"},
		{"too large", "fs:echo", func(context.Context, Call, int) (Result, error) {
			return Result{Structured: json.RawMessage(`"` + strings.Repeat("x", maxResult) + `"`)}, nil
		}, NodeFailed, 1, FailedTool, "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &callee{answers: map[string]func(context.Context, Call, int) (Result, error){tt.tool: tt.answer}}
			q := dag(task("a", tt.tool, `{"to":"a","text":"b"}`))
			q.Approve = []string{"*"}
			_, s := perform(t, q, server, nil)
			n := s.Nodes[0]
			assert.Equal(t, tt.want, n.State)
			assert.Equal(t, tt.attempts, n.Attempts)
			assert.Equal(t, tt.kind, n.ErrorKind)
			assert.Contains(t, n.Error, tt.says)
		})
	}
}

func TestTimeout(t *testing.T) {
	server := &callee{answers: map[string]func(context.Context, Call, int) (Result, error){
		"fs:nap": func(ctx context.Context, _ Call, _ int) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() },
	}}
	nap := task("a", "fs:nap", "")
	nap.TimeoutMS = 5
	_, s := perform(t, dag(nap), server, nil)
	assert.Equal(t, FailedTimeout, s.Nodes[0].ErrorKind)
	assert.Equal(t, "no answer within 5ms; it may have happened", s.Nodes[0].Error)
	assert.Equal(t, 1, s.Nodes[0].Attempts)
}

func TestWidthAndGroups(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	release := make(chan struct{})
	open := sync.OnceFunc(func() { close(release) })
	server := &callee{answers: map[string]func(context.Context, Call, int) (Result, error){
		"fs:nap": func(context.Context, Call, int) (Result, error) {
			mu.Lock()
			now++
			most = max(most, now)
			if now == 3 {
				open()
			}
			mu.Unlock()
			<-release // three are here at once, or nothing goes on
			mu.Lock()
			now--
			mu.Unlock()
			return Result{}, nil
		},
	}}
	var tasks []catalog.Task
	for i := range 9 {
		tasks = append(tasks, task(fmt.Sprint("t", i), "fs:nap", ""))
	}
	_, s := perform(t, dag(append(tasks, task("last", "fs:echo", "", "t0"))...), server, func(o *Options) { o.Width = 3 })
	assert.Equal(t, Done, s.State)
	assert.Equal(t, 3, most)
	for _, c := range server.calls {
		want := "layer-1"
		if c.Tool == "fs:echo" {
			want = ""
		}
		assert.Equal(t, want, c.Group)
	}
}

func TestCapabilityWithin(t *testing.T) {
	server := issuesServer()
	q := dag(
		task("a", "first-issue", `{"words":"ab"}`),
		task("b", "sum", `{"a":{"$expr":"len(tasks.a.result.body)"}}`),
		when(task("c", "first-issue", `{"words":"cd","limit":9}`), "false"),
		task("d", "mcp__fs__echo", `{"n":{"$from":"b.result"}}`),
	)
	q.DAG.Output = json.RawMessage(`{"n":{"$from":"d.n"},"none":{"$from":"c.result"}}`)
	_, s := perform(t, q, server, nil)
	require.Equal(t, Done, s.State, "%+v", s)
	assert.JSONEq(t, `{"query":"ab","limit":3}`, string(server.calls[0].Arguments), "what is left out has its default")
	assert.Equal(t, nodeNotRun, states(s)["c/find"])
	assert.JSONEq(t, `{"n":15,"none":null}`, string(s.Output), "issue {\"id\":7} and one")

	_, s = perform(t, Request{Capability: "first-issue", DAG: DAG{Params: json.RawMessage(`{"words":"xy"}`)}}, issuesServer(), nil)
	require.Equal(t, Done, s.State, "%+v", s)
	assert.Equal(t, "first-issue", s.Capability)
	assert.JSONEq(t, `{"body":"issue {\"id\":7}"}`, string(s.Output))
	_, s = perform(t, Request{Capability: "sum", DAG: DAG{Params: json.RawMessage(`{"a":2.5}`)}}, nil, nil)
	assert.JSONEq(t, "3.5", string(s.Output))

	server.answers["issues:get"] = fails(FailedAuth)
	_, s = perform(t, q, server, nil)
	assert.Equal(t, Failed, s.State)
	assert.Equal(t, NodeFailed, states(s)["a"])
	assert.Equal(t, FailedAuth, nodeOf(s, "a").ErrorKind)
	assert.Equal(t, "a/get: no luck", nodeOf(s, "a").Error)
}

func TestApproval(t *testing.T) {
	q := dag(task("w", "disk:wipe", `{"disk":{"$from":"params.repo"}}`), task("m", "mail:send", `{"to":"a","text":"b"}`), task("after", "fs:echo", "", "m"))
	server := &callee{}
	journal := &Memory{}
	r, s := perform(t, q, server, func(o *Options) { o.Journal = journal })
	require.Equal(t, Paused, s.State)
	assert.Equal(t, []string{"w", "m"}, s.Waiting)
	assert.Empty(t, server.tools(), "nothing is called before a person says so")
	assert.JSONEq(t, `{"disk":"waymark"}`, string(nodeOf(s, "w").Arguments), "who decides sees what about")
	assert.ErrorIs(t, r.Decide(nil, true), ErrParked)
	assert.ErrorIs(t, r.Cancel(), ErrParked)
	p, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	r = Resume(t.Context(), journal.Past("run-1"), p, Options{Caller: server, Journal: journal}, func(r *Run) {
		assert.ErrorIs(t, r.Decide([]string{"after"}, true), ErrNotWaiting)
		require.NoError(t, r.Decide([]string{"w"}, false))
		require.NoError(t, r.Decide(nil, true))
	})
	s = rest(t, r)
	assert.Equal(t, Failed, s.State)
	assert.Equal(t, map[string]NodeState{"w": NodeFailed, "m": NodeDone, "after": NodeDone}, states(s))
	assert.Equal(t, FailedPolicy, nodeOf(s, "w").ErrorKind)
	assert.Equal(t, []string{"mail:send", "fs:echo"}, server.tools())
	assert.Equal(t, NodeFailed, journal.Past("run-1").Nodes["w"].State, "a refusal is kept")
	assert.ErrorIs(t, r.Decide(nil, true), ErrNotWaiting)
	assert.Equal(t, s, r.Status(), "what has ended stays so")
}

func TestResultsAreBoundedTogether(t *testing.T) {
	r := &Run{}
	r.kept.Store(maxKept - 10)
	assert.Empty(t, r.tooLong(json.RawMessage(`"1234567"`)))
	assert.Contains(t, r.tooLong(json.RawMessage(`"1"`)), "all results")
	assert.Empty(t, r.tooLong(json.RawMessage(`1`)), "what was not kept does not count")
}

func TestCancel(t *testing.T) {
	begun := make(chan struct{})
	server := &callee{answers: map[string]func(context.Context, Call, int) (Result, error){
		"fs:nap": func(ctx context.Context, _ Call, _ int) (Result, error) {
			close(begun)
			<-ctx.Done()
			return Result{}, ctx.Err()
		},
	}}
	p, err := Check(dag(task("a", "fs:nap", ""), task("b", "fs:echo", "", "a")), Rules{Catalog: office()})
	require.NoError(t, err)
	journal := &Memory{}
	r, err := Start(t.Context(), "run-1", p, Options{Caller: server, Journal: journal})
	require.NoError(t, err)
	<-begun
	require.NoError(t, r.Cancel())
	<-r.Over()
	assert.Equal(t, Canceled, r.Status().State)
	assert.Equal(t, map[string]NodeState{"a": nodeCanceled, "b": nodeNotRun}, states(r.Status()))
	end, ok := journal.Ending("run-1")
	require.True(t, ok)
	assert.Equal(t, Canceled, end.State)
}

// A process that ends leaves its runs to the next one: what ended is not done again, what began waits
// for a person to say whether it is done again.
func TestShutdownAndResume(t *testing.T) {
	q := dag(
		task("first", "note:add", ""),
		task("again", "fs:nap", "", "first"),
		task("once", "mail:send", `{"to":"a","text":"b"}`, "first"),
		task("last", "fs:echo", `{"x":{"$from":"again.result"},"y":{"$from":"once.result"}}`),
	)
	q.Approve = []string{"mail:*"}
	hang := func(ctx context.Context, _ Call, _ int) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }
	for _, sayYes := range []bool{true, false} {
		server := &callee{answers: map[string]func(context.Context, Call, int) (Result, error){"fs:nap": hang, "mail:send": hang}}
		p, err := Check(q, Rules{Catalog: office()})
		require.NoError(t, err)
		journal := &Memory{}
		ctx, stop := context.WithCancel(t.Context())
		r, err := Start(ctx, "run-1", p, Options{Caller: server, Journal: journal, Grace: time.Millisecond})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(server.tools()) == 3 }, 2*time.Minute, time.Millisecond)
		stop()
		<-r.Over()
		_, ended := journal.Ending("run-1")
		require.False(t, ended, "it is left to be resumed")

		past := journal.Past("run-1")
		without := office()
		delete(without.caps, "first-issue") // what has gone since is remembered
		p, err = Check(past.Request, past.Rules(Rules{Catalog: without}))
		require.NoError(t, err)
		next := &callee{}
		r = Resume(t.Context(), past, p, Options{Caller: next, Journal: journal}, nil)
		s := rest(t, r)
		require.Equal(t, Paused, s.State)
		assert.Equal(t, map[string]NodeState{"first": NodeDone, "again": NodeInterrupted, "once": NodeInterrupted, "last": NodeWaiting}, states(s))
		assert.Equal(t, []string{"again", "once"}, s.Waiting)
		assert.Contains(t, nodeOf(s, "once").Reason, "may have happened")
		assert.JSONEq(t, `{"to":"a","text":"b"}`, string(nodeOf(s, "once").Arguments))
		assert.Empty(t, next.tools())
		r = Resume(t.Context(), journal.Past("run-1"), p, Options{Caller: next, Journal: journal}, func(r *Run) {
			require.NoError(t, r.Decide([]string{"again"}, true))
			require.NoError(t, r.Decide([]string{"once"}, sayYes))
		})
		<-r.Over()
		if sayYes {
			assert.Equal(t, Done, r.Status().State)
			assert.ElementsMatch(t, []string{"fs:nap", "mail:send", "fs:echo"}, next.tools())
		} else {
			assert.Equal(t, Failed, r.Status().State)
			assert.Equal(t, []string{"fs:nap"}, next.tools())
		}
	}
}

// What waited for a decision is decided, though it would not have to be asked for any more.
func TestAGrantIsNoDecision(t *testing.T) {
	p, err := Check(dag(task("a", "mail:send", `{"to":"a","text":"b"}`)), Rules{Catalog: office()})
	require.NoError(t, err)
	journal, server := &Memory{}, &callee{}
	require.NoError(t, journal.Start(t.Context(), Record{ID: "run-1", Request: p.request}, Status{}))
	past := journal.Past("run-1")
	past.Waiting = []string{"a"}
	r := Resume(t.Context(), past, p, Options{Caller: server, Journal: journal}, func(r *Run) { require.NoError(t, r.Decide(nil, false)) })
	<-r.Over()
	assert.Equal(t, Failed, r.Status().State)
	assert.Empty(t, server.tools())
}

// brokenJournal takes so many entries.
type brokenJournal struct {
	Memory
	left int
}

func (b *brokenJournal) Began(ctx context.Context, run string, n Node) error {
	if b.left--; b.left < 0 {
		return errors.New("disk full")
	}
	return b.Memory.Began(ctx, run, n)
}

func TestNothingIsCalledThatIsNotKept(t *testing.T) {
	server := &callee{}
	_, s := perform(t, dag(task("a", "fs:echo", ""), task("b", "fs:echo", "", "a")), server, func(o *Options) { o.Journal = &brokenJournal{left: 1} })
	assert.Equal(t, Failed, s.State)
	assert.Contains(t, s.Error, "disk full")
	assert.Equal(t, []string{"fs:echo"}, server.tools())
}
