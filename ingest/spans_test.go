package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// otlp writes spans as one line of OTLP JSON: id, parent, name, begin and end in seconds, attributes.
func otlp(spans ...string) string {
	var list []string
	for _, s := range spans {
		f := strings.Split(s, "|")
		var attributes []string
		for _, a := range f[5:] {
			name, value, _ := strings.Cut(a, "=")
			attributes = append(attributes, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, name, value))
		}
		list = append(list, fmt.Sprintf(`{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"00000000000000%s","parentSpanId":%q,"name":%q,"startTimeUnixNano":"17672256%s000000000","endTimeUnixNano":"17672256%s000000000","attributes":[%s]}`,
			f[0], strings.TrimSuffix("00000000000000"+f[1], "00000000000000"), f[2], f[3], f[4], strings.Join(attributes, ",")))
	}
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"session.id","value":{"stringValue":"s1"}}]},"scopeSpans":[{"spans":[` + strings.Join(list, ",") + `]}]}]}`
}

func TestOTelConventions(t *testing.T) {
	const gen = "gen_ai.operation.name=execute_tool"
	for _, tt := range []struct {
		name  string
		spans []string
		want  []string
	}{
		{"GenAI", []string{"01||execute_tool a|10|11|" + gen + "|gen_ai.tool.name=a", "02||execute_tool b|12|13|" + gen}, []string{": a b"}},
		{"MCP", []string{"01||tools/call a|10|11|mcp.method.name=tools/call|mcp.tool.name=a", "02||tools/call b|12|13|mcp.method.name=tools/call", "03||tools/list|14|15|mcp.method.name=tools/list"}, []string{": a b"}},
		{"OpenInference", []string{"01||x|10|11|openinference.span.kind=TOOL|tool.name=a|input.value={}", "02||b|12|13|openinference.span.kind=TOOL", "03||LLM|12|13|openinference.span.kind=LLM"}, []string{": a b"}},
		{"Traceloop", []string{"01||a.tool|10|11|traceloop.span.kind=tool|traceloop.entity.name=a", "02||w|12|13|traceloop.span.kind=workflow|traceloop.entity.name=w"}, []string{": a"}},
		{"Vercel AI SDK", []string{"01||ai.toolCall|10|11|ai.operationId=ai.toolCall|ai.toolCall.name=a|ai.toolCall.args={}"}, []string{": a"}},
		{"Claude Code", []string{"01||claude_code.tool|10|11|tool_name=mcp__fs__read", "00||claude_code.interaction|09|12|user_prompt=go"}, []string{": fs:read"}},
		{"Claude Code, under its prompt", []string{"01|05|claude_code.tool|10|11|tool_name=mcp__fs__read", "05||claude_code.interaction|09|12|user_prompt=go"}, []string{"go: fs:read"}},
		{"Vercel AI SDK, under its prompt", []string{"01|05|ai.toolCall|10|11|ai.operationId=ai.toolCall|ai.toolCall.name=a", "05||x|09|12|ai.operationId=ai.streamText|ai.prompt={\"prompt\":\"go\"}"}, []string{"go: a"}},
		{"Traceloop, under its input", []string{"01|05|a.tool|10|11|traceloop.span.kind=tool|traceloop.entity.name=a", "05||x|09|12|traceloop.span.kind=agent|traceloop.entity.input={\"inputs\":{\"input\":\"go\"}}"}, []string{"go: a"}},
		{"Pydantic AI, under its messages", []string{"01|05|running tool|10|11|gen_ai.tool.name=a", "05||x|09|12|gen_ai.operation.name=invoke_agent|all_messages_events=[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\"}]"}, []string{"go: a"}},
		{"older GenAI", []string{"01||running tool: a|10|11|gen_ai.tool.name=a"}, []string{": a"}},
		{"failed", []string{"01||execute_tool a|10|11|" + gen + "|error.type=timeout"}, []string{": a !timeout"}},
		{"failed, and the span is fine", []string{"01||execute_tool a|10|11|" + gen + "|gen_ai.tool.status=error", "02||execute_tool b|12|13|" + gen + "|gen_ai.tool.status=success"}, []string{": a !tool b"}},
		{"one inside the other", []string{"03|02|tools/call a|12|13|mcp.method.name=tools/call", "02|01|tools/call a|11|14|" + gen + "|mcp.method.name=tools/call", "01||execute_tool a|10|15|" + gen + "|gen_ai.tool.name=a"}, []string{": a"}},
		{"a wrapper that says what it calls", []string{"01||t|10|15|" + gen + "|gen_ai.tool.name=hub:call_tool|gen_ai.tool.call.arguments={\"tool\":\"fs:read\",\"arguments\":{}}", "02|01|tools/call call_tool|11|14|mcp.method.name=tools/call"}, []string{": fs:read"}},
		{"a wrapper that does not", []string{"01||t|10|15|" + gen + "|gen_ai.tool.name=hub:call_tool", "02|01|tools/call read|11|14|mcp.method.name=tools/call"}, []string{": read"}},
		{"and calls nothing", []string{"01||t|10|15|" + gen + "|gen_ai.tool.name=hub:call_tool"}, []string{": hub:call_tool"}},
		{"a subagent", []string{"05|03|execute_tool grep|12|13|" + gen, "06|03|execute_tool cat|14|15|" + gen, "03|02|invoke_agent sub|11|16|gen_ai.operation.name=invoke_agent", "02|01|execute_tool Task|10|17|" + gen, "07|01|execute_tool b|18|19|" + gen,
			"01||invoke_agent main|09|20|gen_ai.operation.name=invoke_agent"}, []string{": Task b", ": grep cat"}},
		{"a parent that is not there", []string{"01|99|execute_tool a|10|11|" + gen}, []string{": a"}},
		{"its own parent", []string{"01|01|execute_tool a|10|11|" + gen, "02|03|execute_tool b|12|13|x=y", "03|02|execute_tool c|14|15|z=y"}, nil},
		{"the same again", []string{"01||execute_tool a|10|11|" + gen, "01||execute_tool a|10|11|" + gen}, []string{": a"}},
		{"side by side, and one after", []string{"01||execute_tool a|10|13|" + gen, "02||execute_tool b|11|12|" + gen, "03||execute_tool c|12|14|" + gen}, []string{": a/1 b/1 c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, report := values(t, "otel", otlp(tt.spans...), Options{})
			assert.Equal(t, tt.want, got)
			assert.Zero(t, report.Dropped.Total(), "%s", report)
		})
	}
}

// Spans as other programs write them, conventions in events and results, and bad spans beside good ones.
func TestSpanRows(t *testing.T) {
	const at = `"start_time":"2026-01-01T00:00:01Z","end_time":"2026-01-01T00:00:02Z"`
	row := func(id, attributes, more string) string {
		return `{"traceId":"aa","spanId":"` + id + `","name":"` + id + `","startTimeUnixNano":"176722561` + id + `000000000","endTimeUnixNano":1767225620000000000,"attributes":[` + attributes + `]` + more + `}`
	}
	tool := `{"key":"gen_ai.tool.name","value":{"stringValue":"a"}}`
	document := func(spans ...string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"Phoenix", `[{"name":"a","context":{"trace_id":"t","span_id":"1"},"parent_id":"0","span_kind":"TOOL",` + at + `,"status_code":"ERROR","status_message":"timed out","attributes":{"tool":{"name":"a"}}},
			{"name":"main","context":{"trace_id":"t","span_id":"0"},"parent_id":null,"span_kind":"AGENT",` + at + `,"status_code":"OK","attributes":{"input.value":"find it"}}]`, []string{"find it: a !timeout"}},
		{"Phoenix, a table", `{"name":"x","context.trace_id":"t","context.span_id":"1","parent_id":null,"span_kind":"TOOL",` + at + `,"status_code":"OK","attributes.tool.name":"a"}`, []string{": a"}},
		{"console exporter", `{"name":"execute_tool a","context":{"trace_id":"0xaa","span_id":"0x01"},"kind":"SpanKind.INTERNAL","parent_id":null,` + at + `,"status":{"status_code":"ERROR","description":"timeout"},"attributes":{"gen_ai.operation.name":"execute_tool"},"resource":{"attributes":{"service.name":"x"}}}`,
			[]string{": a !timeout"}},
		{"Agents traces", `{"data":[{"object":"trace","id":"t1","workflow_name":"w","group_id":"thread1","metadata":null},
			{"object":"trace.span","id":"s2","trace_id":"t1","parent_id":"s0","started_at":"2026-01-01T00:00:03Z","ended_at":"2026-01-01T00:00:04Z","span_data":{"type":"function","name":"write","input":"{}","output":"no","mcp_data":{"server":"fs"}},"error":{"message":"timed out"}},
			{"object":"trace.span","id":"s1","trace_id":"t1","parent_id":"s0","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:01Z","span_data":{"type":"function","name":"read","input":"{\"p\":1}","output":"ok","mcp_data":{"server":"fs"}},"error":null},
			{"object":"trace.span","id":"s0","trace_id":"t1","parent_id":null,"started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:05Z","span_data":{"type":"agent","name":"w"}}]}`,
			[]string{": fs:read fs:write !timeout"}},
		{"Langfuse, from storage", `{"id":"1","trace_id":"t","project_id":"p","type":"TOOL","name":"a","start_time":"2026-01-01 00:00:01.000","end_time":"2026-01-01 00:00:02.000","parent_observation_id":null,"level":"ERROR","status_message":"timed out","metadata":"{\"attributes\":\"{}\"}"}`, []string{": a !timeout"}},
		{"Langfuse", `[{"id":"t1","sessionId":"s1","input":{"question":"What?"},"observations":[
		{"id":"o2","type":"TOOL","name":"b","startTime":"2026-01-01T00:00:02Z","endTime":"2026-01-01T00:00:03Z","parentObservationId":"o0","level":"ERROR","statusMessage":"401 Unauthorized"},
		{"id":"o1","type":"TOOL","name":"a","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-01T00:00:01Z","parentObservationId":"o0","input":"{\"p\":1}"},
		{"id":"o3","type":"TOOL","name":"inner","startTime":"2026-01-01T00:00:00Z","parentObservationId":"o1"},
		{"id":"o0","type":"CHAIN","name":"main","startTime":"2026-01-01T00:00:00Z"},
		{"id":"o9","type":"NEW","name":"x","startTime":"2026-01-01T00:00:00Z"}]}]`,
			[]string{"What?: a b ?auth"}},
		{"Langfuse, downloaded", `{"trace":{"id":"t1","sessionId":"s1","input":"What?"},"observations":[
		{"id":"o1","traceId":"t1","type":"TOOL","name":"execute_tool a","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-01T00:00:01Z"},
		{"id":"o2","traceId":"t1","type":"TOOL","name":"running tool: b","startTime":"2026-01-01T00:00:02Z","endTime":"2026-01-01T00:00:03Z",
			"metadata":{"attributes":{"gen_ai.tool.name":"b","gen_ai.tool.status":"error"}}}]}`,
			[]string{"What?: a b !tool"}},
		{"LangSmith", `{"runs":[{"id":"r0","name":"agent","run_type":"chain","trace_id":"r0","start_time":"2026-01-01T00:00:00","inputs":{"input":"What?"},
		"child_runs":[{"id":"r2","name":"b","run_type":"tool","start_time":"2026-01-01T00:00:02","end_time":"2026-01-01T00:00:03","inputs":{"input":"{\"q\":1}"},"error":"ValueError: schema","status":"error"}]},
		{"id":"r1","name":"a","run_type":"tool","trace_id":"r0","dotted_order":"20260101T000000000000Zr0.20260101T000001000000Zr1","start_time":"2026-01-01T00:00:01","end_time":"2026-01-01T00:00:02","inputs":{"p":1},"outputs":{"o":1},"error":null,"status":"success"}]}`,
			[]string{"What?: a b !argument"}},
		{"a result that says it", document(row("1", tool+`,{"key":"gen_ai.tool.call.result","value":{"stringValue":"{\"isError\":true,\"content\":[{\"text\":\"timed out\"}]}"}}`, "")), []string{": a !timeout"}},
		{"an exception under a status that is fine", document(row("1", tool, `,"status":{"code":1},"events":[{"name":"exception","attributes":[{"key":"exception.message","value":{"stringValue":"timed out"}}]}]`)), []string{": a !timeout"}},
		{"names of the status", document(row("1", tool, `,"status":{"code":"STATUS_CODE_ERROR"}`), row("2", tool+`,{"key":"tool.status","value":{"stringValue":"FAILED"}}`, "")), []string{": a/1 !tool a/1 !tool"}},
		{"a number that is none", document(row("1", tool+`,{"key":"gen_ai.tool.call.arguments","value":{"kvlistValue":{"values":[{"key":"n","value":{"intValue":"abc"}}]}}}`, "")), []string{": a"}},
		{"one bad span", document(row("1", tool, ""), `{"traceId":5,"spanId":"9","name":"b"}`, `{"name":"c","traceId":"aa"}`, row("2", tool, "")), []string{": a/1 a/1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, report := values(t, "auto", tt.text, Options{})
			assert.Equal(t, tt.want, got)
			assert.Zero(t, report.Dropped.Total(), "%s", report)
		})
	}
}

// A document over many lines, and one whose names are those of the protocol's text.
func TestOTelDocument(t *testing.T) {
	text := strings.ReplaceAll(otlp("01||execute_tool a|10|11|gen_ai.operation.name=execute_tool"), ",", ",\n ")
	format, err := sniff("t.json", []byte(text))
	require.NoError(t, err)
	assert.Equal(t, "otel", format)
	got, report := values(t, "otel", text, Options{})
	assert.Equal(t, []string{": a"}, got)
	assert.Equal(t, 1, report.Lines)
	_, report = values(t, "otel", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"zz"}]}]}]}`, Options{})
	assert.Equal(t, 1, report.Skipped)
}
