package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/toolcall"
)

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
//
// A conversation without a name (id, conversation, thread or session) is known by its first call, if the
// id of that is one that no other would have, else by all of its content. Logs of requests hold each
// conversation many times, every time longer: what was read before counts once.
func decodeOpenAIChat(in *input, emit func(Item) bool) error {
	t := in.traces("openai-chat")
	return in.eachTraceFile(t, []string{".json", ".jsonl", ".ndjson"}, emit, func(name string, r io.Reader, more func() bool) error {
		c := chats{traces: t, file: strings.TrimSuffix(path.Base(name), path.Ext(name)), spans: newSpans(t)}
		defer c.spans.end()
		defer c.release()
		return eachValue(r, false, func(l line) bool {
			t.tally.Lines++
			c.value(l)
			return more()
		})
	})
}

// chats reads the conversations of one file.
type chats struct {
	*traces
	file  string
	spans *spans
	open  *chat  // of the lines that are a message each
	held  []Item // episodes of the newest conversation, which the next line may hold again and longer
}

type conversation struct {
	ID             string          `json:"id"`
	ConversationID string          `json:"conversation_id"`
	ThreadID       string          `json:"thread_id"`
	SessionID      string          `json:"session_id"`
	Conversation   json.RawMessage `json:"conversation"`
	Metadata       json.RawMessage `json:"metadata"`
	Created        json.RawMessage `json:"created"`

	Messages []json.RawMessage `json:"messages"`
	Choices  []struct {
		Message json.RawMessage `json:"message"`
	} `json:"choices"`
	Input    json.RawMessage   `json:"input"`
	Output   json.RawMessage   `json:"output"`
	Items    []json.RawMessage `json:"items"`
	Request  json.RawMessage   `json:"request"`
	Response json.RawMessage   `json:"response"`

	Role   string            `json:"role"`
	Type   string            `json:"type"`
	Data   []json.RawMessage `json:"data"`
	Object string            `json:"object"`
}

func (c *chats) value(l line) {
	if l.problem == "" && len(l.data) > 0 && l.data[0] == '[' {
		var list []json.RawMessage
		if err := l.decode(&list); err != nil {
			c.drop(l.number, err)
			return
		}
		if len(list) > 0 && isMessage(list[0]) {
			c.conversation(l.number, "", list, l.data)
			return
		}
		for _, v := range list {
			c.object(line{number: l.number, data: v})
		}
		return
	}
	c.object(l)
}

func isMessage(v json.RawMessage) bool {
	var m struct{ Role, Type string }
	return json.Unmarshal(v, &m) == nil && (m.Role != "" || strings.Contains(m.Type, "_call"))
}

func (c *chats) object(l line) {
	var v conversation
	if err := l.decode(&v); err != nil {
		c.drop(l.number, err)
		return
	}
	if len(v.Data) > 0 || strings.HasPrefix(v.Object, "trace") {
		parts := v.Data
		if v.Data == nil {
			parts = []json.RawMessage{l.data}
		}
		for _, part := range parts {
			if err := c.spans.agents(l.number, part); err != nil {
				c.drop(l.number, err)
			}
		}
		return
	}
	if isMessage(l.data) {
		if c.open == nil {
			c.open = &chat{thread: c.thread("", c.file)}
			c.open.thread.loose = true
		}
		if err := c.open.item(l.number, l.data, 0); err != nil {
			c.drop(l.number, err)
		}
		return
	}
	items, err := v.items()
	if err != nil {
		c.drop(l.number, err)
		return
	}
	if items == nil {
		c.skip()
		return
	}
	c.conversation(l.number, v.session(), items, l.data)
}

// items of a conversation in their order.
func (v *conversation) items() ([]json.RawMessage, error) {
	items := append(v.Messages, v.Items...)
	for _, part := range []json.RawMessage{v.Input, v.Output} {
		var text string
		if len(part) == 0 || string(part) == "null" {
			continue
		}
		if json.Unmarshal(part, &text) == nil {
			items = append(items, encode(map[string]string{"role": "user", "content": text}))
			continue
		}
		var list []json.RawMessage
		if err := readable(json.Unmarshal(part, &list)); err != nil {
			return nil, err
		}
		items = append(items, list...)
	}
	for _, choice := range v.Choices[:min(len(v.Choices), 1)] { // others were not taken
		items = append(items, choice.Message)
	}
	for _, part := range []json.RawMessage{v.Request, v.Response} { // a log of both
		var inner conversation
		if json.Unmarshal(part, &inner) != nil {
			continue
		}
		inner.Request, inner.Response = nil, nil
		more, err := inner.items()
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return items, nil
}

// session names the conversation, "" if nothing does. The id of a completion is not that of its
// conversation.
func (v *conversation) session() string {
	id := v.ID
	if strings.HasPrefix(id, "chatcmpl-") || strings.HasPrefix(id, "resp_") {
		id = ""
	}
	metadata := toolcall.Members(v.Metadata)
	var conversation string
	if json.Unmarshal(v.Conversation, &conversation) != nil {
		conversation = toolcall.FirstText(toolcall.Members(v.Conversation), "id")
	}
	for _, name := range []string{v.ConversationID, v.ThreadID, v.SessionID, conversation,
		toolcall.FirstText(metadata, "session_id", "thread_id", "conversation_id"), id} {
		if name != "" {
			return name
		}
	}
	return ""
}

// conversation reads a whole one.
func (c *chats) conversation(number int, session string, items []json.RawMessage, text []byte) {
	outer := c.traces.emit
	var found []Item
	c.traces.emit = func(it Item) { found = append(found, it) }
	ch := chat{thread: &thread{t: c.traces, session: session, rule: episodic.NewSessions(c.format), calls: map[string]int{}}}
	if session == "" {
		if first := firstCallID(items); !unique(first) {
			sum := sha256.Sum256(text)
			ch.thread.salt, ch.thread.loose = hex.EncodeToString(sum[:8]), true
		}
	} else {
		ch.thread.loose = true
	}
	var wrong error
	for i, item := range items {
		if err := ch.item(number, item, i); err != nil && wrong == nil {
			wrong = fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	ch.thread.begunBefore(func() { ch.thread.flush() })
	c.traces.emit = outer
	if wrong != nil {
		c.drop(number, wrong)
	}
	c.hold(found)
}

// hold keeps the episodes of a conversation until the next one shows whether it is the same, longer.
func (c *chats) hold(found []Item) {
	longer := map[string]bool{}
	for _, it := range found {
		longer[it.ID] = it.Episode != nil
	}
	kept := c.held[:0]
	for _, it := range c.held {
		if !longer[it.ID] {
			kept = append(kept, it)
		}
	}
	c.held = kept
	c.release()
	c.held = found
}

func (c *chats) release() {
	for _, it := range c.held {
		c.emit(it)
	}
	c.held = nil
}

// begunBefore runs f without the memory of what has begun: a longer telling of the same conversation
// is no repetition.
func (th *thread) begunBefore(f func()) {
	begun := th.t.begun
	th.t.begun = map[string]bool{}
	f()
	th.t.begun = begun
}

func firstCallID(items []json.RawMessage) string {
	for _, item := range items {
		var m chatItem
		if json.Unmarshal(item, &m) != nil {
			continue
		}
		for _, call := range m.ToolCalls {
			return call.ID
		}
		if strings.HasSuffix(m.Type, "_call") {
			return m.callID()
		}
	}
	return ""
}

// unique reports whether an id looks drawn at random: sixteen characters or more, digits and letters.
func unique(id string) bool {
	digits := strings.ContainsAny(id, "0123456789")
	letters := strings.ContainsFunc(id, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	return len(id) >= 16 && digits && letters
}

// chat is one conversation being read.
type chat struct {
	thread  *thread
	turn    int
	pending []string // calls of the last message whose answers carry no id
}

// chatItem is a message of a chat or an item of Responses.
type chatItem struct {
	Role       string          `json:"role"`
	Type       string          `json:"type"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
		Custom struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		} `json:"custom"`
	} `json:"tool_calls"`
	FunctionCall *struct { // before tool_calls
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function_call"`
	IsError json.RawMessage `json:"is_error"`

	ID          string          `json:"id"`
	CallID      string          `json:"call_id"`
	Name        string          `json:"name"`
	Arguments   json.RawMessage `json:"arguments"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
	ServerLabel string          `json:"server_label"`
	Error       json.RawMessage `json:"error"`
	Status      string          `json:"status"`
}

func (m *chatItem) callID() string {
	if m.CallID != "" {
		return m.CallID
	}
	return m.ID
}

func (c *chat) item(number int, v json.RawMessage, place int) error {
	var m chatItem
	if err := readable(json.Unmarshal(v, &m)); err != nil {
		return err
	}
	th := c.thread
	switch {
	case m.Type == "function_call" || m.Type == "custom_tool_call":
		arguments := m.Arguments
		if len(arguments) == 0 {
			arguments = m.Input
		}
		th.call(call{line: number, id: m.callID(), name: m.Name, arguments: arguments})
	case m.Type == "function_call_output" || m.Type == "custom_tool_call_output":
		th.settle(m.callID(), chatResult(&m, m.Output))
	case m.Type == "mcp_call":
		th.call(call{line: number, id: m.ID, name: m.Name, server: m.ServerLabel, arguments: m.Arguments})
		r := result{outcome: episodic.Success, value: m.Output}
		if len(m.Error) > 0 && string(m.Error) != "null" || m.Status == "failed" {
			r.outcome, r.text = episodic.Failure, string(m.Error)
		}
		if m.Status == "in_progress" || m.Status == "calling" || m.Status == "incomplete" {
			r = result{}
		}
		th.settle(m.ID, r)
	case m.Role == "user":
		text, err := texts(m.Content)
		if err != nil {
			return err
		}
		if text = strings.TrimSpace(text); text != "" {
			th.ask(number, text, time.Time{})
		}
	case m.Role == "assistant":
		c.assistant(number, &m, place)
	case m.Role == "tool" || m.Role == "function":
		id := m.ToolCallID
		if id == "" && len(c.pending) > 0 {
			id = c.pending[0]
			c.pending = c.pending[1:]
		}
		th.settle(id, chatResult(&m, m.Content))
	}
	return nil
}

func (c *chat) assistant(number int, m *chatItem, place int) {
	c.turn++
	c.pending = nil
	turn := strconv.Itoa(c.turn)
	for i, tc := range m.ToolCalls {
		id := tc.ID
		if id == "" {
			id = fmt.Sprintf("%d.%d", c.turn, i)
			c.pending = append(c.pending, id)
		}
		name, arguments := tc.Function.Name, tc.Function.Arguments
		if name == "" {
			name, arguments = tc.Custom.Name, tc.Custom.Input
		}
		if name != "" {
			c.thread.call(call{line: number, id: id, name: name, arguments: arguments, turn: turn})
		}
	}
	if f := m.FunctionCall; f != nil && f.Name != "" {
		id := fmt.Sprintf("%d.0", c.turn)
		c.pending = append(c.pending, id)
		c.thread.call(call{line: number, id: id, name: f.Name, arguments: f.Arguments, turn: turn})
	}
}

// chatResult reads the answer of a tool.
func chatResult(m *chatItem, content json.RawMessage) result {
	r := result{value: content}
	text, err := texts(content)
	if err != nil {
		text = string(content)
	}
	switch {
	case string(m.IsError) == "true" || m.Status == "error":
		r.outcome, r.text = episodic.Failure, text
	case string(m.IsError) == "false" || m.Status == "success":
		r.outcome = episodic.Success
	default:
		said := toolcall.Members(json.RawMessage(text))
		if mark, ok := said["isError"]; ok {
			r.outcome = episodic.Success
			if string(mark) == "true" {
				r.outcome, r.text = episodic.Failure, text
			}
		} else if wrong := said["error"]; len(said) == 1 && len(wrong) > 0 && string(wrong) != "null" {
			r.outcome, r.text = episodic.Failure, text
		}
	}
	return r
}
