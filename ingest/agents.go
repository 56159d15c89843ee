package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/ingest/toolcall"
)

// Sessions of hosts whose sources or documentation show the format. What these formats do not say, such as the
// outcome of a call that was never answered, stays unknown; a session of a version that is not listed here is dropped
// with its version as the reason.

// A Copilot CLI session (session-state/ID/events.jsonl) is a file of events {type, data, timestamp}:
//
//	session.start             data {sessionId, version: 1}
//	user.message              data {content}
//	assistant.message         the calls that follow it are parallel
//	tool.execution_start      data {toolCallId, toolName, mcpServerName, mcpToolName, arguments, parentToolCallId}
//	tool.execution_complete   data {toolCallId, success, result {content}, error {message}}
func decodeCopilot(in *input, emit func(Item) bool) error {
	t := in.traces("copilot-cli")
	return in.eachDocument(t, emit, func(string) func(int, *document) {
		c := copilot{traces: t}
		return c.line
	})
}

type copilot struct {
	*traces
	session string
	turn    string
	unknown bool // version
}

var copilotRules = []rule{
	{kinds: "tool.execution_start", id: []string{"toolCallId"}, tool: []string{"mcpToolName", "toolName"}, server: []string{"mcpServerName"}, arguments: []string{"arguments"}},
	{kinds: "tool.execution_complete", id: []string{"toolCallId"}, result: (&outcome{
		failed: []string{"success=false"}, worked: []string{"success=true"}, failure: []string{"error.message", "error"}, value: []string{"result.content", "result"}}).read},
}

// copilotOther are the beginnings of kinds of events that are known and hold no call.
var copilotOther = []string{"session.", "assistant.", "tool.execution_p", "tool.user_requested", "hook.", "subagent.", "skill.", "system.", "permission.", "abort"}

func (c *copilot) line(number int, d *document) {
	kind, data := d.text("type"), d.at("data")
	if c.unknown || data == nil {
		c.skip()
		return
	}
	at, th := d.time("timestamp"), c.thread(c.session+"\x00"+data.text("parentToolCallId"), c.session)
	switch {
	case kind == "session.start":
		if version := string(data.value("version")); version != "1" {
			c.unknown = true
			if strings.Trim(version, "0123456789.") != "" || len(version) > 8 { // it may be anything
				version = "of another form"
			}
			c.drop(number, fmt.Errorf("version %s of the format is not known", cmp.Or(version, "none")))
		}
		c.session = data.text("sessionId")
	case kind == "user.message":
		th.ask(number, strings.TrimSpace(data.text("content")), at)
	case kind == "assistant.message":
		c.turn = data.text("messageId")
	case !th.apply(copilotRules, kind, data, call{line: number, turn: c.turn, at: at}) &&
		!slices.ContainsFunc(copilotOther, func(other string) bool { return strings.HasPrefix(kind, other) }):
		c.skip()
	}
}

// A Goose session (sessions/ID.jsonl) begins with a line of metadata {working_dir, …}; then each line is a message
// {role, created, content}, with contents
//
//	{type: text, text}
//	{type: toolRequest, id, toolCall {status, value {name: server__tool, arguments}}}
//	{type: toolResponse, id, toolResult {status: success|error, value, error}}
func decodeGoose(in *input, emit func(Item) bool) error {
	t := in.traces("goose")
	return in.eachDocument(t, emit, func(session string) func(int, *document) {
		return func(number int, d *document) { t.gooseLine(session, number, d) }
	})
}

var gooseRules = []rule{
	{kinds: "toolResponse", id: []string{"id"}, result: (&outcome{failed: []string{"toolResult.status=error", "toolResult.value.isError=true"}, worked: []string{"toolResult.status=success"},
		failure: []string{"toolResult.error", "toolResult.value"}, value: []string{"toolResult.value"}}).read},
}

func (t *traces) gooseLine(session string, number int, d *document) {
	if d.at("working_dir") != nil {
		return
	}
	blocks, err := d.blocks("content")
	if err != nil {
		t.drop(number, err)
		return
	}
	if blocks == nil {
		t.skip()
		return
	}
	at := d.unix("created", time.Second)
	th, calls := t.thread(session, session), false
	for _, b := range blocks {
		c := call{line: number, turn: strconv.Itoa(number), at: at}
		if name := b.text("toolCall.value.name"); name != "" {
			c.id, c.arguments, c.name = b.text("id"), b.value("toolCall.value.arguments"), name
			if server, tool, ok := strings.Cut(name, "__"); ok {
				c.server, c.name = server, tool
			}
			th.call(c)
			calls = true
		}
		calls = th.apply(gooseRules, b.text("type"), b, c) || calls
	}
	if intent, ok := prompt(blocks); ok && !calls && d.text("role") == "user" {
		th.ask(number, intent, at)
	}
}

// maxSession bounds a session that is one JSON document: it is read whole.
const maxSession = 64 << 20

var errSessionTooLarge = errors.New("session is larger than 64 MiB")

// eachSession reads the files of a trace whose sessions are one JSON document each, and counts their messages. Name is
// the last part of the path of the file, or of its folder where all files have the same name.
func (in *input) eachSession(t *traces, emit func(Item) bool, messages string, read func(name string, d *document, all []*document)) error {
	return in.eachTraceFile(t, []string{".json"}, emit, func(name string, r io.Reader, _ func() bool) error {
		text, err := io.ReadAll(io.LimitReader(r, maxSession+1))
		if err != nil {
			return err
		}
		if len(text) > maxSession {
			t.drop(1, errSessionTooLarge)
			return nil
		}
		text = bytes.TrimPrefix(text, []byte(bom))
		d := &document{raw: bytes.TrimSpace(text), problem: new(error)}
		list := d.at(messages)
		var all []*document
		if ok := false; list != nil && json.Valid(text) {
			if all, ok = list.elements(); !ok {
				all = nil
			}
		}
		if all == nil {
			t.drop(1, errors.New("is no JSON document of a session"))
			return nil
		}
		t.tally.Lines += len(all)
		read(name, d, all)
		if *d.problem != nil {
			t.drop(1, *d.problem)
		}
		return nil
	})
}

// A Gemini CLI session (tmp/PROJECT/chats/session-….json) is one object {sessionId, projectHash, messages} of messages
//
//	{type: user, content, timestamp}
//	{type: gemini, id, toolCalls [{id, name, args, status: success|error|cancelled, result, timestamp}]}
//
// It says when a call was recorded, not how long it took.
func decodeGemini(in *input, emit func(Item) bool) error {
	t := in.traces("gemini-cli")
	return in.eachSession(t, emit, "messages", func(_ string, d *document, all []*document) {
		session := d.text("sessionId")
		th := t.thread(session, session)
		for i, m := range all {
			switch m.text("type") {
			case "user":
				if text, err := m.prose("content"); err == nil && strings.TrimSpace(text) != "" {
					th.ask(i+1, strings.TrimSpace(text), m.time("timestamp"))
				}
			case "gemini":
				calls, _ := m.list("toolCalls")
				for _, c := range calls {
					id := c.text("id")
					th.call(call{line: i + 1, id: id, name: c.text("name"), arguments: c.value("args"), turn: cmp.Or(m.text("id"), strconv.Itoa(i)), at: c.time("timestamp")})
					r := geminiOutcome.read(c)
					r.void = c.text("status") == "cancelled"
					th.settle(id, r)
				}
			case "info", "error", "warning":
			default:
				t.skip()
			}
		}
	})
}

var geminiOutcome = outcome{failed: []string{"status=error"}, worked: []string{"status=success"}, failure: []string{"resultDisplay", "result"}, value: []string{"result"}}

// A Cline task (tasks/ID/api_conversation_history.json) is a list of messages {role, content}, with the blocks of
// Anthropic's API. Tasks whose calls are written as XML in the text are not read: their messages count as unknown.
func decodeCline(in *input, emit func(Item) bool) error {
	t := in.traces("cline")
	return in.eachSession(t, emit, "", func(name string, _ *document, all []*document) {
		session := cmp.Or(path.Base(path.Dir(name)), name)
		if session == "." {
			session = in.folder
		}
		th, called, answers, others := t.thread(session, session), false, 0, 0
		for i, m := range all {
			blocks, err := m.blocks("content")
			if err != nil {
				t.drop(i+1, err)
				continue
			}
			at, calls := m.unix("ts", time.Millisecond), false
			for _, b := range blocks {
				calls = th.apply(claudeCodeRules, b.text("type"), b, call{line: i + 1, turn: strconv.Itoa(i), at: at}) || calls
			}
			called = called || calls
			switch m.text("role") {
			case "assistant":
				answers++
			case "user":
				if text, ok := prompt(blocks); ok && !calls {
					th.ask(i+1, cmp.Or(strings.TrimSpace(between(text, "<task>", "</task>")), strings.TrimSpace(between(text, "<feedback>", "</feedback>"))), at)
				}
			default:
				others++
			}
		}
		if others > 0 && others == len(all) {
			t.drop(1, errors.New("is no task: none of its messages has a role that is known"))
		}
		if !called {
			t.tally.Skipped += answers
		}
	})
}

// OpenCode keeps a folder of small files: message/SESSION/MESSAGE.json {id, role, time}, and
// part/MESSAGE/PART.json, {type: text, text} or
//
//	{type: tool, callID, tool, state {status: completed|error, input, output, error, time {start, end}}}
//
// Ids rise with time.
func decodeOpenCode(in *input, emit func(Item) bool) error {
	t, more := in.traces("opencode"), true
	root := "."
	if exists, _ := fs.Stat(in.fsys, "storage/message"); exists != nil {
		root = "storage"
	}
	sessions, err := fs.ReadDir(in.fsys, path.Join(root, "message"))
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if !more || !s.IsDir() {
			continue
		}
		t.file(path.Join(root, "message", s.Name()), func(it Item) { more = more && emit(it) })
		if err := in.openCodeSession(t, root, s.Name()); err != nil {
			return err
		}
		t.end()
	}
	if more {
		emit(Item{Tally: &t.tally})
	}
	return nil
}

func (in *input) openCodeSession(t *traces, root, session string) error {
	th := t.thread(session, session)
	messages, err := fs.ReadDir(in.fsys, path.Join(root, "message", session))
	if err != nil {
		return err
	}
	for i, m := range messages {
		d := in.smallDocument(t, path.Join(root, "message", session, m.Name()))
		if d == nil {
			continue
		}
		id := cmp.Or(d.text("id"), strings.TrimSuffix(m.Name(), ".json"))
		parts, err := fs.ReadDir(in.fsys, path.Join(root, "part", path.Base(id)))
		if err != nil {
			continue // a message without parts has no folder
		}
		var texts []string
		for _, p := range parts {
			part := in.smallDocument(t, path.Join(root, "part", path.Base(id), p.Name()))
			if part == nil {
				continue
			}
			switch kind := part.text("type"); {
			case kind == "tool":
				openCodeCall(th, part, call{line: i + 1, id: part.text("callID"), name: part.text("tool"), arguments: part.value("state.input"), turn: id})
			case kind == "text" && d.text("role") == "user" && !holds(part, []string{"synthetic=true"}):
				texts = append(texts, part.text("text"))
			}
		}
		if intent := strings.TrimSpace(strings.Join(texts, "\n")); intent != "" {
			th.ask(i+1, intent, d.unix("time.created", time.Millisecond))
		}
	}
	return nil
}

var openCodeOutcome = outcome{failed: []string{"state.status=error"}, worked: []string{"state.status=completed"}, failure: []string{"state.error"}, value: []string{"state.output"}}

func openCodeCall(th *thread, part *document, c call) {
	c.at = part.unix("state.time.start", time.Millisecond)
	if c.id == "" || c.name == "" {
		return
	}
	th.call(c)
	if r := openCodeOutcome.read(part); r.outcome == episodic.Success || r.outcome == episodic.Failure {
		r.at = part.unix("state.time.end", time.Millisecond)
		th.settle(c.id, r)
	}
}

// smallDocument reads a file of one object; nil for anything else, which is counted, or dropped where it is damaged.
func (in *input) smallDocument(t *traces, name string) *document {
	t.tally.Lines++
	var text []byte
	f, err := in.open(name)
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxTraceLine+1))
		f.Close()
		if text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte(bom))); err == nil && len(text) <= maxTraceLine && len(toolcall.Members(text)) > 0 {
			return &document{raw: text, problem: new(error)}
		}
	}
	damage := ""
	switch {
	case err != nil:
		damage = err.Error()
	case len(text) > maxTraceLine:
		damage = fmt.Sprintf("file is longer than %d bytes", maxTraceLine)
	case path.Ext(name) != ".json" || json.Valid(text):
		t.skip()
		return nil
	default:
		damage = problemIn(text)
	}
	it := Item{File: name, Line: 1}
	it.drop(damage)
	t.emit(it)
	return nil
}
