package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/ingest/hook"
	"waymark/internal/codec"
)

// A recorded MCP transcript is text in which some lines hold a message. Read are
//
//	write: {"jsonrpc":…}                                             the Go SDK's LoggingTransport; also read:
//	2026-06-27T07:58:07.774Z [info] [fs] Message from client: {…}    Claude Desktop's mcp*.log, the brackets in either order
//	{"jsonrpc":…}                                                    one message a line, or a batch in a list
//	{"time":…,"direction":…,"server":…,"session":…,"message":{…}}    the same in an envelope
//
// and other lines are passed over. A request and its answer are paired by session and server, by who asked, and
// by id, which may be a number or a string. An answer that asks for input first is no call. The answers
// to tools/list are the catalog. A client's connections to its servers are one session: what it calls
// on one may follow from what it called on another.
//
// The server of a connection is the option, else what the line says, else the name that the server gave
// when it was initialized, else that of the file (mcp-server-fs.log).
func decodeJSONRPC(in *input, emit func(Item) bool) error {
	t := in.traces("mcp-jsonrpc")
	return in.eachTraceFile(t, emit, func(name string, f io.Reader, more func() bool) error {
		r := transcript{traces: t, given: in.opts.Server, file: strings.TrimSuffix(path.Base(name), path.Ext(name)),
			pending: map[string][]asked{}, servers: map[string]string{}}
		return eachLineUpTo(maxTraceLine, 1, bufio.NewReader(f), func(l line) bool {
			t.tally.Lines++
			r.line(l)
			return more()
		})
	})
}

type transcript struct {
	*traces
	given   string
	file    string
	pending map[string][]asked // what was asked and not answered, by connection, sender and id
	servers map[string]string  // connection → name its server gave
	sum     [32]byte           // of all calls so far: what tells a transcript without times from others
}

// asked is a request that waits for its answer.
type asked struct {
	method string
	call   string // id of the call in its thread
	thread *thread
}

// envelope is what stands around a message.
type envelope struct {
	at      time.Time
	server  string
	session string
	sender  string
	message json.RawMessage
}

func (r *transcript) line(l line) {
	e, ok, err := openEnvelope(l)
	var batch []json.RawMessage
	switch {
	case err != nil:
	case !ok:
		r.skip()
	case e.message[0] != '[':
		batch = []json.RawMessage{e.message}
	default:
		err = codec.UnmarshalForeign(e.message, &batch)
	}
	for _, v := range batch {
		if err == nil {
			err = r.message(l.number, &e, v)
		}
	}
	if err != nil {
		r.drop(l.number, err)
	}
}

// openEnvelope finds the message in a line; not ok if there is none.
func openEnvelope(l line) (e envelope, ok bool, err error) {
	if l.problem != "" {
		return e, false, l.decode(nil)
	}
	text := bytes.TrimSpace(l.data)
	if i := bytes.IndexByte(text, '{'); i > 0 && (text[0] != '[' || !json.Valid(text)) {
		e.read(string(text[:i]))
		e.message = text[i:]
		if !bytes.Contains(e.message, []byte(`"jsonrpc"`)) || !json.Valid(e.message) && !l.cut { // a message that the log shortens
			return e, false, nil
		}
	} else if e.message = text; !bytes.Contains(text, []byte("jsonrpc")) { // in an envelope it may be in a string
		return e, false, nil
	}
	if !json.Valid(e.message) {
		return e, false, line{data: e.message, cut: l.cut}.decode(&struct{}{})
	}
	d := document{raw: e.message, problem: new(error)}
	if len(e.message) < len(text) || text[0] == '[' || d.at("jsonrpc") != nil {
		return e, true, nil
	}
	v := d.value("message")
	if len(v) == 0 || v[0] != '{' && v[0] != '[' || !bytes.Contains(v, []byte(`"jsonrpc"`)) {
		return e, false, nil
	}
	return envelope{at: moment(&d, "time"), server: d.text("server"), session: d.text("session"),
		sender: d.text("direction"), message: v}, true, nil
}

// marks are what logs write before a message of a side.
var marks = map[string]string{
	"Message from client:": "client", "Message from server:": "server", "write:": "write", "read:": "read",
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
	for mark, sender := range marks {
		if strings.HasSuffix(strings.TrimSpace(head), mark) {
			e.sender = sender
		}
	}
}

var logLevels = map[string]bool{"info": true, "debug": true, "warn": true, "warning": true, "error": true, "trace": true}

// other maps a sender to who answers it.
var other = map[string]string{"client": "server", "server": "client", "write": "read", "read": "write"}

func (r *transcript) message(number int, e *envelope, v json.RawMessage) error {
	m, err := newDocument(line{data: v})
	if err != nil {
		return err
	}
	connection := e.session + "\x00" + e.server
	id, method, name := string(m.value("id")), m.text("method"), m.text("params.name")
	switch {
	case id == "": // a notification
		return *m.problem
	case method == "":
		r.answer(number, e, connection, id, m)
		return *m.problem
	}
	q := asked{method: method}
	if method == "tools/call" && name != "" {
		arguments := m.value("params.arguments")
		q.thread = r.thread(cmp.Or(e.session, r.file))
		q.thread.loose = true
		r.sum = sha256.Sum256(slices.Concat(r.sum[:], []byte(name), arguments))
		// Ids begin anew with each connection: what is unique is the moment, or all that came before.
		unique := e.at.UTC().Format(time.RFC3339Nano)
		if e.at.IsZero() {
			unique = hex.EncodeToString(r.sum[:8])
		}
		q.call = unique + " " + connection + " " + id
		q.thread.call(call{line: number, id: q.call, name: name, server: r.server(connection, e), arguments: arguments, at: e.at})
	}
	key := connection + "\x00" + e.sender + "\x00" + id
	r.pending[key] = append(r.pending[key], q)
	return *m.problem
}

func (r *transcript) server(connection string, e *envelope) string {
	named := ""
	if name, ok := strings.CutPrefix(r.file, "mcp-server-"); ok {
		named = name
	}
	return cmp.Or(r.given, e.server, r.servers[connection], named)
}

func (r *transcript) answer(number int, e *envelope, connection, id string, m *document) {
	key := connection + "\x00" + other[e.sender] + "\x00" + id
	waiting := r.pending[key]
	if len(waiting) == 0 {
		return
	}
	i := 0
	if e.sender == "" { // both sides may have asked under this id; the answers differ
		called := m.at("result.content") != nil && m.at("result.model") == nil
		i = max(0, slices.IndexFunc(waiting, func(q asked) bool { return (q.method == "tools/call") == called }))
	}
	q := waiting[i]
	if r.pending[key] = append(waiting[:i:i], waiting[i+1:]...); len(r.pending[key]) == 0 {
		delete(r.pending, key)
	}
	failure := m.at("error")
	switch q.method {
	case "tools/call":
		if q.thread == nil {
			return
		}
		res := result{outcome: episodic.Failure}
		if failure != nil {
			res.text = string(failure.value("code")) + " " + failure.text("message")
		} else {
			res = toolResult(m.value("result"))
		}
		res.at = e.at
		q.thread.settle(q.call, res)
	case "initialize", "server/discover":
		if name := m.text("result.serverInfo.name"); name != "" {
			r.servers[connection] = name
		}
	case "tools/list":
		if list := m.value("result"); failure == nil && list != nil {
			tools := toolsList{given: true, emit: func(it Item) bool {
				it.Line = number
				r.emit(it)
				return true
			}}
			tools.value(number, bytes.TrimSpace(list), r.server(connection, e), 0)
		}
	}
}

var mcpOutcome = outcome{failed: "isError=true", worked: ".", void: "resultType=input_required",
	failure: "content", value: "."}

// toolResult reads the result of an MCP call.
func toolResult(v json.RawMessage) result {
	if hook.Members(v) == nil {
		return result{value: v}
	}
	return mcpOutcome.read(&document{raw: v, problem: new(error)})
}
