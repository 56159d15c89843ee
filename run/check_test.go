package run

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

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
		{name: "reserved", q: dag(task("params", "fs:echo", ""), task("x/y", "fs:echo", "")), want: []string{`task "params": is not an id`, `task "x/y": is not an id`}},
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
			want: []string{`argument "when": unexpected token`, `argument "x": unexpected token`, `argument "y": there is no task "z"`, `argument "z": an object with $from must`}},
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
			want: []string{`it has no "z"`, `there is no task "b"`}},
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
	approved, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	q.Approve = nil
	unasked, err := Check(q, Rules{Catalog: office(), Asks: func(catalog.Tool) string { return "" }})
	require.NoError(t, err)
	for _, n := range append(approved.Nodes, unasked.Nodes...) {
		assert.Empty(t, n.Approval, n.ID)
	}
	// A schema that cannot be used is said, not held against the call.
	p, err = Check(dag(task("a", "fs:odd", `{"x":"b"}`)), Rules{Catalog: office()})
	require.NoError(t, err)
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0], "fs:odd: arguments are not checked")
	// So is a reference to a member that a schema neither lists nor forbids.
	p, err = Check(dag(task("a", "issues:search", `{"query":"ab"}`), task("b", "fs:echo", `{"x":{"$from":"a.result.totl"}}`)), Rules{Catalog: office()})
	require.NoError(t, err)
	require.Len(t, p.Warnings, 1)
	assert.Contains(t, p.Warnings[0], `lists no "totl"; it lists items, total`)
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
