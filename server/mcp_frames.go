package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// maxFrame is the longest message a host may send over a pipe, in bytes.
const maxFrame = 4 << 20

// A host's pipe carries one message a line. The SDK ends the session at the first line that is none;
// frames answers such a line with a JSON-RPC error and goes on with the next.
//
//	host ── line ──▶ frames ── message ──▶ session
//	  ◀── error ──────┘                      │
//	  ◀──────────────── answers ─────────────┘    one writer at a time
type frames struct {
	in   io.ReadCloser
	read *bufio.Reader
	out  *frameWriter
	rest []byte // of the line being passed on
}

// frameWriter keeps the lines of two writers apart, and learns which revision was agreed on.
type frameWriter struct {
	mu sync.Mutex
	io.WriteCloser
	revision string // empty before the handshake
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revision == "" {
		w.revision = agreedRevision(p)
	}
	if _, err := w.WriteCloser.Write(mended(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// batches reports whether the revision agreed on has them: only what was before 2025-06-18.
func (w *frameWriter) batches() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
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

// newFrames puts frames before a session: it reads from the first result and writes to the second.
func newFrames(in io.ReadCloser, out io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	w := &frameWriter{WriteCloser: out}
	return &frames{in: in, read: bufio.NewReaderSize(in, 64<<10), out: w}, w
}

func (f *frames) Close() error { return f.in.Close() }

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, tooLong, err := f.line()
		switch line = bytes.TrimSpace(line); {
		case tooLong:
			f.refuse(nil, -32600, "the message is longer than 4 MiB")
		case len(line) == 0:
		default:
			id, code, reason := checkFrame(line)
			if code == 0 && line[0] == '[' && !f.out.batches() {
				code, reason = -32600, "this revision of the protocol has no batches: send one message a line"
			}
			if code != 0 {
				f.refuse(id, code, reason)
			} else {
				f.rest = append(line, '\n')
			}
		}
		if err != nil && len(f.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// line reads to the end of a line, of which it keeps no more than a message may have.
func (f *frames) line() (line []byte, tooLong bool, err error) {
	for {
		part, err := f.read.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxFrame; !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// checkFrame reports what is wrong with a line: not JSON (-32700), or JSON but no JSON-RPC 2.0 message
// (-32600). The id is that of the message where it has a usable one. A batch is a message if all in it are, with
// ids of their own.
func checkFrame(line []byte) (id json.RawMessage, code int, reason string) {
	if !json.Valid(line) {
		return nil, -32700, "the line is not one JSON value"
	}
	if line[0] == '[' {
		code, reason = checkBatch(line)
		return nil, code, reason
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return nil, -32600, "the line is no JSON-RPC message"
	}
	if len(m.ID) > 0 {
		switch c := m.ID[0]; {
		case c == '"', c == '-', c >= '0' && c <= '9', c == 'n':
			id = m.ID
		default:
			return nil, -32600, "the id is neither a string nor a number"
		}
	}
	switch {
	case m.Version != "2.0":
		return id, -32600, `jsonrpc is not "2.0"`
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return id, -32600, "the message has neither method nor result nor error"
	}
	return id, 0, ""
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
