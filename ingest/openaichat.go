package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// decodeOpenAIChat reads conversations with a model in the formats of OpenAI's interfaces. Each of these is an
// object, a line, or an element of a list:
//
//	{"messages":[…]}                                   chat completions; a request and its "choices" as well
//	{"input":[…],"output":[…]}                         Responses: function_call, function_call_output, mcp_call
//	{"role":"assistant","tool_calls":[…]}              one message: the file is the conversation
//	{"type":"function_call","call_id":…}               one item of Responses: likewise
//
// The calls of one message are parallel, and so are consecutive items before their outputs. Arguments may be an
// object or JSON in a string; a call without an id is paired with its result by position. There are no times. A
// result is a failure if it states so (is_error, status "error", or JSON with isError or only an error); a
// result that states neither success nor failure has an unknown outcome.
//
// A conversation without a name (id, conversation, thread or session) is identified by its first call id if
// that looks random, else by its whole content. Request logs contain each conversation many times, each time
// longer: repeated parts count once.
var decodeOpenAIChat = traceDecoder("openai-chat", eachValue, func(t *traces, file string) (func(line), func()) {
	c := chats{traces: t, file: strings.TrimSuffix(path.Base(file), path.Ext(file)), at: map[string]int{}}
	release := c.keep()
	return c.value, release
})

// chats reads the conversations of one file.
type chats struct {
	*traces
	file  string
	open  *session // session of the lines that are one message each
	found []Item
	at    map[string]int // id of an episode → its index in found
}

// keep holds episodes back until the file ends: a later line may contain a longer version of the same
// conversation.
func (c *chats) keep() (release func()) {
	emit := c.emit
	c.emit = func(it Item) {
		switch i, known := c.at[it.ID]; {
		case it.Episode == nil:
			emit(it)
		case known && len(c.found[i].Episode.Steps) <= len(it.Episode.Steps): // at equal length the last call may be more complete
			c.found[i] = it
		case !known:
			c.at[it.ID] = len(c.found)
			c.found = append(c.found, it)
		}
	}
	return func() {
		c.emit = emit
		for _, it := range c.found {
			emit(it)
		}
	}
}

// value reads an object, or a list of messages or objects.
func (c *chats) value(l line) {
	c.tally.Lines++
	d, err := newDocument(l)
	if err != nil {
		c.drop(l.number, err)
		return
	}
	items, isList := d.elements()
	switch {
	case isList && (len(items) == 0 || isMessage(items[0])):
		c.conversation(l.number, "", items, l.data)
	case isList:
		c.tally.Lines--
		for _, v := range items {
			c.value(line{number: l.number, data: v.raw})
		}
	case isMessage(d):
		if c.open == nil {
			c.open = &session{traces: c.traces, host: hosts["openai-chat"], only: c.thread(c.file)}
			c.open.only.localCallIDs = true
		}
		c.open.record(l.number, l.number, d)
	default:
		if items = d.records(hosts["openai-chat"].records); items == nil {
			c.skip()
			return
		}
		c.conversation(l.number, conversationID(d), items, l.data)
	}
}

func isMessage(d *document) bool {
	return d.text("role") != "" || strings.Contains(d.text("type"), "_call")
}

// conversationID returns the name of the conversation, "" if it has none. The id of a completion does not
// identify a conversation.
func conversationID(d *document) string {
	for name := range strings.FieldsSeq(`conversation_id thread_id session_id conversation conversation.id
		metadata.session_id metadata.thread_id metadata.conversation_id id`) {
		id := d.text(name)
		if id != "" && !strings.HasPrefix(id, "chatcmpl-") && !strings.HasPrefix(id, "resp_") {
			return id
		}
	}
	return ""
}

// conversation reads a complete conversation.
func (c *chats) conversation(number int, name string, items []*document, text []byte) {
	th := c.newThread(name)
	th.allowRepeat, th.localCallIDs = true, name != ""
	if first := firstCallID(items); name == "" && !unique(first) {
		sum := sha256.Sum256(text)
		th.salt, th.localCallIDs = hex.EncodeToString(sum[:8]), true
	}
	s := &session{traces: c.traces, host: hosts["openai-chat"], only: th}
	for i, item := range items {
		s.record(number, i+1, item)
	}
	th.flush()
}

func firstCallID(items []*document) string {
	for _, item := range items {
		if calls, _ := item.at("tool_calls").elements(); len(calls) > 0 {
			return calls[0].text("id")
		}
		if strings.HasSuffix(item.text("type"), "_call") {
			return item.text(callIDs)
		}
	}
	return ""
}

// unique reports whether an id looks random: at least sixteen characters, with digits and letters.
func unique(id string) bool {
	digits := strings.ContainsAny(id, "0123456789")
	letters := strings.ContainsFunc(id, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	return len(id) >= 16 && digits && letters
}
