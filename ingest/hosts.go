package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/ingest/hook"
)

// host is the format in which one host keeps its sessions: lines, or one document, of records. A record holds parts,
// which are calls and results by the rules, or a request. Names are paths of members and conditions as in [holds]. None
// of these formats is promised by its maker: what is not understood is counted and passed over.
//
// A new format needs its row in [hosts] and in formats (importer.go), the fields by which it is known in shapes
// (detect.go), and a session in agentSessions, which TestAgentSessions reads; where sessions lie is in report/hosts.go.
type host struct {
	format  string
	records string // members with the records of a file that is one document
	talks   string // members that name the conversation, where each such document, or list, is one of its own
	known   string // conditions of records that are understood; any other is counted as skipped

	starts  string // conditions of the record that names the session; "": each may
	session string // its id; else the name of the file, or of its folder where all files have one name
	sub     string // names the subagent of a record, whose calls are a thread of their own

	time     string // of a record
	turn     string // names what the parallel calls of a message have in common, from this record on
	together bool   // else the calls of a record are parallel

	body  string // the member of a record that holds the rest; the record itself where it is absent
	kind  string // of a record
	whole []rule // of the body
	parts string // lists of parts in the body
	rules []rule // of parts, by their type

	asks string   // conditions of records in which the user asks
	text string   // fields of the request
	own  []string // beginnings of texts that the program itself writes in the user's name,
	tags string   // but for what stands in these tags
}

// typed are the marks of Claude Code; a slash command stands in tags.
var typed = []string{"<local-command", "<bash-", "[Request interrupted", "Caveat: The messages below", "<command-"}

const callIDs = "call_id id"

// anthropicRules are those of the blocks of Anthropic's API.
var anthropicRules = []rule{
	{kinds: "tool_use|server_tool_use|mcp_tool_use", id: "id", tool: "name", server: "server_name", arguments: "input"},
	{kinds: "*tool_result", id: "tool_use_id", result: &outcome{
		failed: "is_error=true", worked: ".", failure: "content", value: "content"}},
}

var hosts = map[string]*host{
	// A Claude Code session is a file of lines, one event each:
	//
	//	user       content "Fix the build"                          a request
	//	assistant  message.id m1, content [tool_use a]              a call
	//	assistant  message.id m1, content [tool_use b]              the same message: a and b are parallel
	//	user       content [tool_result a, is_error false]          a worked
	//
	// The calls of a subagent (agentId, in a file of its own; in older files isSidechain alone) are another's decisions.
	"claude-code": {
		format:  "claude-code",
		known:   "type=user|assistant|summary|system|progress|attachment|file-history-snapshot|queue-operation",
		session: "sessionId", sub: "agentId",
		time: "timestamp", turn: "message.id uuid",
		parts: "message.content", rules: anthropicRules,
		asks: "type=user !isMeta=true !isCompactSummary=true", text: "message.content",
		own: typed, tags: "command-name command-args",
	},
	// A Codex session (rollout-….jsonl) is a file of lines {timestamp, type, payload}, before September 2025 of payloads
	// alone, first as {session, items}:
	//
	//	session_meta   {id}                                          the session
	//	event_msg      {type:user_message, message}                  a request
	//	response_item  {type:message, role:user, content}            the same, or what the program adds
	//	response_item  {type:function_call, name, arguments, call_id}
	//	response_item  {type:function_call_output, call_id, output}
	//	event_msg      {type:exec_command_end, call_id, exit_code}   says how the command ended
	//	event_msg      {type:mcp_tool_call_end, call_id, invocation, result}
	//
	// Calls that were issued before the first of them had an output are parallel.
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
		text: "payload.message payload.content content",
		own:  []string{"<", "# AGENTS.md instructions", "# Context from my IDE setup"},
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
		sub: "data.parentToolCallId", time: "timestamp", turn: "data.messageId",
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
	// It says when a call was recorded, not how long it took.
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
		asks: "role=user", text: "content", own: typed,
	},
	// OpenCode keeps a folder of small files: message/SESSION/MESSAGE.json {id, role, time}, and
	// part/MESSAGE/PART.json, {type: text, text} or
	//
	//	{type: tool, callID, tool, state {status: completed|error, input, output, error, time {start, end}}}
	//
	// Ids rise with time. [decodeOpenCode] puts the parts of a message into it.
	"opencode": {
		format: "opencode", known: ".", time: "time.created", together: true,
		parts: "parts", rules: []rule{
			{kinds: "tool", id: "callID", tool: "tool", arguments: "state.input", at: "state.time.start"},
			{kinds: "tool", when: "state.status=completed|error", id: "callID", at: "state.time.end", result: &outcome{
				failed: "state.status=error", worked: ".", failure: "state.error", value: "state.output"}},
		},
		asks: "role=user", text: "parts",
	},
	// Conversations with a model in the words of OpenAI's interfaces, each of these an object, a line, or
	// an element of a list:
	//
	//	{"messages":[…]}                                   chat completions; a request and its "choices" as well
	//	{"input":[…],"output":[…]}                         Responses: function_call, function_call_output, mcp_call
	//	{"role":"assistant","tool_calls":[…]}              one message: the file is the conversation
	//	{"type":"function_call","call_id":…}               one item of Responses, the same
	//	{"data":[{"object":"trace"},{"object":"trace.span"}]}  a trace of the Agents SDK
	//
	// The calls of one message are parallel, and so are items that stand together before their outputs.
	// Arguments may be an object or JSON in a string; a call without an id is paired with its answer by
	// its place. There are no times. An answer is a failure if it says so (is_error, status "error", or
	// JSON with isError or a lone error); else nobody knows, and so it stays.
	"openai-chat": {
		format: "openai-chat", known: "role; type=*_call*|*message|reasoning|compaction|item_reference|mcp_*", together: true,
		talks: `conversation_id thread_id session_id conversation conversation.id
			metadata.session_id metadata.thread_id metadata.conversation_id id`,
		// A log of both the request and the response holds the lists inside.
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
	// A Cline task (tasks/ID/api_conversation_history.json) is a list of messages {role, content}, with the blocks of
	// Anthropic's API. Answers whose calls are written as XML in the text are not read.
	"cline": {
		format: "cline", known: "role=user; role=assistant content=[*", time: "ts", together: true,
		parts: "content", rules: anthropicRules,
		asks: "role=user", text: "content", own: []string{""}, tags: "task feedback",
	},
}

// session is the state of reading one file, or one conversation in it.
type session struct {
	*traces
	*host
	name  string
	began time.Time
	turn  string
	place int    // of the record among the others
	said  string // the last request, which some hosts write twice
	named bool
	only  *thread // of a conversation; else the records name theirs
	spans *spans
}

func (h *host) decode(in *input) error {
	return in.eachTraceFile(h.format, func(t *traces, name string, r io.Reader) error {
		s := &session{traces: t, host: h, name: in.sessionOf(name), spans: newSpans(t)}
		defer s.spans.end()
		return in.eachValue(r, false, s.value)
	})
}

// value reads a record, a list of them, or an object that holds them.
func (s *session) value(l line) {
	d, all, err := parse(l)
	const message = "role; type=*_call"
	isList, talks := all != nil, s.talks != ""
	switch {
	case err != nil:
		s.tally.Lines++
		s.drop(l.number, err)
		return
	case talks && isList && !(len(all) > 0 && holds(all[0], message)): // each element is a value
		for _, e := range all {
			s.value(line{number: l.number, data: e.raw})
		}
		return
	case talks && holds(d, "data=[*; object=trace*"):
		s.spans.read(spanRows["agents"], l)
		return
	case !isList && !(talks && holds(d, message)):
		if all = d.records(s.records); all != nil {
			s.start(d, time.Time{})
		}
	}
	switch {
	case all == nil:
		all = []*document{d}
	case talks:
		s = s.conversation(d, all)
		defer s.only.flush()
	}
	s.tally.Lines += len(all)
	for i, m := range all {
		s.record(l.number, m)
		if err := *m.problem; err != nil { // after what can be read of it
			if *m.problem = nil; len(all) > 1 {
				err = fmt.Errorf("record %d: %w", i+1, err)
			}
			s.drop(l.number, err)
		}
	}
}

// conversation begins one. Without a name it is known by its first call, if the id of that is one that no other would
// have, else by all of its content. The id of a completion is not that of its conversation. Logs of requests hold each
// conversation many times, every time longer: the longest counts.
func (s *session) conversation(d *document, all []*document) *session {
	name := ""
	for field := range strings.FieldsSeq(s.talks) {
		if id := hook.Text(d.value(field)); !strings.HasPrefix(id, "chatcmpl-") && !strings.HasPrefix(id, "resp_") {
			name = cmp.Or(name, id)
		}
	}
	if name == "" {
		if name = firstCallID(all); !unique(name) {
			name = fmt.Sprintf("%.8x", sha256.Sum256(d.raw))
		}
	}
	return &session{traces: s.traces, host: s.host, only: s.newThread(name)}
}

func firstCallID(all []*document) string {
	for _, m := range all {
		if calls, _ := m.list("tool_calls"); len(calls) > 0 {
			return calls[0].text("id")
		}
		if holds(m, "type=*_call") {
			return m.text(callIDs)
		}
	}
	return ""
}

// unique reports whether an id looks drawn at random: sixteen characters or more, digits and letters.
func unique(id string) bool {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	return len(id) >= 16 && strings.ContainsAny(id, "0123456789") && strings.ContainsFunc(id, letter)
}

// records are those in some lists, or single, in their order; nil if there is no such member. A text alone is what a user
// asked, and of several choices of a model the first is the one that was taken.
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

// sessionOf names the session of a file, by its folder where all files have one name.
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

// record reads one record of a session, which stands on a line.
func (s *session) record(number int, d *document) {
	s.place++
	at, th := moment(d, s.time), s.only
	s.start(d, at)
	if th == nil {
		side := d.text(s.sub)
		if side == "" && holds(d, "isSidechain=true") {
			side = "subagent"
		}
		th = s.thread(strings.TrimSuffix(s.name+"/"+side, "/"))
	}
	if turn := d.text(s.host.turn); turn != "" || s.together {
		s.turn = turn
	}
	body, one := cmp.Or(d.at(s.body), d), call{line: number, turn: s.turn, at: at}
	if holds(d, "role=assistant") { // what has no id is answered before the next calls
		th.answered = th.asked
	}
	calls := th.apply(s.whole, d.text(s.kind), body, one)
	if s.together && s.turn == "" {
		one.turn = strconv.Itoa(s.place)
	}
	for list := range strings.FieldsSeq(s.parts) {
		if calls && list != "tool_calls" { // a record that is a call or a result by itself has no others in its content
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
	if text = s.prompt(text); text != "" && (text != s.said || len(th.steps) > 0) {
		s.said = text
		if at.IsZero() {
			at = s.began
		}
		th.ask(number, text, at)
	}
}

// start reads the name of the session. One that continues another repeats its lines: the first name counts.
func (s *session) start(d *document, at time.Time) {
	if s.starts != "" && (s.named || !holds(d, s.starts)) {
		return
	}
	if id := d.text(s.host.session); id != "" {
		s.name, s.began, s.named = id, at, s.starts != ""
	}
}

// prompt is what a user wrote of a text.
func (h *host) prompt(text string) string {
	if !slices.ContainsFunc(h.own, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return text
	}
	var inside []string
	for tag := range strings.FieldsSeq(h.tags) {
		_, after, _ := strings.Cut(text, "<"+tag+">")
		if s, _, closed := strings.Cut(after, "</"+tag+">"); closed {
			inside = append(inside, strings.TrimSpace(s))
		}
	}
	return strings.TrimSpace(strings.Join(inside, " "))
}

// openCodeRoot is the folder with messages and their parts, "" if there is none.
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

func decodeOpenCode(in *input) error {
	t := in.traces("opencode")
	root := cmp.Or(in.openCodeRoot(), ".")
	sessions, err := fs.ReadDir(in.fsys, path.Join(root, "message"))
	for _, folder := range sessions {
		if !in.more() || !folder.IsDir() {
			continue
		}
		dir := path.Join(root, "message", folder.Name())
		in.file = dir
		t.begin()
		s := &session{traces: t, host: hosts["opencode"], name: folder.Name()}
		for stem, m := range in.documents(t, dir) {
			parts := [][]byte{}
			for _, part := range in.documents(t, path.Join(root, "part", path.Base(cmp.Or(m.text("id"), stem)))) {
				parts = append(parts, part.raw)
			}
			list := slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
			m.members["parts"] = &document{raw: list, problem: m.problem}
			s.record(s.place+1, m)
		}
		t.end()
	}
	if err == nil {
		in.emit(Item{File: in.name, Tally: &t.tally})
	}
	return err
}

// documents are the files of one object each in a folder, by their names without the ending. Other files are counted, or
// dropped where they are damaged; a message without parts has no folder of them.
func (in *input) documents(t *traces, folder string) iter.Seq2[string, *document] {
	return func(yield func(string, *document) bool) {
		files, err := fs.ReadDir(in.fsys, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.emit(Item{File: folder, Unread: true, Dropped: unreadable(err).Error()})
		}
		for _, f := range files {
			t.tally.Lines++
			text, err := in.readAll(path.Join(folder, f.Name()))
			var d *document
			if err == nil {
				d, err = newDocument(line{data: bytes.TrimSpace(text), cut: true})
			}
			switch {
			case err == nil:
				if !yield(strings.TrimSuffix(f.Name(), ".json"), d) {
					return
				}
			case text != nil && (json.Valid(text) || path.Ext(f.Name()) != ".json"):
				t.skip()
			default:
				t.emit(Item{File: path.Join(folder, f.Name()), Line: 1, Dropped: err.Error()})
			}
		}
	}
}
