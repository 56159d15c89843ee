package ingest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest/toolcall"
)

// A Codex session (rollout-….jsonl) is a file of lines {timestamp, type, payload}:
//
//	session_meta   {id}                                          the session
//	event_msg      {type:user_message, message}                  a request
//	response_item  {type:message, role:user, content}            the same, or what the program adds
//	response_item  {type:function_call, name, arguments, call_id}
//	response_item  {type:function_call_output, call_id, output}
//	event_msg      {type:exec_command_end, call_id, exit_code}   says how the command ended
//	event_msg      {type:mcp_tool_call_end, call_id, invocation, result}
//
// custom_tool_call and local_shell_call are calls as well. Calls that were issued before the first of
// them had an output are parallel. The format is not documented by its maker and changes.
func decodeCodex(in *input, emit func(Item) bool) error {
	t := in.traces("codex")
	return in.eachDocument(t, emit, func(name string) func(int, *document) {
		c := codex{traces: t, session: name}
		return c.line
	})
}

type codex struct {
	*traces
	session string
	said    string // the last request, which is said twice
}

var codexRules = []rule{
	{kinds: "function_call custom_tool_call", id: codexIDs, tool: []string{"name"}, arguments: []string{"input", "arguments"}},
	{kinds: "local_shell_call", id: codexIDs, fixed: "local_shell", arguments: []string{"input", "action"}},
	{kinds: "function_call_output custom_tool_call_output local_shell_call_output", id: codexIDs,
		result: func(f fields) result { return codexOutput(f.value("output")) }},
	{kinds: "exec_command_end", when: []string{"exit_code"}, id: []string{"call_id"}, result: codexExit},
}

var codexIDs = []string{"call_id", "id"}

// codexOther are the kinds of payloads that are known and hold no call.
var codexOther = strings.Fields(`reasoning agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break token_count
	task_started task_complete turn_aborted turn_diff exec_command_begin exec_command_output_delta mcp_tool_call_begin
	patch_apply_begin patch_apply_end web_search_call web_search_begin web_search_end ghost_snapshot background_event
	plan_update stream_error error warning context_compacted compaction thread_rolled_back`)

func (c *codex) line(number int, d *document) {
	kind := d.text("type")
	switch p := d.at("payload"); {
	case kind == "turn_context", kind == "compacted":
	case kind == "session_meta" && p != nil:
		if id := p.text("id"); id != "" && len(c.threads) == 0 { // a session that continues another repeats its lines
			c.session = id
		}
	case (kind == "response_item" || kind == "event_msg") && p != nil:
		c.payload(number, p, d.time("timestamp"))
	default:
		c.skip()
	}
}

func (c *codex) payload(number int, p *document, at time.Time) {
	th, kind := c.thread(c.session, c.session), p.text("type")
	switch {
	case kind == "user_message":
		c.ask(th, number, p.text("message"), at)
	case kind == "message":
		if p.text("role") == "user" {
			text, err := p.prose("content")
			if err != nil {
				c.drop(number, err)
				return
			}
			c.ask(th, number, text, at)
		}
	case kind == "mcp_tool_call_end":
		r := result{}
		if end := p.at("result"); end != nil {
			r = codexMCPResult(end)
		}
		if tool := p.text("invocation.tool"); tool != "" {
			if id, _, err := toolcall.Unwrap(c.resolver, catalog.ID(p.text("invocation.server"), tool), nil); err == nil && !toolcall.IsWrapper(id) {
				r.tool = id
			}
		}
		r.at = at
		th.settle(p.text("call_id"), r)
	case !th.apply(codexRules, kind, p, call{line: number, at: at}) && !slices.Contains(codexOther, kind):
		c.skip()
	}
}

// ask passes over what the program writes in the user's name, and the second telling of a request.
func (c *codex) ask(th *thread, number int, text string, at time.Time) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '<' || strings.HasPrefix(text, "# AGENTS.md instructions") || strings.HasPrefix(text, "# Context from my IDE setup") {
		return
	}
	if text == c.said && len(th.steps) == 0 {
		return
	}
	c.said = text
	th.ask(number, text, at)
}

// codexOutput reads how a call ended out of its output, as far as it says so: an exit code in JSON or
// in words, or a mark of success.
func codexOutput(output json.RawMessage) result {
	d := &document{raw: toolcall.Unquoted(output), problem: new(error)}
	switch {
	case holds(d, []string{"success=false"}):
		return result{value: output, outcome: episodic.Failure, text: toolcall.Text(d.value("content"))}
	case holds(d, []string{"success=true"}):
		return result{value: output, outcome: episodic.Success}
	}
	if code, err := strconv.Atoi(string(d.value("metadata.exit_code"))); err == nil {
		return exited(code, toolcall.Text(d.value("output")), d.value("output"))
	}
	text := toolcall.Text(output)
	for l := range strings.Lines(text[:min(len(text), 512)]) {
		for _, words := range []string{"Exit code: ", "Process exited with code "} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(l), words); ok {
				if code, err := strconv.Atoi(rest); err == nil {
					return exited(code, text, output)
				}
			}
		}
	}
	return result{value: output}
}

func codexExit(f fields) result {
	code, err := strconv.Atoi(string(f.value("exit_code")))
	if err != nil {
		return result{}
	}
	return exited(code, "", nil)
}

func exited(code int, text string, value json.RawMessage) result {
	if code == 0 {
		return result{outcome: episodic.Success, value: value}
	}
	return result{outcome: episodic.Failure, text: text, value: value}
}

// codexMCPResult reads {"Ok":{"content":…,"isError":…}} and {"Err":"…"}.
func codexMCPResult(d *document) result {
	if failure := d.value("Err"); failure != nil {
		return result{outcome: episodic.Failure, text: toolcall.Text(failure)}
	}
	if d.at("Ok") == nil {
		return result{}
	}
	return toolResult(d.at("Ok"))
}
