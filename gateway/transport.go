package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"waymark/catalog"
	"waymark/internal/redact"
)

// All bytes from a server pass through this file before the SDK reads them, for three reasons. First, the SDK ends a
// session at the first message that it cannot decode, and real servers send such messages; here only the faulty line,
// message or call fails. Second, the SDK decodes results into Go values, which loses digits and unknown members;
// therefore it receives an empty result whose _meta holds the bytes of the original. Third, the SDK handles notifications
// in another goroutine, so the answer of a call could overtake the last report of its progress; here they are in order.
//
//	child ── lines ──▶ frames ─┐
//	HTTP ── events ──▶ events ─┼─ repaired messages ─▶ SDK ─▶ rawOf
//	HTTP ── bodies ──▶ wire ───┘
//
//	a line that is no message                    dropped
//	a batch                                      split into its messages
//	"error": "bad" in an answer                  {"code": -32603, "message": "bad"}: the call fails
//	"capabilities": {"tools": []} of a server    {"tools": {}}: PHP encodes an empty object as a list
//	a message longer than the limit              an error of its call
//	an HTTP answer that is no message            an error of its call

// rawMember is the member of _meta that holds the original bytes of a result.
const rawMember = "io.waymark/raw"

var errNoAnswer = errors.New("the server answered nothing")

// rawOf returns the original bytes of the result of an SDK request.
func rawOf[R mcp.Result](result R, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	text, _ := result.GetMeta()[rawMember].(string)
	if text == "" {
		return nil, errNoAnswer
	}
	return json.RawMessage(text), nil
}

// sealed returns the result that is passed to the SDK. It contains the tools of a list, because the SDK reads their
// x-mcp-header.
func sealed(result json.RawMessage) json.RawMessage {
	seal := map[string]any{"_meta": map[string]string{rawMember: string(result)}, "content": []any{}}
	var list struct{ Tools []*mcp.Tool }
	if bytes.Contains(result, []byte(`"tools"`)) && json.Unmarshal(result, &list) == nil && !slices.Contains(list.Tools, nil) {
		seal["tools"] = list.Tools
	}
	return encoded(seal)
}

// message is one message from a server.
type message struct {
	raw   []byte
	id    json.RawMessage // nil for a notification
	asked bool            // a request or notification from the server
	error bool            // an error response
}

// mended returns the messages in a text, which may be a batch, repaired where necessary. It drops invalid messages.
func mended(text []byte) (all []message) {
	text = bytes.TrimSpace(text)
	batch := []json.RawMessage{text}
	if len(text) > 0 && text[0] == '[' && json.Unmarshal(text, &batch) != nil {
		return nil
	}
	for _, one := range batch {
		if m, ok := mendedOne(one); ok {
			all = append(all, m)
		}
	}
	return all
}

func mendedOne(text []byte) (m message, ok bool) {
	var f map[string]json.RawMessage
	if json.Unmarshal(text, &f) != nil || f["jsonrpc"] == nil {
		return m, false
	}
	f["jsonrpc"] = json.RawMessage(`"2.0"`)
	m.id = f["id"]
	isID := len(m.id) > 0 && (m.id[0] == '"' || m.id[0] == '-' || m.id[0] >= '0' && m.id[0] <= '9')
	method, asked := f["method"]
	m.asked, m.error = asked, !asked
	switch {
	case asked:
		if method[0] != '"' || m.id != nil && !isID {
			return m, false
		}
	case !isID:
		return m, false
	case !isNull(f["error"]):
		var e struct {
			Code    *int64
			Message *string
		}
		if json.Unmarshal(f["error"], &e) != nil || e.Code == nil || e.Message == nil {
			f["error"] = errorOf(jsonrpc.CodeInternalError, errorText(f["error"]))
		}
	case f["result"] == nil:
		f["error"] = errorOf(jsonrpc.CodeInternalError, "the answer has neither a result nor an error")
	default:
		m.error = false
		if f["result"], ok = mendedOpening(f["result"]); !ok {
			f["result"] = sealed(f["result"])
		}
	}
	m.raw = encoded(f)
	return m, true
}

// mendedOpening returns the result of a request that opens a session, reduced if necessary to the parts that the SDK
// can decode. It returns any other result unchanged, and false.
func mendedOpening(result json.RawMessage) (json.RawMessage, bool) {
	var f, can map[string]json.RawMessage
	if !bytes.Contains(result, []byte(`"capabilities"`)) || json.Unmarshal(result, &f) != nil || f["capabilities"] == nil ||
		f["protocolVersion"] == nil && f["supportedVersions"] == nil {
		return result, false
	}
	if f["protocolVersion"] == nil || json.Unmarshal(result, new(mcp.InitializeResult)) == nil {
		return result, true
	}
	_ = json.Unmarshal(f["capabilities"], &can) // a list contains no capabilities
	for name, value := range can {
		if can[name] = json.RawMessage("{}"); isNull(value) || string(value) == "false" {
			delete(can, name)
		}
	}
	version, server := lastWithHandshake, struct{ Name string }{}
	_ = json.Unmarshal(f["protocolVersion"], &version)
	_ = json.Unmarshal(f["serverInfo"], &server)
	return encoded(map[string]any{"protocolVersion": version, "capabilities": can,
		"serverInfo": map[string]string{"name": server.Name, "version": ""}}), true
}

// Codes of the errors that Waymark creates. Servers use codes from -32768 upwards.
const (
	codeTooLong  = -33001
	codeGone     = -33002 // the server does not know the session any more
	codeNoAnswer = -34000 // minus the status of the HTTP answer
)

func errorOf(code int, text string) json.RawMessage {
	return encoded(jsonrpc.Error{Code: int64(code), Message: catalog.Cut(redact.Text(text), messageBytes)})
}

// failureFor returns an error response to a request.
func failureFor(id json.RawMessage, code int, text string) []byte {
	return encoded(map[string]any{"jsonrpc": "2.0", "id": id, "error": errorOf(code, text)})
}

func failureTooLong(id json.RawMessage, limit int) []byte {
	return failureFor(id, codeTooLong, fmt.Sprintf("the answer is longer than %d bytes", limit))
}

// errorText returns the text of an error: its message, or the whole value if it has none.
func errorText(v []byte) string {
	var text string
	var o struct {
		Message string
		Error   json.RawMessage
	}
	switch {
	case json.Unmarshal(v, &text) == nil:
		return text
	case json.Unmarshal(v, &o) == nil && o.Message != "":
		return o.Message
	case !isNull(o.Error):
		return errorText(o.Error)
	}
	return string(v)
}

// frames reads the lines of a child. It limits the rate of bytes: a child that sends too fast has to wait, so that the
// other servers get processor time.
type frames struct {
	io.Closer
	read    *bufio.Reader
	limit   int
	reports *listeners
	rest    bytes.Buffer  // unread messages of the current line
	traffic *rate.Limiter // limits the rate of its bytes
}

const (
	trafficASecond = 128 << 20 // bytes
	lineCost       = 16 << 10  // least bytes that a line counts as: 8,192 short lines a second are not delayed
	keptOfLong     = 4 << 10   // bytes kept of the head and of the end of an overlong line
	endless        = 256       // a line of this many times the limit counts as endless
)

// errTooLong ends a session because an overlong message cannot be assigned to a call.
var errTooLong = errors.New("it sent a message longer than the limit")

// Patterns for the id of a message of which only the head or the end is known. They match at the outermost level only,
// because the inside of a result can contain any text.
var idInHead = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")\s*,`)
var idAtEnd = regexp.MustCompile(`,\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

func newFrames(in io.ReadCloser, limit int, reports *listeners) *frames {
	traffic := rate.NewLimiter(trafficASecond, trafficASecond)
	return &frames{Closer: in, read: bufio.NewReaderSize(in, 64<<10), limit: limit, reports: reports, traffic: traffic}
}

func (f *frames) Read(p []byte) (int, error) {
	for f.rest.Len() == 0 {
		line, end, err := f.line()
		if end != nil {
			id := append(idInHead.FindSubmatch(line), idAtEnd.FindSubmatch(end)...)
			if len(id) == 0 {
				return 0, errTooLong
			}
			line = failureTooLong(id[1], f.limit)
		}
		for _, m := range mended(line) {
			f.reports.onMessage(m)
			fmt.Fprintf(&f.rest, "%s\n", m.raw)
		}
		if err != nil && f.rest.Len() == 0 {
			return 0, err
		}
	}
	return f.rest.Read(p)
}

// line reads a line. For an overlong line it returns the head and the end; otherwise end is nil.
func (f *frames) line() (line, end []byte, err error) {
	for size := 0; ; {
		part, err := f.read.ReadSlice('\n')
		time.Sleep(f.traffic.ReserveN(time.Now(), max(len(part), lineCost)).Delay())
		switch size += len(part); {
		case size <= f.limit:
			line = append(line, part...)
		case size > endless*f.limit:
			return nil, []byte{}, errTooLong
		default:
			if end == nil {
				line = append(line, part...)
				line = bytes.Clone(line[:min(len(line), keptOfLong)]) // releases the rest
			}
			end = append(end, part...)
			end = bytes.Clone(end[max(0, len(end)-keptOfLong):])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, end, err
		}
	}
}

// wire sends the requests to a server over HTTP. It adds the headers of the definition and limits the size of each
// answer. If the answer to a call is not a message, it becomes an error of that call.
type wire struct {
	next    http.RoundTripper
	headers map[string]string
	limit   int
	reports *listeners
	sse     bool // the HTTP+SSE transport of 2024: all answers come in one separate stream
	login   bool // the session handles answers that ask for a login (401, 403)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	var call struct {
		ID     json.RawMessage
		Method string
	}
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			_ = json.NewDecoder(body).Decode(&call)
			_ = body.Close()
		}
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	opens := call.Method == "initialize" || call.Method == "server/discover"
	switch {
	case kind == "text/event-stream" && resp.StatusCode < 300:
		resp.Body = newEvents(resp.Body, call.ID, w.limit, w.reports)
	case w.login && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden):
	case w.sse || call.ID == nil || call.Method == "" || opens && resp.StatusCode >= 300:
		resp.Body = http.MaxBytesReader(nil, resp.Body, int64(w.limit))
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(w.limit)+1))
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		body = w.answer(resp, call.ID, body, r.Header.Get("Mcp-Session-Id") != "")
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Header.Set("Content-Type", "application/json")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}

// answer returns the message in the body of an HTTP answer that answers a call, or an error response if there is none.
func (w *wire) answer(resp *http.Response, id json.RawMessage, body []byte, session bool) []byte {
	status := resp.StatusCode
	gone := session && (status == http.StatusNotFound || status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(body), []byte("session")))
	if len(body) > w.limit {
		return failureTooLong(id, w.limit)
	}
	for _, m := range mended(body) {
		ofCall := status < 300 || m.error && !gone && status < 500 && !slices.Contains(ofServer, status)
		if ofCall && !m.asked && bytes.Equal(m.id, id) {
			return m.raw
		}
	}
	text, code := "", codeNoAnswer-status
	if len(body) > 0 && body[0] != '<' {
		text = errorText(body)
	}
	if gone {
		code = codeGone
	}
	return failureFor(id, code, text)
}

// ofServer are the statuses that concern the whole server, whatever message comes with them.
var ofServer = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}

// events is an event stream whose messages are repaired. An overlong event ends the stream with an error of the call
// that the stream answers.
type events struct {
	io.Closer
	lines      *bufio.Scanner
	id         json.RawMessage // of the call; nil: none
	limit      int
	reports    *listeners
	kind       string       // of the current event
	head, data []byte       // of the current event: its other lines, and its data without line breaks
	rest       bytes.Buffer // unread events
}

func newEvents(in io.ReadCloser, id json.RawMessage, limit int, reports *listeners) *events {
	e := &events{Closer: in, lines: bufio.NewScanner(in), id: id, limit: limit, reports: reports}
	e.lines.Buffer(nil, limit+len("data: \r\n"))
	return e
}

func (e *events) Read(p []byte) (int, error) {
	for e.rest.Len() == 0 {
		more := e.lines.Scan()
		switch tooLong := len(e.head)+len(e.data) > e.limit || errors.Is(e.lines.Err(), bufio.ErrTooLong); {
		case tooLong && e.id != nil:
			e.head, e.data, e.id = nil, failureTooLong(e.id, e.limit), nil
			e.end()
		case tooLong:
			return 0, bufio.ErrTooLong
		case more && len(e.lines.Bytes()) > 0:
			e.line(e.lines.Bytes())
		case more || len(e.data) > 0:
			e.end()
		default:
			return 0, cmp.Or(e.lines.Err(), io.EOF)
		}
	}
	return e.rest.Read(p)
}

// line adds a line to the current event. The line breaks of its data are dropped: in JSON they are white space.
func (e *events) line(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(e.data, value...)
		return
	case "event":
		e.kind = string(value)
	}
	e.head = append(append(e.head, line...), '\n')
}

// end ends the current event: it repairs its messages and appends them to the bytes that Read returns.
func (e *events) end() {
	messages := []message{{raw: e.data}}
	if len(e.data) > 0 && (e.kind == "" || e.kind == "message") {
		messages = mended(e.data)
	}
	for _, m := range messages {
		e.reports.onMessage(m)
		fmt.Fprintf(&e.rest, "%sdata: %s\n\n", e.head, m.raw)
	}
	e.kind, e.head, e.data = "", nil, nil
}
