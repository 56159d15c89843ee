package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// frameWriter keeps the lines of two writers apart.
type frameWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
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
			if id, code, reason := checkFrame(line); code != 0 {
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
// (-32600). The id is that of the message where it has a usable one. A batch with anything in it is passed on.
func checkFrame(line []byte) (id json.RawMessage, code int, reason string) {
	if !json.Valid(line) {
		return nil, -32700, "the line is not one JSON value"
	}
	if line[0] == '[' {
		if len(bytes.TrimSpace(line[1:len(line)-1])) == 0 {
			return nil, -32600, "the batch is empty"
		}
		return nil, 0, ""
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

func (f *frames) refuse(id json.RawMessage, code int, reason string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": reason},
	})
	if err == nil {
		_, _ = f.out.Write(append(answer, '\n')) // a host that does not read learns nothing
	}
}
