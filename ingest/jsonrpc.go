package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/ingest/toolcall"
	"waymark/internal/strictjson"
)

// A recorded MCP transcript is text in which some lines hold a message. Read are
//
//	write: {"jsonrpc":…}                                             the Go SDK's LoggingTransport; also read:
//	2026-06-27T07:58:07.774Z [info] [fs] Message from client: {…}    Claude Desktop's mcp*.log, the brackets in either order
//	{"jsonrpc":…}                                                    one message a line, or a batch in a list
//	{"time":…,"direction":…,"server":…,"session":…,"message":{…}}    the same in an envelope
//
// and other lines are passed over. A request and its answer are paired by connection, by who asked, and
// by id, which may be a number or a string. An answer that asks for input first is no call. The answers
// to tools/list are the catalog. A client's connections to its servers are one session: what it calls
// on one may follow from what it called on another.
//
// The server of a connection is the option, else what the line says, else the name that the server gave
// when it was initialized, else that of the file (mcp-server-fs.log).
func decodeJSONRPC(in *input, emit func(Item) bool) error {
	t := in.traces("mcp-jsonrpc")
	return in.eachTrace(t, []string{".log", ".jsonl", ".ndjson", ".json", ".txt"}, emit, func(name string) func(line) {
		r := transcript{traces: t, given: in.opts.Server, file: strings.TrimSuffix(path.Base(name), path.Ext(name)),
			pending: map[string][]asked{}, servers: map[string]string{}}
		return r.line
	})
}

type transcript struct {
	*traces
	given   string
	file    string
	pending map[string][]asked // what was asked and not answered, by connection, sender and id
	servers map[string]string  // connection → name its server gave
	sum     [32]byte           // of all calls so far: what tells a transcript without times from others
	calls   int
}

// asked is a request that waits for its answer.
type asked struct {
	method string
	call   string // id of the call in its thread
	thread *thread
}

// envelope is what stands around a message.
type envelope struct {
	at         time.Time
	connection string
	server     string
	session    string
	sender     string
	message    json.RawMessage
}

func (r *transcript) line(l line) {
	if l.problem != "" {
		r.drop(l.number, l.decode(nil))
		return
	}
	e, ok, err := openEnvelope(l)
	if err != nil {
		r.drop(l.number, err)
		return
	}
	if !ok {
		r.skip()
		return
	}
	var batch []json.RawMessage
	if e.message[0] != '[' {
		batch = []json.RawMessage{e.message}
	} else if err := strictjson.UnmarshalForeign(e.message, &batch); err != nil {
		r.drop(l.number, err)
		return
	}
	for _, v := range batch {
		r.message(l.number, &e, v)
	}
}

// openEnvelope finds the message in a line; not ok if there is none.
func openEnvelope(l line) (e envelope, ok bool, err error) {
	text := bytes.TrimSpace(l.data)
	if i := bytes.IndexByte(text, '{'); i > 0 && text[0] != '[' || i > 0 && text[0] == '[' && !json.Valid(text) {
		head := string(text[:i])
		text = text[i:]
		if !bytes.Contains(text, []byte(`"jsonrpc"`)) {
			return e, false, nil
		}
		if !json.Valid(text) {
			if l.cut {
				return e, false, line{data: text, cut: true}.decode(&struct{}{})
			}
			return e, false, nil // a message that the log shortens
		}
		e.read(head)
		e.message = text
		return e, true, nil
	}
	if !bytes.Contains(text, []byte("jsonrpc")) { // in an envelope it may be in a string
		return e, false, nil
	}
	if !json.Valid(text) {
		return e, false, line{data: text, cut: l.cut}.decode(&struct{}{})
	}
	outer := toolcall.Members(text)
	if outer == nil || outer["jsonrpc"] != nil {
		e.message = text
		return e, true, nil
	}
	for _, key := range []string{"message", "payload", "data", "msg", "frame", "raw", "json", "body"} {
		v := toolcall.Unquoted(outer[key])
		if len(v) == 0 || v[0] != '{' && v[0] != '[' || !bytes.Contains(v, []byte(`"jsonrpc"`)) {
			continue
		}
		at := toolcall.FirstText(outer, "time", "timestamp", "ts", "at")
		e.at, _ = readTime(at)
		e.connection = toolcall.FirstText(outer, "connection", "connection_id", "connectionId", "conn")
		e.server = toolcall.FirstText(outer, "server", "server_name", "serverName")
		e.session = toolcall.FirstText(outer, "session", "session_id", "sessionId")
		e.sender = sender(toolcall.FirstText(outer, "direction", "dir", "from", "sender", "side", "type"))
		e.message = v
		return e, true, nil
	}
	return e, false, nil
}

// read takes time, server and sender out of what stands before a message.
func (e *envelope) read(head string) {
	for _, word := range strings.Fields(head) {
		if at, err := readTime(strings.Trim(word, "[]:")); err == nil && e.at.IsZero() {
			e.at = at
		}
		name, ok := strings.CutPrefix(word, "[")
		if name, closed := strings.CutSuffix(name, "]"); ok && closed && !logLevels[strings.ToLower(name)] && e.server == "" {
			e.server = name
		}
	}
	e.sender = sender(strings.TrimSuffix(strings.TrimSpace(head), ":"))
}

var logLevels = map[string]bool{"info": true, "debug": true, "warn": true, "warning": true, "error": true, "trace": true}

// sender reads who sent a message; "" if the words do not say.
func sender(words string) string {
	words = strings.ToLower(words)
	for _, end := range []struct{ words, sender string }{
		{"from client", "client"}, {"from server", "server"}, {"write", "write"}, {"read", "read"}, {"client", "client"}, {"server", "server"},
		{"outgoing", "write"}, {"incoming", "read"}, {"sent", "write"}, {"received", "read"}, {"send", "write"}, {"recv", "read"},
	} {
		if strings.HasSuffix(words, end.words) || strings.HasPrefix(words, end.words) {
			return end.sender
		}
	}
	return ""
}

// other maps a sender to who answers it.
var other = map[string]string{"client": "server", "server": "client", "write": "read", "read": "write"}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	} `json:"error"`
}

func (r *transcript) message(number int, e *envelope, v json.RawMessage) {
	var m rpc
	if err := strictjson.UnmarshalForeign(v, &m); err != nil {
		r.drop(number, err)
		return
	}
	connection := e.session + "\x00" + e.connection + "\x00" + e.server
	id := string(m.ID)
	if id == "" || id == "null" { // a notification
		return
	}
	if m.Method == "" {
		r.answer(number, e, connection, id, &m)
		return
	}
	q := asked{method: m.Method}
	if m.Method == "tools/call" && m.Params.Name != "" {
		q.thread = r.threadOf(e)
		r.calls++
		sum := sha256.Sum256(append(append(r.sum[:], m.Params.Name...), m.Params.Arguments...))
		r.sum = sum
		// Ids begin anew with each connection: what is unique is the moment, or all that came before.
		q.call = e.at.UTC().Format(time.RFC3339Nano) + " " + connection + " " + id
		if e.at.IsZero() {
			q.call = hex.EncodeToString(sum[:8]) + " " + connection + " " + id
		}
		q.thread.call(call{line: number, id: q.call, name: m.Params.Name, server: r.server(connection, e), arguments: m.Params.Arguments, at: e.at})
	}
	key := connection + "\x00" + e.sender + "\x00" + id
	r.pending[key] = append(r.pending[key], q)
}

func (r *transcript) threadOf(e *envelope) *thread {
	session := e.session
	if session == "" {
		session = r.file
	}
	th := r.thread(session, session)
	th.loose = true
	return th
}

func (r *transcript) server(connection string, e *envelope) string {
	switch {
	case r.given != "":
		return r.given
	case e.server != "":
		return e.server
	case r.servers[connection] != "":
		return r.servers[connection]
	}
	name, ok := strings.CutPrefix(r.file, "mcp-server-")
	if !ok {
		return ""
	}
	return name
}

func (r *transcript) answer(number int, e *envelope, connection, id string, m *rpc) {
	key := connection + "\x00" + other[e.sender] + "\x00" + id
	waiting := r.pending[key]
	if len(waiting) == 0 {
		return
	}
	i := 0
	if e.sender == "" && len(waiting) > 1 { // both sides may have asked under this id; the answers differ
		_, called := toolcall.Members(m.Result)["content"]
		_, sampled := toolcall.Members(m.Result)["model"]
		for j, q := range waiting {
			if (q.method == "tools/call") == (called && !sampled) {
				i = j
				break
			}
		}
	}
	q := waiting[i]
	if r.pending[key] = append(waiting[:i:i], waiting[i+1:]...); len(r.pending[key]) == 0 {
		delete(r.pending, key)
	}
	switch q.method {
	case "tools/call":
		if q.thread == nil {
			return
		}
		res := result{outcome: episodic.Failure}
		if m.Error != nil {
			res.text = string(m.Error.Code) + " " + m.Error.Message
		} else {
			res = toolResult(m.Result)
		}
		res.at = e.at
		q.thread.settle(q.call, res)
	case "initialize", "server/discover":
		var info struct {
			ServerInfo struct {
				Name string `json:"name"`
			} `json:"serverInfo"`
		}
		if json.Unmarshal(m.Result, &info) == nil && info.ServerInfo.Name != "" {
			r.servers[connection] = info.ServerInfo.Name
		}
	case "tools/list":
		if m.Error == nil && len(m.Result) > 0 {
			list := toolsList{given: true, emit: func(it Item) bool {
				it.Line = number
				r.emit(it)
				return true
			}}
			list.value(number, bytes.TrimSpace(m.Result), r.server(connection, e), 0)
		}
	}
}

var mcpOutcome = outcome{failed: []string{"isError=true"}, worked: []string{""}, void: []string{"resultType=input_required"},
	failure: []string{"content"}, value: []string{""}}

// toolResult reads the result of an MCP call.
func toolResult(v json.RawMessage) result {
	if toolcall.Members(v) == nil {
		return result{value: v}
	}
	return mcpOutcome.read(&document{raw: v, problem: new(error)})
}
