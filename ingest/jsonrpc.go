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

// decodeJSONRPC reads a recorded MCP transcript: text in which some lines contain a message. It reads
//
//	write: {"jsonrpc":…}                                             the Go SDK's LoggingTransport; also read:
//	2026-06-27T07:58:07.774Z [info] [fs] Message from client: {…}    Claude Desktop's mcp*.log, the brackets in either order
//	{"jsonrpc":…}                                                    one message a line, or a batch in a list
//	{"time":…,"direction":…,"server":…,"session":…,"message":{…}}    the same in an envelope
//
// and skips other lines. A request and its answer are paired by session, server, sender and id, which may be a
// number or a string. A call whose answer asks for input first does not count. The answers to tools/list are
// the catalog. All connections of a client to its servers are one session, because a call on one server may
// depend on a call on another.
//
// The server of a connection is the option, else the server in the line, else the name that the server reported
// at initialization, else the name in the file name (mcp-server-fs.log).
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
	pending map[string][]asked // unanswered requests by connection, sender and id
	servers map[string]string  // connection → server name reported at initialization
	sum     [32]byte           // running hash of all calls; identifies a call in a transcript without times
}

// asked is a request without an answer so far.
type asked struct {
	method string
	call   string // id of the call in its thread
	thread *thread
}

// envelope is a message with the metadata that the log adds to it.
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

// openEnvelope finds the message in a line; ok is false if there is none.
func openEnvelope(l line) (e envelope, ok bool, err error) {
	if l.problem != "" {
		return e, false, l.decode(nil)
	}
	text := bytes.TrimSpace(l.data)
	if i := bytes.IndexByte(text, '{'); i > 0 && (text[0] != '[' || !json.Valid(text)) {
		e.read(string(text[:i]))
		e.message = text[i:]
		if !bytes.Contains(e.message, []byte(`"jsonrpc"`)) || !json.Valid(e.message) && !l.cut { // the log shortened the message
			return e, false, nil
		}
	} else if e.message = text; !bytes.Contains(text, []byte("jsonrpc")) { // an envelope may hold it in a string
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

// marks map the label that a log writes before a message to the sender.
var marks = map[string]string{
	"Message from client:": "client", "Message from server:": "server", "write:": "write", "read:": "read",
}

// read parses time, server and sender from the text before a message.
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

// other maps a sender to the side that answers it.
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
		q.thread.localCallIDs = true
		r.sum = sha256.Sum256(slices.Concat(r.sum[:], []byte(name), arguments))
		// Each connection restarts its ids, so the unique part is the time, or the hash of all calls so far.
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
	if e.sender == "" { // both sides may use this id; the shape of the answer decides
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
