package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/strictjson"
)

// MaxFrame is the longest message a host may send over a pipe, in bytes.
const MaxFrame = 4 << 20

// longestWrite is how long a host may take to read an answer.
const longestWrite = 30 * time.Second

// codeEnding is the code of a call that is refused because one end of the pipe is going away.
const codeEnding = -32000

// A host's pipe carries one message per line. The SDK ends the session at the first line that is not a message;
// frames answers such a line with a JSON-RPC error and continues with the next. The SDK also cancels all calls when
// its input ends, so frames reports the end of the input only after every call before it has been answered.
//
//	host ── line ──▶ frames ── message ──▶ session
//	  ◀── error ──────┘                      │
//	  ◀──────────────── answers ─────────────┘    one writer at a time
type frames struct {
	in    io.ReadCloser
	out   *frameWriter
	lines chan frame
	rest  []byte     // of the line being passed on
	ended error      // why no further line is passed on
	turn  jsonrpc.ID // call that has to be answered before the next line is passed on

	draining  chan struct{} // closed when no further line is to be passed on
	stopped   chan struct{} // closed when calls in flight are no longer waited for
	abandoned chan struct{} // closed when the host has stopped reading after the end of its input
	drain     func()
	stop      func()
}

// frame is one line of the input, or its end.
type frame struct {
	line    []byte
	tooLong bool
	err     error
}

// frameWriter serialises the lines of several writers, notes the negotiated revision, and keeps track of the calls
// that are not answered yet.
type frameWriter struct {
	mu sync.Mutex // held during a write
	io.WriteCloser

	state    sync.Mutex
	revision string              // empty before the handshake
	calls    map[jsonrpc.ID]bool // of the host
	asked    map[jsonrpc.ID]bool // requests to the host
	began    time.Time           // of the write under way
	failed   bool                // the host no longer reads
	changed  chan struct{}       // holds a token after each change
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	messages, _ := messagesOf(p) // an error with the id null is no message to the SDK, and answers no call
	w.update(func() {
		w.began = time.Now()
		if w.revision == "" {
			w.revision = agreedRevision(p)
		}
		for _, m := range messages { // before the write: the host may answer at once
			if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
				w.asked[req.ID] = true
			}
		}
	})
	_, err := w.WriteCloser.Write(mended(p))
	w.update(func() {
		w.began, w.failed = time.Time{}, w.failed || err != nil
		for _, m := range messages {
			if resp, ok := m.(*jsonrpc.Response); ok {
				delete(w.calls, resp.ID)
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *frameWriter) update(change func()) {
	w.state.Lock()
	defer w.state.Unlock()
	change()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// received notes the messages of a line of the host before the line is passed on.
func (w *frameWriter) received(messages ...jsonrpc.Message) {
	w.update(func() {
		for _, m := range messages {
			switch m := m.(type) {
			case *jsonrpc.Response:
				delete(w.asked, m.ID)
			case *jsonrpc.Request:
				switch {
				case m.Method == "subscriptions/listen": // lasts until the client cancels it
				case m.IsCall():
					w.calls[m.ID] = true
				case m.Method == "notifications/cancelled":
					delete(w.calls, cancelledCall(m))
				}
			}
		}
	})
}

// awaits reports whether a call of the host has no answer yet that the host could still read.
func (w *frameWriter) awaits(id jsonrpc.ID) bool {
	w.state.Lock()
	defer w.state.Unlock()
	return !w.failed && w.calls[id]
}

// unanswered returns the number of calls without an answer that the host could still read, how long the current
// write has been blocked, and the requests to the host, which it can no longer answer once its input has ended.
func (w *frameWriter) unanswered() (calls int, blocked time.Duration, asked []jsonrpc.ID) {
	w.state.Lock()
	defer w.state.Unlock()
	if w.failed {
		return 0, 0, nil
	}
	if !w.began.IsZero() {
		blocked = time.Since(w.began)
	}
	return len(w.calls), blocked, slices.Collect(maps.Keys(w.asked))
}

// messagesOf decodes a line: one message or a batch.
func messagesOf(line []byte) ([]jsonrpc.Message, error) {
	var parts []json.RawMessage
	if line[0] != '[' {
		parts = append(parts, line)
	} else if err := json.Unmarshal(line, &parts); err != nil {
		return nil, err
	}
	messages := make([]jsonrpc.Message, len(parts))
	for i, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			return nil, err
		}
		messages[i] = m
	}
	return messages, nil
}

// cancelledCall is the id of the call that a notification cancels; the zero ID if it names none.
func cancelledCall(n *jsonrpc.Request) jsonrpc.ID {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(n.Params, &p) != nil {
		return jsonrpc.ID{}
	}
	id, _ := jsonrpc.MakeID(p.RequestID) // the zero ID with the error
	return id
}

// batches reports whether the revision agreed on has them: only what was before 2025-06-18.
func (w *frameWriter) batches() bool {
	w.state.Lock()
	defer w.state.Unlock()
	return w.revision != "" && w.revision < firstStructured
}

// agreedRevision is the revision in the answer to a handshake, empty for any other message.
func agreedRevision(message []byte) string {
	if !bytes.Contains(message, []byte(`"protocolVersion"`)) {
		return ""
	}
	var m struct {
		Result struct {
			Revision string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(message, &m) != nil {
		return ""
	}
	return m.Result.Revision
}

// mended gives an error the code that it should have: the SDK answers what it refuses itself with 0, which
// JSON-RPC does not know. The message may stand in a server-sent event.
func mended(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"error":{"code":0,`)) {
		return message
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	start := bytes.IndexByte(message, '{')
	if json.Unmarshal(message[start:], &m) != nil || m.Error.Code != 0 || m.Error.Message == "" || m.Result != nil {
		return message
	}
	code := -32603
	if strings.HasSuffix(m.Error.Message, "during session initialization") {
		code = -32600
	}
	again := frameError(m.ID, code, m.Error.Message)
	if again == nil {
		return message
	}
	end := len(bytes.TrimRight(message, "\n"))
	return slices.Concat(message[:start], again, message[end:])
}

// newFrames puts frames between a host and a session, which reads from frames and writes to its out.
func newFrames(in io.ReadCloser, out io.WriteCloser) *frames {
	f := &frames{
		in: in, lines: make(chan frame),
		out:      &frameWriter{WriteCloser: out, calls: map[jsonrpc.ID]bool{}, asked: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1)},
		draining: make(chan struct{}), stopped: make(chan struct{}), abandoned: make(chan struct{}),
	}
	f.drain = sync.OnceFunc(func() { close(f.draining) })
	f.stop = sync.OnceFunc(func() { close(f.stopped) })
	go f.readLines()
	return f
}

func (f *frames) Close() error {
	f.stop()
	return f.in.Close()
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next handles one line, or reports the end of the input once all calls are answered. It may leave rest empty.
func (f *frames) next() error {
	for f.out.awaits(f.turn) {
		select {
		case <-f.out.changed:
		case <-f.stopped:
			return io.EOF
		}
	}
	if f.ended != nil {
		return f.end()
	}
	select {
	case <-f.draining: // also where a line is there
		f.ended = io.EOF
		return nil
	default:
	}
	select {
	case l := <-f.lines:
		f.ended = l.err
		f.accept(l)
	case <-f.draining:
	case <-f.stopped:
		return io.EOF
	}
	return nil
}

// accept passes a line on, or refuses it.
func (f *frames) accept(l frame) {
	line := bytes.TrimSpace(l.line)
	switch {
	case l.tooLong:
		f.refuse(nil, -32600, "the message is longer than 4 MiB")
		return
	case len(line) == 0:
		return
	}
	id, code, reason := checkFrame(line)
	if code == 0 && line[0] == '[' && !f.out.batches() {
		code, reason = -32600, "this revision of the protocol has no batches: send one message per line"
	}
	if code != 0 {
		f.refuse(id, code, reason)
		return
	}
	messages, err := messagesOf(line)
	if err != nil {
		f.refuse(id, -32600, "the line is no JSON-RPC message: "+err.Error())
		return
	}
	f.out.received(messages...)
	f.rest, f.turn = append(line, '\n'), jsonrpc.ID{}
	for _, m := range messages {
		if req, ok := m.(*jsonrpc.Request); ok && records(req) {
			f.turn = req.ID
		}
	}
}

// records reports whether a call records an episode. The session runs calls concurrently, but a question that is
// sent after a record has to count it, so the lines after it wait for its answer.
func records(req *jsonrpc.Request) bool {
	var p struct {
		Name string `json:"name"`
	}
	return req.Method == "tools/call" && json.Unmarshal(req.Params, &p) == nil && p.Name == toolRecord
}

// end waits until the calls before the end of the input are answered; each call has a time limit of its own. It gives
// up on a host that neither reads nor closes its end. A request to the host fails: no answer can follow.
func (f *frames) end() error {
	for {
		calls, blocked, asked := f.out.unanswered()
		switch {
		case calls == 0:
			return f.ended
		case blocked > longestWrite:
			close(f.abandoned)
			return f.ended
		case len(asked) > 0:
			return f.answer(asked[0])
		}
		select {
		case <-f.out.changed:
		case l := <-f.lines: // only where the end is that of the server
			f.refuseLate(l)
		case <-time.After(time.Second):
		case <-f.stopped:
			return io.EOF
		}
	}
}

// answer gives a request to the host an answer in its place.
func (f *frames) answer(asked jsonrpc.ID) error {
	failure := &jsonrpc.Response{ID: asked, Error: &jsonrpc.Error{Code: codeEnding, Message: "the host has closed its end"}}
	line, err := jsonrpc.EncodeMessage(failure)
	if err != nil {
		return err
	}
	f.out.received(failure)
	f.rest = append(line, '\n')
	return nil
}

// refuseLate refuses the call in a line that came after shutdown began.
func (f *frames) refuseLate(l frame) {
	if line := bytes.TrimSpace(l.line); len(line) > 0 {
		if id, code, _ := checkFrame(line); code == 0 && id != nil && bytes.Contains(line, []byte(`"method"`)) {
			f.refuse(id, codeEnding, "the server is shutting down; start it again")
		}
	}
}

// readLines reads the input ahead by one line, so that a pending read does not delay the end of the session.
func (f *frames) readLines() {
	r := bufio.NewReaderSize(f.in, 64<<10)
	for {
		var l frame
		l.line, l.tooLong, l.err = readLine(r)
		select {
		case f.lines <- l:
		case <-f.stopped:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads to the end of a line, of which it keeps no more than a message may have.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > MaxFrame; !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// frame fields that are read here; a message may have others.
type frameFields struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// checkFrame reports what is wrong with a message: not acceptable JSON (-32700), or JSON but not a JSON-RPC 2.0 message
// (-32600). The id is that of the message where it has a usable one. A batch is a message if all in it are, with ids of
// their own.
func checkFrame(line []byte) (id json.RawMessage, code int, reason string) {
	if err := strictjson.Check(line); err != nil {
		return frameID(line), -32700, err.Error()
	}
	if line[0] == '[' {
		code, reason = checkBatch(line)
		return nil, code, reason
	}
	var m frameFields
	if line[0] != '{' {
		return nil, -32600, "the message is not a JSON object"
	}
	if err := strictjson.UnmarshalForeign(line, &m); err != nil {
		return frameID(line), -32600, err.Error()
	}
	if len(m.ID) > 0 && string(m.ID) != "null" {
		if !usableID(m.ID) {
			return nil, -32600, "the id is neither a string nor an integer of at most 53 bits"
		}
		id = m.ID
	}
	switch {
	case m.Version != "2.0":
		return id, -32600, `jsonrpc is not "2.0"`
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return id, -32600, "the message has neither method nor result nor error"
	case m.Method != "" && string(m.ID) == "null":
		return nil, -32600, "the id of a request is null"
	}
	return id, 0, ""
}

// frameID is the id of a refused message, so that its sender does not wait for an answer; nil where it is not certain.
func frameID(line []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil || !usableID(m.ID) || bytes.Count(line, []byte(`"id"`)) != 1 {
		return nil
	}
	return m.ID
}

// usableID reports whether an id is answered as it was sent: numbers are kept as 64-bit floats on the way.
func usableID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n > -1<<53 && n < 1<<53
}

// checkBatch is checkFrame for a JSON array.
func checkBatch(line []byte) (code int, reason string) {
	var messages []json.RawMessage
	if json.Unmarshal(line, &messages) != nil || len(messages) == 0 {
		return -32600, "the batch is empty"
	}
	seen := map[string]bool{}
	for _, m := range messages {
		if m[0] == '[' {
			return -32600, "a batch stands in a batch"
		}
		id, code, reason := checkFrame(m)
		if code == 0 && id != nil && seen[string(id)] {
			code, reason = -32600, "two messages of the batch have one id"
		}
		if code != 0 {
			return code, reason
		}
		seen[string(id)] = true
	}
	return 0, ""
}

func (f *frames) refuse(id json.RawMessage, code int, reason string) {
	if answer := frameError(id, code, reason); answer != nil {
		_, _ = f.out.Write(append(answer, '\n')) // a host that does not read learns nothing
	}
}

// frameError is an error message; without an id its id is null.
func frameError(id json.RawMessage, code int, reason string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": reason},
	})
	if err != nil {
		return nil
	}
	return answer
}
