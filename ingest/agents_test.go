package ingest

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// One session as five hosts store it: a request, two parallel calls, one that timed out, a second request.
var agentSessions = map[string]struct {
	files    map[string]string
	duration int64 // of the first call, in ms; 0: not stored
}{
	"copilot-cli": {map[string]string{"s1/events.jsonl": lines(
		`{"type":"session.start","data":{"sessionId":"s1","version":1,"copilotVersion":"1.0.80"},"timestamp":"2026-09-01T09:00:00Z"}`,
		`{"type":"user.message","data":{"content":"Release SECRET"},"timestamp":"2026-09-01T09:00:01Z"}`,
		`{"type":"assistant.message","data":{"messageId":"m1","toolRequests":[]},"timestamp":"2026-09-01T09:00:02Z"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"view","arguments":{"path":"SECRET"}},"timestamp":"2026-09-01T09:00:02Z"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"ci-run","mcpServerName":"ci","mcpToolName":"run","arguments":{"branch":"SECRET"}},"timestamp":"2026-09-01T09:00:02Z"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"SECRET"}},"timestamp":"2026-09-01T09:00:03Z"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c2","success":false,"error":{"message":"timed out: SECRET"}},"timestamp":"2026-09-01T09:00:09Z"}`,
		`{"type":"user.message","data":{"content":"And now?"},"timestamp":"2026-09-01T10:00:00Z"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c3","toolName":"view","arguments":{}},"timestamp":"2026-09-01T10:00:02Z"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c3","success":true,"result":{}},"timestamp":"2026-09-01T10:00:03Z"}`,
		`{"type":"from.the_future","data":{},"timestamp":"2026-09-01T10:00:04Z"}`)}, 1000},
	"gemini-cli": {map[string]string{"p/chats/session-1.json": `{"sessionId":"s1","projectHash":"p","messages":[
		{"id":"m0","type":"user","content":"Release SECRET","timestamp":"2026-09-01T09:00:01Z"},
		{"id":"m1","type":"gemini","content":"","toolCalls":[
			{"id":"c1","name":"view","args":{"path":"SECRET"},"status":"success","result":[{"functionResponse":{"response":{"output":"SECRET"}}}],"timestamp":"2026-09-01T09:00:02Z"},
			{"id":"c2","name":"mcp__ci__run","args":{"branch":"SECRET"},"status":"error","resultDisplay":"timed out: SECRET","timestamp":"2026-09-01T09:00:02Z"},
			{"id":"c9","name":"view","args":{},"status":"cancelled","timestamp":"2026-09-01T09:00:02Z"}]},
		{"id":"m2","type":"user","content":[{"text":"And now?"}],"timestamp":"2026-09-01T10:00:01Z"},
		{"id":"m3","type":"gemini","toolCalls":[{"id":"c3","name":"view","args":{},"status":"success","timestamp":"2026-09-01T10:00:02Z"}]},
		{"id":"m4","type":"from_the_future"}]}`}, 0},
	"goose": {map[string]string{"s1.jsonl": lines(
		`{"working_dir":"/home/SECRET","description":"x","message_count":6}`,
		`{"role":"user","created":1788253201,"content":[{"type":"text","text":"Release SECRET"}]}`,
		`{"role":"assistant","created":1788253202,"content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"view","arguments":{"path":"SECRET"}}}},{"type":"toolRequest","id":"c2","toolCall":{"status":"success","value":{"name":"ci__run","arguments":{"branch":"SECRET"}}}}]}`,
		`{"role":"user","created":1788253203,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":[{"type":"text","text":"SECRET"}]}},{"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"timed out: SECRET"}}]}`,
		`{"role":"user","created":1788256801,"content":[{"type":"text","text":"And now?"}]}`,
		`{"role":"assistant","created":1788256802,"content":[{"type":"toolRequest","id":"c3","toolCall":{"status":"success","value":{"name":"view","arguments":{}}}}]}`,
		`{"role":"user","created":1788256803,"content":[{"type":"toolResponse","id":"c3","toolResult":{"status":"success","value":{"content":[],"isError":false}}}]}`,
		`{"from":"the future"}`)}, 1000},
	"opencode": {map[string]string{"s1.json": `{"info":{"id":"s1","title":"SECRET"},"messages":[
		{"info":{"role":"user","time":{"created":1788253201000}},"parts":[{"type":"text","text":"Release SECRET"},{"type":"text","synthetic":true,"text":"SECRET file"}]},
		{"info":{"role":"assistant","time":{"created":1788253202000}},"parts":[
			{"type":"tool","callID":"c1","tool":"view","state":{"status":"completed","input":{"path":"SECRET"},"output":"SECRET","time":{"start":1788253202000,"end":1788253203000}}},
			{"type":"tool","callID":"c2","tool":"mcp__ci__run","state":{"status":"error","input":{"branch":"SECRET"},"error":"timed out: SECRET","time":{"start":1788253202000,"end":1788253209000}}}]},
		{"info":{"role":"user","time":{"created":1788256801000}},"parts":[{"type":"text","text":"And now?"}]},
		{"info":{"role":"assistant","time":{"created":1788256802000}},"parts":[{"type":"tool","callID":"c3","tool":"view","state":{"status":"completed","input":{},"output":"","time":{"start":1788256802000,"end":1788256803000}}}]},
		{"from":"the future"}],"todos":[]}`}, 1000},
	"cline": {map[string]string{"tasks/s1/api_conversation_history.json": `[
		{"role":"user","content":[{"type":"text","text":"<task>\nRelease SECRET\n</task>"},{"type":"text","text":"<environment_details>SECRET</environment_details>"}],"ts":1788253201000},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"view","input":{"path":"SECRET"}},{"type":"tool_use","id":"c2","name":"use_mcp_tool","input":{"server_name":"ci","tool_name":"run","arguments":{"branch":"SECRET"}}}],"ts":1788253202000},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"SECRET"},{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":"timed out: SECRET"}],"ts":1788253203000},
		{"role":"user","content":[{"type":"text","text":"<feedback>And now?</feedback>"}],"ts":1788256801000},
		{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"view","input":{}}],"ts":1788256802000},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":""}],"ts":1788256803000}]`,
		"tasks/s2/api_conversation_history.json": `[{"role":"user","content":"x"},{"role":"assistant","content":"<read_file><path>SECRET</path></read_file>"}]`}, 1000},
}

func TestAgentSessions(t *testing.T) {
	for format, tt := range agentSessions {
		t.Run(format, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range tt.files {
				fsys[name] = &fstest.MapFile{Data: []byte("\uFEFF" + text)} // as some editors write it
			}
			var report Report
			var got []string
			var all strings.Builder
			for it, err := range ReadFS(t.Context(), fsys, Options{}) {
				require.NoError(t, err)
				report.Add(it)
				if e := it.Episode; e != nil {
					got = append(got, e.Intent+": "+strings.Join(steps(e), " "))
					if len(got) == 1 {
						require.Equal(t, tt.duration, e.Steps[0].DurationMS)
						require.Equal(t, "{path:string}", e.Steps[0].Shape)
					}
				}
				text, err := json.Marshal(it)
				require.NoError(t, err)
				all.Write(text)
			}
			require.Equal(t, []string{"Release SECRET: view/1 ci:run/1 !timeout", "And now?: view"}, got)
			require.NotContains(t, strings.ReplaceAll(all.String(), "Release SECRET", ""), "SECRET")
			require.Zero(t, report.Dropped.Total(), report.Reasons)
			require.Equal(t, 1, report.Skipped)
		})
	}
}

// A document that is damaged, or is of another form, is dropped by its name as a damaged line is.
func TestDamagedDocuments(t *testing.T) {
	const name = "tasks/s3/api_conversation_history.json"
	for text, reason := range map[string]string{
		`[{"role":"user","content":"SECR`: "the JSON value ends early (byte 25)",
		`[{"kind":"SECRET"}]`:             "it has no record of a supported kind",
	} {
		fsys := fstest.MapFS{name: {Data: []byte(text)}}
		for other, text := range agentSessions["cline"].files {
			fsys[other] = &fstest.MapFile{Data: []byte(text)}
		}
		var report Report
		for it, err := range ReadFS(t.Context(), fsys, Options{}) {
			require.NoError(t, err)
			report.Add(it)
		}
		require.Equal(t, []Reason{{File: name, Line: 1, Reason: reason}}, report.Reasons)
		require.Positive(t, report.Taken.Episodes)
	}
}
