package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// decodeJSONRPC reads a recorded MCP transcript: text in which some lines contain a message. It reads
//
//	write: {"jsonrpc":…}                                             the Go SDK's LoggingTransport; also read:
//	2026-06-27T07:58:07.774Z [info] [fs] Message from client: {…}    Claude Desktop's mcp*.log, the brackets in either order
//	{"jsonrpc":…}                                                    one message a line
//	{"time":…,"direction":…,"server":…,"session":…,"message":{…}}    the same in an envelope
//
// and skips other lines. A call and its answer are paired by session, server and id, which may be a number or a string.
// A call whose answer asks for input first does not count. The answers to tools/list are the catalog. All connections
// of a client to its servers are one session, because a call on one server may depend on a call on another.
//
// The server of a connection is the option, else the server in the line, else the name that the server reported
// at initialization, else the name in the file name (mcp-server-fs.log).
var decodeJSONRPC = traceDecoder("mcp-jsonrpc", func(r io.Reader, visit func(line) bool) error {
	return eachLine(r, maxDocument, visit)
}, func(t *traces, file string) (func(line), func()) {
	r := transcript{traces: t, file: strings.TrimSuffix(path.Base(file), path.Ext(file)),
		calls: map[string]pending{}, servers: map[string]string{}}
	return r.line, func() {}
})

type transcript struct {
	*traces
	file    string
	calls   map[string]pending // newest call of each connection and id
	servers map[string]string  // connection → server name reported at initialization
	sum     [32]byte           // running hash of all calls; identifies a call in a transcript without times
}

// pending is a call without an answer so far.
type pending struct {
	thread *thread
	id     string // in the thread
}

// envelope is a message with the metadata that the log adds to it.
type envelope struct {
	at       time.Time
	server   string
	session  string
	byServer bool // as far as the log names the sender
	byClient bool
	message  *document
}

func (r *transcript) line(l line) {
	r.tally.Lines++
	switch e, err := openEnvelope(l); {
	case err != nil:
		r.drop(l.number, err)
	case e.message == nil:
		r.skip()
	default:
		r.message(l.number, &e)
	}
}

// openEnvelope finds the message in a line; the envelope has none if the line has none.
func openEnvelope(l line) (e envelope, err error) {
	begin := max(0, bytes.IndexByte(l.data, '{'))
	if l.problem == nil && !bytes.Contains(l.data[begin:], []byte(`"jsonrpc"`)) {
		return e, nil
	}
	head := string(l.data[:begin])
	l.data = l.data[begin:]
	d, err := newDocument(l)
	switch {
	case err != nil || d.at("jsonrpc") != nil:
		e.read(head, strings.TrimSpace(head))
		e.message = d
	case d.at("message.jsonrpc") != nil:
		e = envelope{at: moment(d, "time"), server: d.text("server"), session: d.text("session"), message: d.at("message")}
		e.read("", d.text("direction"))
	}
	return e, err
}

// read parses time, server and sender from the text before a message.
func (e *envelope) read(head, sender string) {
	for _, word := range strings.Fields(head) {
		if at, err := readTime(strings.Trim(word, "[]:")); err == nil && e.at.IsZero() {
			e.at = at
		}
		name, ok := strings.CutPrefix(word, "[")
		if name, closed := strings.CutSuffix(name, "]"); ok && closed && !slices.Contains(logLevels, strings.ToLower(name)) && e.server == "" {
			e.server = name
		}
	}
	e.byClient = strings.HasSuffix(sender, "from client:") || sender == "write:" || sender == "client" || sender == "write"
	e.byServer = strings.HasSuffix(sender, "from server:") || sender == "read:" || sender == "server" || sender == "read"
}

var logLevels = []string{"info", "debug", "warn", "warning", "error", "trace"}

func (r *transcript) message(number int, e *envelope) {
	m, connection := e.message, e.session+"\x00"+e.server
	id, name := string(m.value("id")), m.text("params.name")
	key := connection + "\x00" + id
	switch {
	case id == "": // a notification
	case m.text("method") == "tools/call" && name != "" && !e.byServer:
		arguments, th := m.value("params.arguments"), r.thread(cmp.Or(e.session, r.file))
		th.localCallIDs = true
		r.sum = sha256.Sum256(slices.Concat(r.sum[:], []byte(name), arguments))
		// Each connection restarts its ids, so the unique part is the time, or the hash of all calls so far.
		unique := e.at.UTC().Format(time.RFC3339Nano)
		if e.at.IsZero() {
			unique = hex.EncodeToString(r.sum[:8])
		}
		r.calls[key] = pending{th, unique + " " + key}
		th.call(call{line: number, id: r.calls[key].id, name: name, server: r.server(connection, e), arguments: arguments, at: e.at})
	case m.at("method") != nil || e.byClient:
	case holds(m, "result.tools=[*"):
		tools := toolsList{given: true, emit: func(it Item) bool {
			it.Line = number
			r.emit(it)
			return true
		}}
		tools.value(line{data: m.at("result.tools").raw}, r.server(connection, e), 0)
	case m.text("result.serverInfo.name") != "":
		r.servers[connection] = m.text("result.serverInfo.name")
	default:
		if q, ok := r.calls[key]; ok {
			delete(r.calls, key)
			res := mcpOutcome.read(m)
			res.at = e.at
			q.thread.settle(q.id, res)
		}
	}
}

func (r *transcript) server(connection string, e *envelope) string {
	_, named, _ := strings.Cut(r.file, "mcp-server-")
	return cmp.Or(r.traces.server, e.server, r.servers[connection], named)
}

var mcpOutcome = outcome{failed: "error; result.isError=true", worked: "result", void: "result.resultType=input_required",
	failure: "error result.content", value: "result"}
