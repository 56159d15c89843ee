package ingest

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
	"time"
)

// host describes the session format of one host: lines of records, or one document with records. A record contains
// parts, which the rules classify as calls and results, or it is a request. All names are member paths or conditions as
// in [holds]. No vendor guarantees its format, so records that are not understood are counted and skipped.
//
// A new format needs a row in [hosts] and in formats (importer.go), its identifying fields in shapes (detect.go), and a
// session in agentSessions, which TestAgentSessions reads. The locations of sessions are in report/hosts.go.
type host struct {
	records       string // members that hold the records, if a file is one document
	supportedWhen string // conditions of the supported records; other records are counted as skipped

	sessionWhen  string // conditions of the record that names the session; "": every record may
	session      string // id of the session; else the name of the file, or of its folder if all files have the same name
	sub          string // id of the subagent that a record belongs to
	subagentWhen string // conditions of the records of subagents without an id

	time     string // timestamp of a record
	turn     string // id that parallel calls share, for example of a message; it applies from this record on
	together bool   // turn applies to one record; without a turn the calls of a record are parallel

	body  string // member with the payload of a record; if it is absent, the record itself
	whole []rule // rules for the body
	parts string // lists of parts in the body
	rules []rule // rules for the parts

	requestWhen string // conditions of the records that hold a request of the user
	text        string // fields that hold the text of the request
	typed       bool   // the text may also be one that the host wrote, see [typed]
}

const callIDs = "call_id id"

// anthropicRules are the rules for the content blocks of Anthropic's API.
var anthropicRules = []rule{
	{when: "type=tool_use|server_tool_use|mcp_tool_use", id: "id", tool: "name", server: "server_name", arguments: "input"},
	{when: "type=*tool_result", id: "tool_use_id", result: &outcome{
		failed: "is_error=true", worked: ".", failure: "content", value: "content"}},
}

var hosts = map[string]*host{
	// A Claude Code session is a file of lines with one event each:
	//
	//	user       content "Fix the build"                          a request
	//	assistant  message.id m1, content [tool_use a]              a call
	//	assistant  message.id m1, content [tool_use b]              the same message: a and b are parallel
	//	user       content [tool_result a, is_error false]          a succeeded
	//
	// The calls of a subagent (isSidechain, in the same file or in a file of its own) form a thread of their own.
	"claude-code": {
		supportedWhen: "type=user|assistant|summary|system|progress|attachment|file-history-snapshot|queue-operation",
		session:       "sessionId", sub: "agentId", subagentWhen: "isSidechain=true",
		time: "timestamp", turn: "message.id uuid",
		parts: "message.content", rules: anthropicRules,
		requestWhen: "type=user !isMeta=true !isCompactSummary=true", text: "message.content", typed: true,
	},
	// A Codex session (rollout-….jsonl) is a file of lines {timestamp, type, payload}. Before September 2025 the lines
	// were bare payloads:
	//
	//	session_meta   {id}                                          the session
	//	event_msg      {type:user_message, message}                  a request
	//	response_item  {type:message, role:user, content}            the same request, or text that the program adds
	//	response_item  {type:function_call, name, arguments, call_id}
	//	response_item  {type:function_call_output, call_id, output}
	//	event_msg      {type:exec_command_end, call_id, exit_code}   the exit code of the command
	//	event_msg      {type:mcp_tool_call_end, call_id, invocation, result}
	//
	// Calls issued before the first of them has an output are parallel.
	"codex": {
		supportedWhen: "type=turn_context|compacted|session_meta payload; record_type; id timestamp !type; " +
			"type=message|reasoning !payload; payload.type=message|user_message|reasoning|agent_*|token_count|task_*|turn_*|exec_command_*|mcp_tool_call_begin|" +
			"patch_apply_*|web_search_*|ghost_snapshot|background_event|plan_update|stream_error|error|warning|" +
			"context_compacted|compaction|thread_rolled_back",
		sessionWhen: "type=session_meta; id timestamp !type", session: "payload.id id", time: "timestamp",
		body: "payload", whole: []rule{
			{when: "type=function_call|custom_tool_call", id: callIDs, tool: "name", arguments: "input arguments"},
			{when: "type=function_call_output|custom_tool_call_output", id: callIDs,
				result: &outcome{says: true, failure: "output", value: "output"}},
			{when: "type=exec_command_end exit_code", id: callIDs, result: &outcome{failed: "!exit_code=0", worked: "."}},
			{when: "type=mcp_tool_call_end", id: callIDs, server: "invocation.server", tool: "invocation.tool", result: &outcome{
				failed: "result.Err; result.Ok.isError=true", worked: "result.Ok",
				failure: "result.Err result.Ok.content", value: "result.Ok"}},
		},
		requestWhen: "payload.type=user_message; payload.type=message payload.role=user; type=message role=user",
		text:        "payload.message payload.content content", typed: true,
	},
	// A Copilot CLI session (session-state/ID/events.jsonl) is a file of events {type, data, timestamp}:
	//
	//	session.start             data {sessionId}
	//	user.message              data {content}
	//	assistant.message         the calls that follow it are parallel
	//	tool.execution_start      data {toolCallId, toolName, mcpServerName, mcpToolName, arguments, parentToolCallId}
	//	tool.execution_complete   data {toolCallId, success, result {content}, error {message}}
	"copilot-cli": {
		supportedWhen: "type=session.*|assistant.*|user.message|tool.execution_p*|tool.user_requested*|hook.*|subagent.*|" +
			"skill.*|system.*|permission.*|abort*",
		sessionWhen: "type=session.start", session: "data.sessionId", sub: "data.parentToolCallId",
		time: "timestamp", turn: "data.messageId", whole: []rule{
			{when: "type=tool.execution_start", id: "data.toolCallId", tool: "data.mcpToolName data.toolName",
				server: "data.mcpServerName", arguments: "data.arguments"},
			{when: "type=tool.execution_complete", id: "data.toolCallId", result: &outcome{
				failed: "data.success=false", worked: "data.success=true",
				failure: "data.error.message data.error", value: "data.result.content data.result"}},
		},
		requestWhen: "type=user.message", text: "data.content",
	},
	// A Gemini CLI session (tmp/PROJECT/chats/session-….json) is one object {sessionId, projectHash, messages} of messages
	//
	//	{type: user, content, timestamp}
	//	{type: gemini, id, toolCalls [{id, name, args, status: success|error|cancelled, result, timestamp}]}
	//
	// The file contains the time at which a call was recorded, but not its duration.
	"gemini-cli": {
		records: "messages", supportedWhen: "type=user|gemini|info|error|warning",
		session: "sessionId", time: "timestamp", turn: "id", together: true,
		parts: "toolCalls", rules: []rule{
			{when: ".", id: "id", tool: "name", arguments: "args", at: "timestamp"},
			{when: ".", id: "id", result: &outcome{failed: "status=error", worked: "status=success", void: "status=cancelled",
				failure: "resultDisplay result", value: "result"}},
		},
		requestWhen: "type=user", text: "content",
	},
	// A Goose session (sessions/ID.jsonl) begins with a line of metadata {working_dir, …}; then each line is a message
	// {role, created, content}, with contents
	//
	//	{type: text, text}
	//	{type: toolRequest, id, toolCall {status, value {name: server__tool, arguments}}}
	//	{type: toolResponse, id, toolResult {status: success|error, value, error}}
	"goose": {
		supportedWhen: "working_dir; role content", time: "created", together: true,
		parts: "content", rules: []rule{
			{when: "type=toolRequest", id: "id", tool: "toolCall.value.name", joined: "__", arguments: "toolCall.value.arguments"},
			{when: "type=toolResponse", id: "id", result: &outcome{
				failed: "toolResult.status=error; toolResult.value.isError=true", worked: "toolResult.status=success",
				failure: "toolResult.error toolResult.value", value: "toolResult.value"}},
		},
		requestWhen: "role=user", text: "content", typed: true,
	},
	// The command "opencode export" writes a session as one object {info {id}, messages [{info {role, time}, parts}]},
	// with parts {type: text, text} or
	//
	//	{type: tool, callID, tool, state {status: completed|error, input, output, error, time {start, end}}}
	"opencode": {
		records: "messages", supportedWhen: "info.role", sessionWhen: "messages", session: "info.id", time: "info.time.created",
		together: true, parts: "parts", rules: []rule{
			{when: "type=tool", id: "callID", tool: "tool", arguments: "state.input", at: "state.time.start"},
			{when: "type=tool state.status=completed|error", id: "callID", at: "state.time.end", result: &outcome{
				failed: "state.status=error", worked: ".", failure: "state.error", value: "state.output"}},
		},
		requestWhen: "info.role=user", text: "parts",
	},
	// The messages and items that [chats] reads; it assigns them to their conversations.
	"openai-chat": {
		supportedWhen: ".", together: true,
		// The log of a request and its response holds the lists inside those members.
		records: `messages items input output choices body.messages body.input
			request.messages request.items request.input request.output
			response.messages response.items response.input response.output response.choices
			response.body.output response.body.choices`,
		whole: []rule{
			{when: "type=function_call|custom_tool_call", id: callIDs, tool: "name", arguments: "arguments input"},
			{when: "type=*call_output", id: callIDs, result: answered("output")},
			{when: "type=mcp_call", id: "id", tool: "name", server: "server_label", arguments: "arguments"},
			{when: "type=mcp_call", id: "id", result: &outcome{failed: "error; status=failed",
				worked: "!status=in_progress|calling|incomplete", failure: "error", value: "output"}},
			{when: "role=tool", id: "tool_call_id", result: answered("content")},
		},
		parts: "tool_calls content", rules: append([]rule{
			{when: "function; custom; name arguments !type", id: "id", tool: "function.name custom.name name",
				arguments: "function.arguments custom.input arguments"},
		}, anthropicRules...),
		requestWhen: "role=user", text: "content",
	},
	// A Cline task (tasks/ID/api_conversation_history.json) is a list of messages {role, content}, with the content
	// blocks of Anthropic's API. Messages with calls written as XML in the text are not read.
	"cline": {
		supportedWhen: "role=user; role=assistant content=[*", time: "ts", together: true,
		parts: "content", rules: anthropicRules,
		requestWhen: "role=user", text: "content", typed: true,
	},
}

// session is the state of reading one file.
type session struct {
	*traces
	*host
	name  string
	began time.Time
	turn  string
	said  string // the last request; some hosts write it twice
	named bool
	only  *thread // the thread of all records, if they carry no session label
}

var errNothingKnown = errors.New("it has no record of a supported kind")

// sessions returns the decoder of a host's sessions.
func sessions(format string) decoder {
	return traceDecoder(format, eachValue, func(t *traces, file string) (func(line), func()) {
		s := &session{traces: t, host: hosts[format], name: sessionOf(file)}
		return s.value, func() {}
	})
}

// value reads a line: a record, a list of records, or an object that holds records.
func (s *session) value(l line) {
	d, err := newDocument(l)
	if err != nil {
		s.tally.Lines++
		s.drop(l.number, err)
		return
	}
	all, inside := d.elements()
	if records := d.records(s.records); records != nil {
		all, inside = records, true
		s.start(d, time.Time{})
	} else if !inside {
		all = []*document{d}
	}
	skipped := s.tally.Skipped
	for i, m := range all {
		number := l.number
		if inside {
			number = i + 1
		}
		s.record(number, number, m)
	}
	if s.tally.Lines += len(all); inside && len(all) > 0 && s.tally.Skipped-skipped == len(all) {
		s.drop(l.number, errNothingKnown)
	}
}

// records returns the elements of the named members, lists or single values, in their order; nil if no such member
// exists. A bare string is a request of the user. Of several choices of a model only the first is used, because it is
// the one that was taken.
func (d *document) records(names string) (all []*document) {
	for name := range strings.FieldsSeq(names) {
		v := d.at(name)
		if v == nil {
			continue
		}
		list, isList := v.elements()
		switch {
		case v.raw[0] == '"':
			list = []*document{{members: map[string]*document{"role": {raw: json.RawMessage(`"user"`)}, "content": v}}}
		case !isList:
			list = []*document{v}
		case strings.HasSuffix(name, "choices") && len(list) > 0:
			if list = list[:1]; list[0].at("message") != nil {
				list[0] = list[0].at("message")
			}
		}
		if all == nil {
			all = []*document{}
		}
		all = append(all, list...)
	}
	return all
}

// sessionOf returns the session name of a file: the file name, or the folder name if all files have the same name.
func sessionOf(file string) string {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if stem == "events" || stem == "api_conversation_history" {
		return path.Base(path.Dir(file))
	}
	return stem
}

// record reads one record of a session. number is its line; place is its position among the records.
func (s *session) record(number, place int, d *document) {
	at := moment(d, s.time)
	s.start(d, at)
	th := s.only
	if th == nil {
		label := s.name
		if sub := d.text(s.sub); sub != "" {
			label += "/" + sub
		} else if holds(d, s.subagentWhen) {
			label += "/subagent"
		}
		th = s.thread(label)
	} else if d.text("role") == "assistant" { // results without an id belong to the calls before this message
		th.answered = th.asked
	}
	if turn := d.text(s.host.turn); turn != "" || s.together {
		s.turn = turn
	}
	body, one := d, call{line: number, turn: s.turn, at: at}
	if inner := d.at(s.body); inner != nil {
		body = inner
	}
	calls := th.apply(s.whole, body, one)
	if s.together && s.turn == "" {
		one.turn = strconv.Itoa(place)
	}
	for list := range strings.FieldsSeq(s.parts) {
		if calls && list != "tool_calls" { // a record that is itself a call or a result has no others in its content
			break
		}
		for _, p := range body.blocks(list) {
			calls = th.apply(s.rules, p, one) || calls
		}
	}
	if !calls && !holds(d, s.supportedWhen) {
		s.skip()
	}
	if calls || !holds(d, s.requestWhen) {
		return
	}
	text := d.prose(s.text)
	if s.typed {
		text = typed(text)
	}
	if text != "" && (text != s.said || len(th.steps) > 0) {
		s.said = text
		if at.IsZero() {
			at = s.began
		}
		th.ask(number, text, at)
	}
}

// start reads the session id. A session that continues another repeats its lines, so the first id is kept.
func (s *session) start(d *document, at time.Time) {
	if s.sessionWhen != "" && (s.named || !holds(d, s.sessionWhen)) {
		return
	}
	if id := d.text(s.host.session); id != "" {
		s.name, s.began, s.named = id, at, s.sessionWhen != ""
	}
}

// typed returns what the user typed of a text in the name of the user: the content of the tags in which hosts put it,
// else the text itself, "" for a text that the host wrote.
func typed(text string) string {
	var tagged []string
	for _, tag := range []string{"command-name", "command-args", "task", "feedback"} {
		_, inside, _ := strings.Cut(text, "<"+tag+">")
		if inside, _, ok := strings.Cut(inside, "</"+tag+">"); ok {
			tagged = append(tagged, strings.TrimSpace(inside))
		}
	}
	if strings.HasPrefix(text, "<") {
		return strings.TrimSpace(strings.Join(tagged, " "))
	}
	for _, own := range []string{"[Request interrupted", "Caveat: The messages below", "# AGENTS.md instructions", "# Context from my IDE"} {
		if strings.HasPrefix(text, own) {
			return ""
		}
	}
	return text
}
