package ingest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenAIChat(t *testing.T) {
	begin := `{"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"call_9fXk2LmPq01Zt","function":{"name":"a"}}]}`
	more := `,{"role":"tool","tool_call_id":"call_9fXk2LmPq01Zt","content":"1"},{"role":"assistant","tool_calls":[{"id":"call_8aBc2LmPq01Zt","function":{"name":"b"}}]}`
	next := `,{"role":"user","content":"on"},{"role":"assistant","tool_calls":[{"id":"call_7aBc2LmPq01Zt","function":{"name":"c"}}]}`
	one := `{"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]}` + "\n"
	two := strings.Replace(one, `"content":"x"}`, `"content":"y"},{"role":"assistant","tool_calls":[{"id":"call_2","function":{"name":"b"}}]}`, 1)
	for _, tt := range []struct {
		name, text string
		want       []string
		lines      int
	}{
		{"arguments as an object, no ids", `{"messages":[{"role":"user","content":[{"text":"go"}]},
			{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{"x":1}}},{"function":{"name":"b","arguments":{}}}]},
			{"role":"tool","content":"{\"error\":\"invalid argument x\"}"},{"role":"tool","content":"fine"},
			{"role":"assistant","tool_calls":[{"function":{"name":"c","arguments":""}}]}]}`,
			[]string{"go: a/1 !argument b/1 c"}, 1},
		{"through Waymark", `{"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"mcp__waymark__find_tool"}}]},{"role":"tool","tool_call_id":"1","content":"{}"},
			{"role":"assistant","tool_calls":[{"id":"2","function":{"name":"mcp__waymark__call_tool","arguments":"{\"tool\":\"fs:read\"}"}},{"id":"3","function":{"name":"mcp__waymark__git__log"}}]}]}`, []string{"go: fs:read/1 git:log/1"}, 1},
		{"several requests", `{"messages":[{"role":"user","content":"one"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]},{"role":"tool","tool_call_id":"1","content":""},
			{"role":"user","content":"two"},{"role":"assistant","tool_calls":[{"id":"2","function":{"name":"b"}}]}]}`, []string{"one: a", "two: b"}, 1},
		{"failures say so", `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}},{"id":"2","function":{"name":"b"}},{"id":"3","function":{"name":"c"}}]},
			{"role":"tool","tool_call_id":"2","content":"timeout","status":"error"},{"role":"tool","tool_call_id":"1","is_error":true,"content":"denied by policy"},
			{"role":"tool","tool_call_id":"3","content":"{\"error\":null,\"rows\":[]}"}]}`, []string{": b/1 !timeout c/1"}, 1},
		{"a message a line", "{\"role\":\"user\",\"content\":\"go\"}\n{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\"}}]}\n{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"x\"}\n{\"role\":\"assi",
			[]string{"go: a"}, 4},
		{"an answer that holds objects with names", `{"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]},
			{"role":"tool","tool_call_id":"1","content":[{"id":"7","name":"Alice Smith","input":{}}]}]}`, []string{"go: a"}, 1},
		{"a list of messages", `[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]}]`, []string{"go: a"}, 1},
		{"a list of conversations", "[\n{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\"}}]}]},\n" +
			`{"messages":[{"role":"user","content":"y"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"b"}}]}]}]`, []string{"x: a", "y: b"}, 2},
		{"a logged request with its answer", `{"request":{"model":"m","messages":[{"role":"user","content":"go"}]},"response":{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]}}]}}`,
			[]string{"go: a"}, 1},
		{"Responses", `{"id":"resp_1","model":"m","input":"go","output":[{"type":"reasoning"},{"type":"function_call","id":"fc1","call_id":"c1","name":"a","arguments":"{}"},{"type":"function_call","id":"fc2","call_id":"c2","name":"b","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"function_call_output","call_id":"c2","output":"2"},
			{"type":"mcp_call","id":"m1","server_label":"fs","name":"read","arguments":"{}","output":"x","error":null},{"type":"mcp_call","id":"m2","server_label":"fs","name":"write","arguments":"{}","error":"unauthorized"}]}`,
			[]string{"go: a/1 b/1 fs:read fs:write ?auth"}, 1},
		{"blocks of another interface, and words of an exit", `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"a","input":{}},{"type":"tool_use","id":"t2","name":"b","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"timed out"}]},{"role":"assistant","tool_calls":[{"id":"t3","function":{"name":"c"}}]},
			{"role":"tool","tool_call_id":"t3","content":"Exit code: 2\nforbidden"}]}`, []string{"go: a/1 !timeout b/1 c ?auth"}, 1},
		{"a log that holds a conversation again and again, longer every time", begin + "]}\n" + begin + more + "]}\n" + begin + more + next + "]}\n",
			[]string{"go: a b", "on: c"}, 3},
		{"ids that begin anew with each conversation, and one of them repeated", one + two + one, []string{"go: a", "go: a b"}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			format, err := sniff("x.jsonl", []byte(tt.text))
			require.NoError(t, err)
			assert.Equal(t, "openai-chat", format)
			got, report := values(t, "openai-chat", tt.text, Options{})
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.lines, report.Lines)
			assert.Zero(t, report.Duplicates.Total())
		})
	}
}
