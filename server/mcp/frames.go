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

// codeRefused is the code of a call that was not begun, or whose result is unknown.
const codeRefused = -32000

// decodeLine decodes a line of a host, or returns the JSON-RPC error that answers it: for text that is not acceptable
// JSON (-32700), or JSON that is not a JSON-RPC 2.0 message (-32600). The protocol removed batches in 2025.
func decodeLine(line []byte, tooLong bool) (m jsonrpc.Message, refusal []byte) {
	var frame struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if tooLong {
		return nil, frameError(nil, -32600, "the message is longer than 4 MiB")
	}
	if err := codec.Check(line); err != nil {
		return nil, frameError(line, -32700, err.Error())
	}
	if err := codec.UnmarshalForeign(line, &frame); err != nil {
		return nil, frameError(line, -32600, err.Error())
	}
	if frame.ID != nil && !usableID(frame.ID) {
		return nil, frameError(nil, -32600, "the id is neither a string nor an integer of at most 53 bits")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err == nil && frame.Method == "" && frame.Result == nil && frame.Error == nil {
		err = errors.New("it has neither method nor result nor error")
	}
	if err != nil {
		return nil, frameError(line, -32600, "the line is not a JSON-RPC message: "+err.Error())
	}
	return m, nil
}

// cancelledCall returns the id of the call that a notification cancels, or the zero ID if it names none.
func cancelledCall(n *jsonrpc.Request) jsonrpc.ID {
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(n.Params, &p) != nil {
		return jsonrpc.ID{}
	}
	id, _ := jsonrpc.MakeID(p.RequestID) // the zero ID on an error
	return id
}

// messageParams are the parameters of a request that the relay reads; a request may have others.
type messageParams struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
	Meta struct {
		Revision string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

func paramsOf(req *jsonrpc.Request) (p messageParams) {
	_ = json.Unmarshal(req.Params, &p) // the server refuses parameters that cannot be decoded
	return p
}

// records reports whether a call records an episode.
func records(req *jsonrpc.Request) bool {
	return req.Method == "tools/call" && paramsOf(req).Name == toolRecord
}

// usableID reports whether an answer can repeat an id exactly: numbers are 64-bit floats in between.
func usableID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n > -1<<53 && n < 1<<53
}

// frameError returns the error that answers a line. It repeats the id of the line, so that the sender does not wait for
// an answer; the id is null if it is not certain.
func frameError(line []byte, code int, reason string) []byte {
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(line, &m) != nil || !usableID(m.ID) || bytes.Count(line, []byte(`"id"`)) != 1 {
		m.ID = json.RawMessage("null")
	}
	answer, _ := json.Marshal(map[string]any{ // the id is valid JSON
		"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": reason},
	})
	return answer
}
