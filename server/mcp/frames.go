package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"waymark/internal/strictjson"
)

// MaxFrame is the longest message a host may send over a pipe, in bytes.
const MaxFrame = 4 << 20

// codeRefused is the code of a call that was not begun, or whose end is unknown.
const codeRefused = -32000

// decodeLine decodes a line of a host, or returns the JSON-RPC error that answers it.
func decodeLine(line []byte, tooLong bool) (m jsonrpc.Message, refusal []byte) {
	if tooLong {
		return nil, frameError(nil, -32600, "the message is longer than 4 MiB")
	}
	id, code, reason := checkFrame(line)
	if code != 0 {
		return nil, frameError(id, code, reason)
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, frameError(id, -32600, "the line is no JSON-RPC message: "+err.Error())
	}
	return m, nil
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

// messageParams are the parameters of a request that the relay reads; a request may have others.
type messageParams struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
	Meta struct {
		Revision string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

func paramsOf(req *jsonrpc.Request) (p messageParams) {
	_ = json.Unmarshal(req.Params, &p) // the server refuses what cannot be read
	return p
}

// records reports whether a call records an episode.
func records(req *jsonrpc.Request) bool {
	return req.Method == "tools/call" && paramsOf(req).Name == toolRecord
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
// (-32600). The id is that of the message where it has a usable one. There are no batches: they left the protocol in 2025.
func checkFrame(line []byte) (id json.RawMessage, code int, reason string) {
	if err := strictjson.Check(line); err != nil {
		return frameID(line), -32700, err.Error()
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
