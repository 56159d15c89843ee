package run

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// answer is what a call of a tool gives.
type answer = func(context.Context, Call) (Result, error)

// callee answers calls as a test wants it to.
type callee struct {
	mu      sync.Mutex
	calls   []Call
	answers map[string]answer
}

func (c *callee) Call(ctx context.Context, call Call) (Result, error) {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	answer := c.answers[call.Tool]
	c.mu.Unlock()
	if answer != nil {
		return answer(ctx, call)
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

func says(structured string) answer {
	return func(context.Context, Call) (Result, error) {
		return Result{Structured: json.RawMessage(structured)}, nil
	}
}

func fails(kind Failure) answer {
	return func(context.Context, Call) (Result, error) {
		return Result{Failure: kind, Message: "no luck"}, nil
	}
}

// hangs answers when its caller gives up.
func hangs(ctx context.Context, _ Call) (Result, error) {
	<-ctx.Done()
	return Result{}, ctx.Err()
}

func issuesServer() *callee {
	return &callee{answers: map[string]answer{
		"issues:search": says(`{"items":[{"id":7,"title":"a"},{"id":12345678901234567,"title":"b"}],"total":2}`),
		"issues:get": func(_ context.Context, c Call) (Result, error) {
			return Result{Structured: json.RawMessage(`{"body":` + strconv.Quote("issue "+string(c.Arguments)) + `}`)}, nil
		},
	}}
}

// perform runs a request to its end, or until it pauses.
func perform(t *testing.T, q Request, caller Caller, change func(*Options)) (*Run, Status) {
	t.Helper()
	p, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	o := Options{Caller: caller, Journal: &Memory{}}
	if change != nil {
		change(&o)
	}
	r, err := Start(t.Context(), "run-1", p, o)
	require.NoError(t, err)
	<-r.Over()
	return r, r.Status()
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
