package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/codec"
)

// MaxFrame is the longest message a host may send over a pipe, in bytes.
const MaxFrame = 4 << 20

// codeRefused is the code of a call that was not begun, or whose end is unknown.
const codeRefused = -32000

// decodeLine decodes a line of a host, or returns the JSON-RPC error that answers it: not acceptable JSON (-32700), or JSON
// but not a JSON-RPC 2.0 message (-32600). There are no batches: they left the protocol in 2025.
func decodeLine(line []byte, tooLong bool) (m jsonrpc.Message, refusal []byte) {
	if tooLong {
		return nil, frameError(nil, -32600, "the message is longer than 4 MiB")
	}
	if err := codec.Check(line); err != nil {
		return nil, frameError(line, -32700, err.Error())
	}
	var frame map[string]json.RawMessage
	err := json.Unmarshal(line, &frame)
	if id, there := frame["id"]; there && !usableID(id) {
		return nil, frameError(nil, -32600, "the id is neither a string nor an integer of at most 53 bits")
	}
	if err == nil {
		m, err = jsonrpc.DecodeMessage(line)
	}
	if err == nil && frame["method"] == nil && frame["result"] == nil && frame["error"] == nil {
		err = errors.New("it has neither method nor result nor error")
	}
	if err != nil {
		return nil, frameError(line, -32600, "the line is no JSON-RPC message: "+err.Error())
	}
	return m, nil
}

// records reports whether a message is a call that records an episode.
func records(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Method != "tools/call" {
		return false
	}
	var p struct{ Name string }
	_ = json.Unmarshal(req.Params, &p) // the server refuses what cannot be read
	return p.Name == toolRecord
}

// usableID reports whether an id is answered as it was sent: numbers are kept as 64-bit floats on the way.
func usableID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n > -1<<53 && n < 1<<53
}

// frameError is the error that answers a line, with its id, so that its sender does not wait for an answer; with null where
// the id is not certain.
func frameError(line []byte, code int, reason string) []byte {
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(line, &m) != nil || !usableID(m.ID) || bytes.Count(line, []byte(`"id"`)) != 1 {
		m.ID = json.RawMessage("null")
	}
	answer, _ := json.Marshal(map[string]any{ // was JSON before
		"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": reason},
	})
	return answer
}
