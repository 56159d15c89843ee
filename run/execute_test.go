package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

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

// A call is made once: whether it may be made again is for a person, or the host, to decide.
func TestFailedCalls(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		answer     answer
		kind       Failure
		says       string
	}{
		{"unavailable", "fs:echo", fails(FailedUnavailable), FailedUnavailable, "no luck"},
		{"what the tool says", "fs:echo", fails(FailedTool), FailedTool, "no luck"},
		{"what may have happened", "mail:send", fails(FailedTimeout), FailedTimeout, "it may have happened"},
		{"unknown", "fs:echo", func(context.Context, Call) (Result, error) {
			return Result{}, errors.New("torn")
		}, FailedUnavailable, "torn"},
		{"panic", "mail:send", func(context.Context, Call) (Result, error) {
			panic("bug")
		}, FailedUnavailable, "internal error"},
		{"asks", "fs:echo", func(context.Context, Call) (Result, error) {
			return Result{NeedsInput: json.RawMessage(`{}`)}, nil
		}, FailedPolicy, "asks for input"},
		{"too large", "fs:echo", says(`"` + strings.Repeat("x", maxResult) + `"`), FailedTool, "larger than"},
		{"hangs", "fs:nap", hangs, FailedTimeout, "no answer within 5ms; it may have happened"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &callee{answers: map[string]answer{tt.tool: tt.answer}}
			q := dag(task("a", tt.tool, `{"to":"a","text":"b"}`))
			q.Approve = []string{"*"}
			if tt.name == "hangs" {
				q.DAG.Tasks[0].TimeoutMS = 5
			}
			_, s := perform(t, q, server, nil)
			n := s.Nodes[0]
			assert.Equal(t, NodeFailed, n.State)
			assert.Equal(t, 1, n.Attempts)
			assert.Equal(t, tt.kind, n.ErrorKind)
			assert.Contains(t, n.Error, tt.says)
		})
	}
	// A result of another type than its schema says is found before it is passed on.
	server := issuesServer()
	server.answers["issues:search"] = says(`{"items":[{"id":"seven"}]}`)
	find, get := task("a", "issues:search", `{"query":"ab"}`), task("b", "issues:get", `{"id":{"$from":"a.items[0].id"}}`)
	_, s := perform(t, dag(find, get), server, nil)
	assert.Equal(t, FailedArgument, nodeOf(s, "b").ErrorKind)
	assert.Contains(t, nodeOf(s, "b").Error, "id: got string, want integer")
	assert.Equal(t, []string{"issues:search"}, server.tools())
}

func TestWidthAndGroups(t *testing.T) {
	var now, most atomic.Int32
	all := make(chan struct{})
	open := sync.OnceFunc(func() { close(all) })
	server := &callee{answers: map[string]answer{"fs:nap": func(context.Context, Call) (Result, error) {
		n := now.Add(1)
		defer now.Add(-1)
		most.Store(max(most.Load(), n))
		if n == width {
			open()
		}
		<-all // so many are here at once, or nothing goes on
		return Result{}, nil
	}}}
	tasks := []catalog.Task{task("last", "fs:echo", "", "t0")}
	for i := range 9 {
		tasks = append(tasks, task(fmt.Sprint("t", i), "fs:nap", ""))
	}
	_, s := perform(t, dag(tasks...), server, nil)
	assert.Equal(t, Done, s.State)
	assert.EqualValues(t, width, most.Load())
	for _, c := range server.calls {
		assert.Equal(t, map[string]string{"fs:nap": "layer-1"}[c.Tool], c.Group)
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

func TestResultsAreBoundedTogether(t *testing.T) {
	r := &Run{}
	r.kept.Store(maxKept - 10)
	assert.Empty(t, r.tooLong(json.RawMessage(`"1234567"`)))
	assert.Contains(t, r.tooLong(json.RawMessage(`"1"`)), "all results")
	assert.Empty(t, r.tooLong(json.RawMessage(`1`)), "what was not kept does not count")
}
