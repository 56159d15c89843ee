package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
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
	format  string
	records string // members that hold the records, if a file is one document
	known   string // conditions of the supported records; other records are counted as skipped

	starts  string // conditions of the record that names the session; "": every record may
	session string // id of the session; else the name of the file, or of its folder if all files have the same name
	sub     func(s *session, d *document) string

	time     string // timestamp of a record
	turn     string // id that parallel calls share, for example of a message; it applies from this record on
	together bool   // turn applies to one record; without a turn the calls of a record are parallel

	body  string // member with the payload of a record; if it is absent, the record itself
	kind  string // type of a record
	whole []rule // rules for the body
	parts string // lists of parts in the body
	rules []rule // rules for the parts, selected by their type

	asks   string // conditions of the records that hold a request of the user
	text   string // fields that hold the text of the request
	prompt func(text string) string
}

const callIDs = "call_id id"

// anthropicRules are the rules for the content blocks of Anthropic's API.
var anthropicRules = []rule{
	{kinds: "tool_use|server_tool_use|mcp_tool_use", id: "id", tool: "name", server: "server_name", arguments: "input"},
	{kinds: "*tool_result", id: "tool_use_id", result: &outcome{
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
		format:  "claude-code",
		known:   "type=user|assistant|summary|system|progress|attachment|file-history-snapshot|queue-operation",
		session: "sessionId", sub: sidechain,
		time: "timestamp", turn: "message.id uuid",
		parts: "message.content", rules: anthropicRules,
		asks: "type=user !isMeta=true !isCompactSummary=true", text: "message.content", prompt: typedPrompt,
	},
	// A Codex session (rollout-….jsonl) is a file of lines {timestamp, type, payload}. Before September 2025 the lines
	// were bare payloads, and in the first versions a file was {session, items}:
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
		format: "codex", records: "session items",
		known: "type=turn_context|compacted|session_meta payload; record_type; id timestamp !type; " +
			"type=message|reasoning !payload; payload.type=message|user_message|reasoning|agent_*|token_count|task_*|turn_*|exec_command_*|mcp_tool_call_begin|" +
			"patch_apply_*|web_search_*|ghost_snapshot|background_event|plan_update|stream_error|error|warning|" +
			"context_compacted|compaction|thread_rolled_back",
		starts: "type=session_meta; id timestamp !type", session: "payload.id id", time: "timestamp",
		body: "payload", kind: "payload.type type", whole: []rule{
			{kinds: "function_call|custom_tool_call", id: callIDs, tool: "name", arguments: "input arguments"},
			{kinds: "local_shell_call", id: callIDs, fixed: "local_shell", arguments: "input action"},
			{kinds: "function_call_output|custom_tool_call_output|local_shell_call_output", id: callIDs,
				result: &outcome{says: true, failure: "output", value: "output"}},
			{kinds: "exec_command_end", when: "exit_code", id: callIDs, result: &outcome{failed: "!exit_code=0", worked: "."}},
			{kinds: "mcp_tool_call_end", id: callIDs, server: "invocation.server", tool: "invocation.tool", result: &outcome{
				failed: "result.Err; result.Ok.isError=true", worked: "result.Ok",
				failure: "result.Err result.Ok.content", value: "result.Ok"}},
		},
		asks: "payload.type=user_message; payload.type=message payload.role=user; type=message role=user",
		text: "payload.message payload.content content", prompt: codexPrompt,
	},
	// A Copilot CLI session (session-state/ID/events.jsonl) is a file of events {type, data, timestamp}:
	//
	//	session.start             data {sessionId}
	//	user.message              data {content}
	//	assistant.message         the calls that follow it are parallel
	//	tool.execution_start      data {toolCallId, toolName, mcpServerName, mcpToolName, arguments, parentToolCallId}
	//	tool.execution_complete   data {toolCallId, success, result {content}, error {message}}
	"copilot-cli": {
		format: "copilot-cli",
		known: "type=session.*|assistant.*|user.message|tool.execution_p*|tool.user_requested*|hook.*|subagent.*|" +
			"skill.*|system.*|permission.*|abort*",
		starts: "type=session.start", session: "data.sessionId",
		sub:  func(_ *session, d *document) string { return d.text("data.parentToolCallId") },
		time: "timestamp", turn: "data.messageId",
		body: "data", kind: "type", whole: []rule{
			{kinds: "tool.execution_start", id: "toolCallId", tool: "mcpToolName toolName", server: "mcpServerName",
				arguments: "arguments"},
			{kinds: "tool.execution_complete", id: "toolCallId", result: &outcome{
				failed: "success=false", worked: "success=true",
				failure: "error.message error", value: "result.content result"}},
		},
		asks: "type=user.message", text: "data.content",
	},
	// A Gemini CLI session (tmp/PROJECT/chats/session-….json) is one object {sessionId, projectHash, messages} of messages
	//
	//	{type: user, content, timestamp}
	//	{type: gemini, id, toolCalls [{id, name, args, status: success|error|cancelled, result, timestamp}]}
	//
	// The file contains the time at which a call was recorded, but not its duration.
	"gemini-cli": {
		format: "gemini-cli", records: "messages", known: "type=user|gemini|info|error|warning",
		session: "sessionId", time: "timestamp", turn: "id", together: true,
		parts: "toolCalls", rules: []rule{
			{id: "id", tool: "name", arguments: "args", at: "timestamp"},
			{id: "id", result: &outcome{failed: "status=error", worked: "status=success", void: "status=cancelled",
				failure: "resultDisplay result", value: "result"}},
		},
		asks: "type=user", text: "content",
	},
	// A Goose session (sessions/ID.jsonl) begins with a line of metadata {working_dir, …}; then each line is a message
	// {role, created, content}, with contents
	//
	//	{type: text, text}
	//	{type: toolRequest, id, toolCall {status, value {name: server__tool, arguments}}}
	//	{type: toolResponse, id, toolResult {status: success|error, value, error}}
	"goose": {
		format: "goose", known: "working_dir; role content", time: "created", together: true,
		parts: "content", rules: []rule{
			{kinds: "toolRequest", id: "id", tool: "toolCall.value.name", joined: "__", arguments: "toolCall.value.arguments"},
			{kinds: "toolResponse", id: "id", result: &outcome{
				failed: "toolResult.status=error; toolResult.value.isError=true", worked: "toolResult.status=success",
				failure: "toolResult.error toolResult.value", value: "toolResult.value"}},
		},
		asks: "role=user", text: "content", prompt: typedPrompt,
	},
	// OpenCode keeps a folder of small files: message/SESSION/MESSAGE.json {id, role, time}, and
	// part/MESSAGE/PART.json, {type: text, text} or
	//
	//	{type: tool, callID, tool, state {status: completed|error, input, output, error, time {start, end}}}
	//
	// Ids sort by time. [decodeOpenCode] inserts the parts of a message into the message.
	"opencode": {
		format: "opencode", known: ".", time: "time.created", together: true,
		parts: "parts", rules: []rule{
			{kinds: "tool", id: "callID", tool: "tool", arguments: "state.input", at: "state.time.start"},
			{kinds: "tool", when: "state.status=completed|error", id: "callID", at: "state.time.end", result: &outcome{
				failed: "state.status=error", worked: ".", failure: "state.error", value: "state.output"}},
		},
		asks: "role=user", text: "parts",
	},
	// The messages and items that [decodeOpenAIChat] reads; it assigns them to their conversations.
	"openai-chat": {
		format: "openai-chat", known: ".", together: true,
		// The log of a request and its response holds the lists inside those members.
		records: `messages items input output choices body.messages body.input
			request.messages request.items request.input request.output
			response.messages response.items response.input response.output response.choices
			response.body.output response.body.choices`,
		kind: "type role", whole: []rule{
			{kinds: "function_call|custom_tool_call", id: callIDs, tool: "name", arguments: "arguments input"},
			{kinds: "*call_output", id: callIDs, result: answered("output")},
			{kinds: "local_shell_call", id: callIDs, fixed: "local_shell", arguments: "action"},
			{kinds: "mcp_call", id: "id", tool: "name", server: "server_label", arguments: "arguments"},
			{kinds: "mcp_call", id: "id", result: &outcome{failed: "error; status=failed",
				worked: "!status=in_progress|calling|incomplete", failure: "error", value: "output"}},
			{kinds: "assistant", when: "function_call", tool: "function_call.name", arguments: "function_call.arguments"},
			{kinds: "tool|function", id: "tool_call_id", result: answered("content")},
		},
		parts: "tool_calls content", rules: append([]rule{
			{kinds: "function|custom|", when: "function; custom; name arguments; name input", id: "id", tool: "function.name custom.name name",
				arguments: "function.arguments custom.input arguments"},
		}, anthropicRules...),
		asks: "role=user", text: "content",
	},
	// A Cline task (tasks/ID/api_conversation_history.json) is a list of messages {role, content}, with the content
	// blocks of Anthropic's API. Messages with calls written as XML in the text are not read.
	"cline": {
		format: "cline", known: "role=user; role=assistant content=[*", time: "ts", together: true,
		parts: "content", rules: anthropicRules,
		asks: "role=user", text: "content", prompt: func(text string) string {
			return cmp.Or(between(text, "<task>", "</task>"), between(text, "<feedback>", "</feedback>"))
		},
	},
}

// session is the state of reading one file.
type session struct {
	*traces
	*host
	name  string
	began time.Time
	turn  string
	said  string            // the last request; some hosts write it twice
	sides map[string]string // uuid of a line of a Claude Code sidechain → its subagent

	named bool
	only  *thread // the thread of all records, if they carry no session label
}

var errNothingKnown = errors.New("none of its records is of a kind that is known")

func (h *host) decode(in *input, emit func(Item) bool) error {
	t := in.traces(h.format)
	return in.eachTraceFile(t, emit, func(name string, r io.Reader, more func() bool) error {
		s := &session{traces: t, host: h, name: in.sessionOf(name), sides: map[string]string{}}
		return eachValue(r, false, func(l line) bool {
			if err := s.value(l); err != nil {
				t.drop(l.number, err)
			}
			return more()
		})
	})
}

// value reads a line: a record, a list of records, or an object that holds records.
func (s *session) value(l line) error {
	d, err := newDocument(l)
	inside := err != nil && l.problem == "" && bytes.HasPrefix(l.data, []byte("["))
	all := []*document{d}
	if inside {
		d = &document{raw: l.data, problem: new(error)}
		if all, inside = d.elements(); inside {
			err = nil
		}
	}
	if err != nil {
		s.tally.Lines++
		return err
	}
	if records := d.records(s.records); records != nil {
		all, inside = records, true
		s.start(d, time.Time{})
	}
	skipped := s.tally.Skipped
	for i, m := range all {
		number := l.number
		if inside {
			number = i + 1
		}
		s.record(number, number, m)
	}
	if s.tally.Lines += len(all); *d.problem == nil && inside && len(all) > 0 && s.tally.Skipped-skipped == len(all) {
		return errNothingKnown
	}
	return *d.problem // reported after the readable part was read
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
			text := encode(map[string]json.RawMessage{"role": json.RawMessage(`"user"`), "content": v.raw})
			list = []*document{{raw: text, problem: d.problem}}
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
func (in *input) sessionOf(name string) string {
	stem, folder := strings.TrimSuffix(path.Base(name), path.Ext(name)), path.Base(path.Dir(name))
	switch {
	case stem != "events" && stem != "api_conversation_history":
		return stem
	case folder != ".":
		return folder
	}
	return in.folder
}

// record reads one record of a session. number is its line; place is its position among the records.
func (s *session) record(number, place int, d *document) {
	at := moment(d, s.time)
	s.start(d, at)
	label := s.name
	if s.sub != nil {
		if sub := s.sub(s, d); sub != "" {
			label += "/" + sub
		}
	}
	th := s.only
	if th == nil {
		th = s.thread(label)
	}
	if turn := d.text(s.host.turn); turn != "" || s.together {
		s.turn = turn
	}
	body, one := cmp.Or(d.at(s.body), d), call{line: number, turn: s.turn, at: at}
	if s.only != nil && d.text("role") == "assistant" { // results without an id belong to the calls before this message
		th.answered = th.asked
	}
	calls := th.apply(s.whole, d.text(s.kind), body, one)
	if s.together && s.turn == "" {
		one.turn = strconv.Itoa(place)
	}
	for list := range strings.FieldsSeq(s.parts) {
		if calls && list != "tool_calls" { // a record that is itself a call or a result has no others in its content
			break
		}
		parts, err := body.blocks(list)
		if err != nil {
			s.drop(number, err)
			return
		}
		for _, p := range parts {
			calls = th.apply(s.rules, p.text("type"), p, one) || calls
		}
	}
	if !calls && !holds(d, s.known) {
		s.skip()
	}
	if calls || !holds(d, s.asks) {
		return
	}
	text, err := d.prose(s.text)
	if err != nil {
		s.drop(number, err)
	}
	if s.prompt != nil {
		text = s.prompt(text)
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
	if s.starts != "" && (s.named || !holds(d, s.starts)) {
		return
	}
	if id := d.text(s.host.session); id != "" {
		s.name, s.began, s.named = id, at, s.starts != ""
	}
}

// sidechain returns the subagent of a Claude Code line, "" for the main thread.
func sidechain(s *session, d *document) string {
	if !holds(d, "isSidechain=true") {
		return ""
	}
	uuid := d.text("uuid") // of the first line of a subagent that has no agent id
	side := cmp.Or(d.text("agentId"), s.sides[d.text("parentUuid")], uuid, "subagent")
	if uuid != "" {
		s.sides[uuid] = side
	}
	return side
}

// typedPrompt returns the text that the user typed, "" for text that the program itself wrote as the user.
func typedPrompt(text string) string {
	for _, own := range []string{"<local-command", "<bash-", "[Request interrupted", "Caveat: The messages below"} {
		if strings.HasPrefix(text, own) {
			return ""
		}
	}
	if strings.HasPrefix(text, "<command-") { // a slash command, in tags
		name, args := between(text, "<command-name>", "</command-name>"), between(text, "<command-args>", "</command-args>")
		return strings.TrimSpace(name + " " + args)
	}
	return text
}

func codexPrompt(text string) string {
	for _, own := range []string{"<", "# AGENTS.md instructions", "# Context from my IDE setup"} {
		if strings.HasPrefix(text, own) {
			return ""
		}
	}
	return text
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, ok := strings.Cut(s, to)
	if !ok {
		return ""
	}
	return strings.TrimSpace(s)
}

// openCodeRoot returns the folder that contains messages and their parts, "" if there is none.
func (in *input) openCodeRoot() string {
	for _, root := range []string{".", "storage"} {
		messages, _ := fs.ReadDir(in.fsys, path.Join(root, "message"))
		parts, _ := fs.ReadDir(in.fsys, path.Join(root, "part"))
		if messages != nil && parts != nil {
			return root
		}
	}
	return ""
}

func decodeOpenCode(in *input, emit func(Item) bool) error {
	t, more := in.traces("opencode"), true
	root := cmp.Or(in.openCodeRoot(), ".")
	sessions, err := fs.ReadDir(in.fsys, path.Join(root, "message"))
	if err != nil {
		return err
	}
	for _, folder := range sessions {
		if !more || !folder.IsDir() {
			continue
		}
		dir := path.Join(root, "message", folder.Name())
		messages, err := fs.ReadDir(in.fsys, dir)
		if err != nil {
			return err
		}
		t.file(dir, func(it Item) { more = more && emit(it) })
		s := &session{traces: t, host: hosts["opencode"], name: folder.Name()}
		for i, m := range messages {
			if d := in.smallDocument(t, path.Join(dir, m.Name())); d != nil {
				id := cmp.Or(d.text("id"), strings.TrimSuffix(m.Name(), ".json"))
				in.openCodeParts(t, d, path.Join(root, "part", path.Base(id)))
				s.record(i+1, i+1, d)
			}
		}
		t.end()
	}
	if more {
		emit(Item{Tally: &t.tally})
	}
	return nil
}

// openCodeParts inserts the parts of a message into the message; a message without parts has no folder.
func (in *input) openCodeParts(t *traces, d *document, folder string) {
	files, _ := fs.ReadDir(in.fsys, folder)
	var parts [][]byte
	for _, f := range files {
		if part := in.smallDocument(t, path.Join(folder, f.Name())); part != nil {
			parts = append(parts, part.raw)
		}
	}
	list := slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
	d.members["parts"] = &document{raw: list, problem: d.problem}
}

// smallDocument reads a file with one object. It returns nil for any other file, which it skips, or drops if it is
// damaged.
func (in *input) smallDocument(t *traces, name string) *document {
	t.tally.Lines++
	text, err := in.readAll(name)
	var d *document
	if err == nil {
		if d, err = newDocument(line{data: bytes.TrimSpace(text), cut: true}); err == nil {
			return d
		}
		if json.Valid(text) || path.Ext(name) != ".json" {
			t.skip()
			return nil
		}
	}
	t.emit(Item{File: name, Line: 1, Dropped: err.Error()})
	return nil
}
