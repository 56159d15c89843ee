package ingest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCodex(t *testing.T) {
	item := func(payload string) string {
		return `{"timestamp":"2026-08-10T20:05:52.101Z","type":"response_item","payload":` + payload + "}\n"
	}
	event := func(payload string) string { return strings.Replace(item(payload), "response_item", "event_msg", 1) }
	text := `{"timestamp":"2026-08-10T20:05:00Z","type":"session_meta","payload":{"id":"s1"}}` + "\n" +
		item(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"be good"}]}`) +
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /x"}]}`) +
		event(`{"type":"user_message","message":"list"}`) +
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"list"}]}`) +
		item(`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}`) +
		item(`{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"nothing timed out\",\"metadata\":{\"exit_code\":2}}"}`) +
		item(`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2"}`) +
		item(`{"type":"custom_tool_call_output","call_id":"c2","output":"Exit code: 0\nok"}`) +
		item(`{"type":"custom_tool_call","name":"js","input":"x","call_id":"c3"}`) +
		event(`{"type":"exec_command_end","call_id":"c3","exit_code":1}`) +
		item(`{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c4"}`) +
		item(`{"type":"function_call_output","call_id":"c4","output":"Chunk\nProcess exited with code 127\n"}`) +
		item(`{"type":"function_call","name":"plan","arguments":"{}","call_id":"c5"}`) +
		item(`{"type":"function_call_output","call_id":"c5","output":{"content":"no","success":false}}`) +
		item(`{"type":"function_call","name":"fs__read","arguments":"{}","call_id":"c6"}`) +
		event(`{"type":"mcp_tool_call_end","call_id":"c6","invocation":{"server":"fs","tool":"read"},"result":{"Ok":{"isError":true,"content":[{"type":"text","text":"forbidden"}]}}}`) +
		item(`{"type":"function_call_output","call_id":"c6","output":"forbidden"}`) +
		item(`{"type":"function_call","name":"waymark__find_tool","arguments":"{}","call_id":"c8"}`) +
		event(`{"type":"mcp_tool_call_end","call_id":"c8","invocation":{"server":"waymark","tool":"find_tool"},"result":{"Ok":{"content":[]}}}`) +
		item(`{"type":"function_call","name":"silent","arguments":"{}","call_id":"c7"}`) +
		event(`{"type":"new_thing"}`)
	got, report := values(t, "codex", text, Options{})
	assert.Equal(t, []string{"list: shell !timeout apply_patch js !tool exec_command !tool plan !tool fs:read ?auth silent"}, got)
	assert.Equal(t, 1, report.Skipped)
	assert.Zero(t, report.Dropped.Total(), "%s", report)
}

// Sessions of before September 2025 have neither envelope nor times beyond the first line.
func TestCodexBare(t *testing.T) {
	got, report := values(t, "auto", lines(
		`{"id":"11111111","timestamp":"2025-08-02T17:17:41.762Z","instructions":null}`,
		`{"record_type":"state"}`,
		`{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"list"}]}`,
		`{"type":"function_call","id":"fc_1","name":"shell","arguments":"{}","call_id":"c1"}`,
		`{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"\",\"metadata\":{\"exit_code\":1}}"}`), Options{})
	assert.Equal(t, []string{"list: shell !tool"}, got)
	assert.Zero(t, report.Skipped+report.Dropped.Total(), "%s", report)
}
