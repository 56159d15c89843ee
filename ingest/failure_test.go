package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// failingSession writes, in each format of traces, a session of two calls of which the first failed with a text.
var failingSession = map[string]func(text string) string{
	"claude-code": func(text string) string {
		return lines(
			`{"type":"assistant","sessionId":"s","uuid":"1","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"mcp__fs__read","input":{}}]}}`,
			`{"type":"user","sessionId":"s","uuid":"2","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":`+quote(text)+`}]}}`,
			`{"type":"assistant","sessionId":"s","uuid":"3","message":{"id":"m2","content":[{"type":"tool_use","id":"c2","name":"mcp__fs__list","input":{}}]}}`)
	},
	"codex": func(text string) string {
		return lines(
			`{"timestamp":"2026-08-01T10:00:00Z","type":"session_meta","payload":{"id":"s"}}`,
			`{"timestamp":"2026-08-01T10:00:01Z","type":"response_item","payload":{"type":"function_call","name":"mcp__fs__read","arguments":"{}","call_id":"c1"}}`,
			`{"timestamp":"2026-08-01T10:00:02Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":{"success":false,"content":`+quote(text)+`}}}`,
			`{"timestamp":"2026-08-01T10:00:03Z","type":"response_item","payload":{"type":"function_call","name":"mcp__fs__list","arguments":"{}","call_id":"c2"}}`)
	},
	"copilot-cli": func(text string) string {
		return lines(
			`{"type":"session.start","data":{"sessionId":"s","version":1},"timestamp":"2026-08-01T10:00:00Z"}`,
			`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"fs-read","mcpServerName":"fs","mcpToolName":"read","arguments":{}},"timestamp":"2026-08-01T10:00:01Z"}`,
			`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":false,"error":{"message":`+quote(text)+`}},"timestamp":"2026-08-01T10:00:02Z"}`,
			`{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"fs-list","mcpServerName":"fs","mcpToolName":"list","arguments":{}},"timestamp":"2026-08-01T10:00:03Z"}`)
	},
	"gemini-cli": func(text string) string {
		return `{"sessionId":"s","projectHash":"p","messages":[{"id":"m1","type":"gemini","toolCalls":[{"id":"c1","name":"mcp__fs__read","args":{},"status":"error","resultDisplay":` + quote(text) + `}]},` +
			`{"id":"m2","type":"gemini","toolCalls":[{"id":"c2","name":"mcp__fs__list","args":{},"status":"validating"}]}]}`
	},
	"goose": func(text string) string {
		return lines(
			`{"working_dir":"/w","message_count":3}`,
			`{"role":"assistant","created":1785578401,"content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"fs__read","arguments":{}}}}]}`,
			`{"role":"user","created":1785578402,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"error","error":`+quote(text)+`}}]}`,
			`{"role":"assistant","created":1785578403,"content":[{"type":"toolRequest","id":"c2","toolCall":{"status":"success","value":{"name":"fs__list","arguments":{}}}}]}`)
	},
	"cline": func(text string) string {
		return `[{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"use_mcp_tool","input":{"server_name":"fs","tool_name":"read","arguments":{}}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":` + quote(text) + `}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"use_mcp_tool","input":{"server_name":"fs","tool_name":"list","arguments":{}}}]}]`
	},
	"openai-chat": func(text string) string {
		return `{"id":"s","messages":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"mcp__fs__read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","is_error":true,"content":` + quote(text) + `},{"role":"assistant","tool_calls":[{"id":"c2","function":{"name":"mcp__fs__list","arguments":"{}"}}]}]}`
	},
	"otel": func(text string) string {
		span := func(id, tool string, at int, status string) string {
			return fmt.Sprintf(`{"traceId":"000000000000000000000000000000aa","spanId":"00000000000000%s","name":"x","startTimeUnixNano":"%d000000000","endTimeUnixNano":"%d000000000",`+
				`"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":%q}}],"status":%s}`, id, at, at+1, tool, status)
		}
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span("01", "mcp__fs__read", 1790000000, `{"code":2,"message":`+quote(text)+`}`) + "," + span("02", "mcp__fs__list", 1790000002, `{}`) + `]}]}]}`
	},
	"mcp-jsonrpc": func(text string) string {
		return lines(
			`{"session":"s","server":"fs","direction":"client","message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}}`,
			`{"session":"s","server":"fs","direction":"server","message":{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":`+quote(text)+`}]}}}`,
			`{"session":"s","server":"fs","direction":"client","message":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}}`)
	},
	"langfuse": func(text string) string {
		return lines(
			`{"id":"o1","traceId":"t","type":"TOOL","name":"mcp__fs__read","startTime":"2026-08-01T10:00:00Z","endTime":"2026-08-01T10:00:01Z","level":"ERROR","statusMessage":`+quote(text)+`}`,
			`{"id":"o2","traceId":"t","type":"TOOL","name":"mcp__fs__list","startTime":"2026-08-01T10:00:02Z"}`)
	},
	"langsmith": func(text string) string {
		return lines(
			`{"id":"r1","trace_id":"t","run_type":"tool","name":"mcp__fs__read","start_time":"2026-08-01T10:00:00Z","end_time":"2026-08-01T10:00:01Z","status":"error","error":`+quote(text)+`}`,
			`{"id":"r2","trace_id":"t","run_type":"tool","name":"mcp__fs__list","start_time":"2026-08-01T10:00:02Z"}`)
	},
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func quote(text string) string { return string(encode(text)) }

// Whatever tells of a failure, its kind is the same, and what is nobody's fault is not held against the tool.
func TestFailuresOfEachFormat(t *testing.T) {
	for _, tt := range []struct {
		text    string
		outcome episodic.Outcome
		kind    string // "none": no step
	}{
		{"ENOENT: no such file or directory", episodic.Failure, "tool"},
		{"MCP error -32602: Invalid arguments for tool read", episodic.Failure, "argument"},
		{"Command timed out after 2m", episodic.Failure, "timeout"},
		{"HTTP 401 Unauthorized", episodic.Unknown, "auth"},
		{"connect ECONNREFUSED 127.0.0.1:80", episodic.Unknown, "unavailable"},
		{"429 Too Many Requests", episodic.Unknown, "unavailable"},
		{"[Request interrupted by user for tool use]", episodic.Unknown, "canceled"},
		{"The user doesn't want to proceed with this tool use.", "", "none"},
		{"Error: No such tool available: mcp__fs__read", "", "none"},
	} {
		for format, write := range failingSession {
			t.Run(format+" "+tt.kind, func(t *testing.T) {
				var all []episodic.Episode
				for it, err := range ReadFrom(t.Context(), strings.NewReader(write(tt.text)), Options{Format: format}) {
					require.NoError(t, err)
					require.Empty(t, it.Dropped)
					if it.Episode != nil {
						all = append(all, *it.Episode)
					}
				}
				require.Len(t, all, 1)
				steps := all[0].Steps
				assert.Equal(t, "fs:list", steps[len(steps)-1].Tool)
				if tt.kind == "none" {
					assert.Len(t, steps, 1)
					return
				}
				require.Len(t, steps, 2)
				assert.Equal(t, []string{"fs:read", string(tt.outcome), tt.kind}, []string{steps[0].Tool, string(steps[0].Outcome), steps[0].ErrorKind})
			})
		}
	}
}
