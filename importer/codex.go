package importer

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/toolcall"
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
	return in.eachTrace(t, []string{".jsonl"}, emit, func(name string) func(line) {
		c := codex{traces: t, session: strings.TrimSuffix(path.Base(name), path.Ext(name))}
		return c.line
	})
}

type codex struct {
	*traces
	session string
	said    string // the last request, which is said twice
}

type codexPayload struct {
	Type string `json:"type"`

	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Message string          `json:"message"`
	Content json.RawMessage `json:"content"`

	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`

	ExitCode   *int `json:"exit_code"`
	Invocation struct {
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"invocation"`
	Result json.RawMessage `json:"result"`
}

func (c *codex) line(l line) {
	var e struct {
		Timestamp string          `json:"timestamp"`
		Type      string          `json:"type"`
		Payload   json.RawMessage `json:"payload"`
	}
	if err := l.decode(&e); err != nil {
		c.drop(l.number, err)
		return
	}
	at, _ := readTime(e.Timestamp)
	switch e.Type {
	case "session_meta", "response_item", "event_msg":
	case "turn_context", "compacted":
		return
	default:
		c.skip()
		return
	}
	var p codexPayload
	if err := readable(json.Unmarshal(e.Payload, &p)); err != nil {
		c.drop(l.number, err)
		return
	}
	if e.Type == "session_meta" {
		if p.ID != "" && len(c.threads) == 0 { // a session that goes on from another repeats its lines
			c.session = p.ID
		}
		return
	}
	c.payload(l.number, &p, at)
}

func (c *codex) payload(number int, p *codexPayload, at time.Time) {
	th := c.thread(c.session, c.session)
	switch p.Type {
	case "user_message":
		c.ask(th, number, p.Message, at)
	case "message":
		if p.Role == "user" {
			blocks, err := texts(p.Content)
			if err != nil {
				c.drop(number, err)
				return
			}
			c.ask(th, number, blocks, at)
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		name, arguments := p.Name, p.Arguments
		switch {
		case len(p.Input) > 0:
			arguments = p.Input
		case p.Type == "local_shell_call":
			name, arguments = "local_shell", p.Action
		}
		if id := p.callID(); id != "" && name != "" {
			th.call(call{line: number, id: id, name: name, arguments: arguments, at: at})
		}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		r := codexOutput(p.Output)
		r.at = at
		th.settle(p.callID(), r)
	case "exec_command_end":
		if p.ExitCode != nil {
			th.settle(p.CallID, exited(*p.ExitCode, "", at))
		}
	case "mcp_tool_call_end":
		r := codexMCPResult(p.Result)
		if p.Invocation.Tool != "" {
			if id, _, err := toolcall.Unwrap(c.resolver, catalog.ID(p.Invocation.Server, p.Invocation.Tool), nil); err == nil && !toolcall.IsWrapper(id) {
				r.tool = id
			}
		}
		r.at = at
		th.settle(p.CallID, r)
	case "reasoning", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break", "token_count",
		"task_started", "task_complete", "turn_aborted", "turn_diff", "exec_command_begin", "exec_command_output_delta", "mcp_tool_call_begin",
		"patch_apply_begin", "patch_apply_end", "web_search_call", "web_search_begin", "web_search_end", "ghost_snapshot", "background_event",
		"plan_update", "stream_error", "error", "warning", "context_compacted", "compaction", "thread_rolled_back":
	default:
		c.skip()
	}
}

func (p *codexPayload) callID() string {
	if p.CallID != "" {
		return p.CallID
	}
	return p.ID
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

// texts joins the texts of a message: one, or blocks of any type that have one.
func texts(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if err := readable(json.Unmarshal(content, &blocks)); err != nil {
		return "", err
	}
	var all []string
	for _, b := range blocks {
		if b.Text != "" {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, "\n"), nil
}

// codexOutput reads how a call ended out of its output, as far as it says so: an exit code in JSON or
// in words, or a mark of success.
func codexOutput(output json.RawMessage) result {
	r := result{value: output}
	text := toolcall.Text(output)
	var o struct {
		Content  json.RawMessage `json:"content"`
		Success  *bool           `json:"success"`
		Output   json.RawMessage `json:"output"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	inner := toolcall.Unquoted(output)
	if json.Unmarshal(inner, &o) == nil {
		switch {
		case o.Success != nil && !*o.Success:
			r.outcome, r.text = episodic.Failure, toolcall.Text(o.Content)
			return r
		case o.Success != nil:
			r.outcome = episodic.Success
			return r
		case o.Metadata.ExitCode != nil:
			e := exited(*o.Metadata.ExitCode, toolcall.Text(o.Output), time.Time{})
			e.value = o.Output
			return e
		}
	}
	for l := range strings.Lines(text[:min(len(text), 512)]) {
		for _, words := range []string{"Exit code: ", "Process exited with code "} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(l), words); ok {
				if code, err := strconv.Atoi(rest); err == nil {
					e := exited(code, text, time.Time{})
					e.value = output
					return e
				}
			}
		}
	}
	return r
}

func exited(code int, text string, at time.Time) result {
	if code == 0 {
		return result{outcome: episodic.Success, at: at}
	}
	return result{outcome: episodic.Failure, text: text, at: at}
}

// codexMCPResult reads {"Ok":{"content":…,"isError":…}} and {"Err":"…"}.
func codexMCPResult(v json.RawMessage) result {
	var m struct {
		OK  json.RawMessage `json:"Ok"`
		Err json.RawMessage `json:"Err"`
	}
	if json.Unmarshal(v, &m) != nil {
		return result{}
	}
	if len(m.Err) > 0 {
		return result{outcome: episodic.Failure, text: toolcall.Text(m.Err)}
	}
	if len(m.OK) > 0 {
		return toolResult(m.OK)
	}
	return result{}
}
