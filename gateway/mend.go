package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"waymark/catalog"
	"waymark/internal/redact"
)

// The SDK ends a session at the first message that it cannot decode, and real servers send such messages. All that a server
// sends passes here first, over pipes and HTTP, and only what is wrong in it pays:
//
//	a line that is no message                    dropped
//	a batch                                      taken apart
//	"error": "bad" in an answer                  {"code": -32603, "message": "bad"}: the call fails
//	"capabilities": {"tools": []} of a server    {"tools": {}}: PHP writes an empty object so
//
// A message that is right passes byte for byte.

// message is one message of a server.
type message struct {
	raw    []byte
	id     json.RawMessage // nil of a notification
	asked  bool            // a request or notification of the server
	result json.RawMessage // of an answer; nil for an error
}

// mended returns the messages in a text.
func mended(text []byte) (all []message) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(text, &batch) == nil {
			for _, one := range batch {
				if m, ok := mendedOne(one); ok {
					all = append(all, m)
				}
			}
		}
		return all
	}
	if m, ok := mendedOne(text); ok {
		return []message{m}
	}
	return nil
}

func mendedOne(text []byte) (m message, ok bool) {
	var f map[string]json.RawMessage
	if json.Unmarshal(text, &f) != nil || f["jsonrpc"] == nil {
		return m, false
	}
	m.raw, m.id = text, f["id"]
	changed := string(f["jsonrpc"]) != `"2.0"`
	f["jsonrpc"] = json.RawMessage(`"2.0"`)
	if method, there := f["method"]; there {
		if m.asked = true; method[0] != '"' || m.id != nil && !isID(m.id) {
			return m, false
		}
	} else {
		if !isID(m.id) {
			return m, false
		}
		switch {
		case !isNull(f["error"]):
			var e struct {
				Code    *int64  `json:"code"`
				Message *string `json:"message"`
			}
			if json.Unmarshal(f["error"], &e) != nil || e.Code == nil || e.Message == nil {
				f["error"], changed = errorOf(-32603, saidIn(f["error"])), true
			}
		case f["result"] == nil:
			f["error"], changed = errorOf(-32603, "the answer has neither a result nor an error"), true
		default:
			if opened, ok := mendedOpening(f["result"]); ok {
				f["result"], changed = opened, true
			}
			m.result = f["result"]
		}
	}
	if changed {
		m.raw = encoded(f)
	}
	return m, true
}

// isID reports whether a value can be the id of a request.
func isID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

func errorOf(code int, text string) json.RawMessage {
	return encoded(map[string]any{"code": code, "message": catalog.Cut(redact.Text(text), messageBytes)})
}

// failureFor is an answer to a request that says what went wrong.
func failureFor(id json.RawMessage, text string) message {
	return message{id: id, raw: encoded(map[string]any{"jsonrpc": "2.0", "id": id, "error": errorOf(codeNoAnswer, text)})}
}

// codeNoAnswer marks an error of ours; servers use codes from -32768 on.
const codeNoAnswer = -33002

// saidIn is what an error says in words: its message, or the whole of it.
func saidIn(v json.RawMessage) string {
	var text string
	var o struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	switch {
	case json.Unmarshal(v, &text) == nil:
		return text
	case json.Unmarshal(v, &o) == nil && o.Message != "":
		return o.Message
	case len(o.Error) > 0 && o.Error[0] != 'n':
		return saidIn(o.Error)
	}
	return string(v)
}

// mendedOpening mends the result of the request that opens a session. It returns false where there is nothing to mend.
func mendedOpening(result json.RawMessage) (json.RawMessage, bool) {
	var f map[string]json.RawMessage
	if json.Unmarshal(result, &f) != nil || f["capabilities"] == nil || f["protocolVersion"] == nil && f["supportedVersions"] == nil {
		return result, false
	}
	before := encoded(f)
	var can, server map[string]json.RawMessage
	if json.Unmarshal(f["capabilities"], &can) != nil || can == nil {
		can = map[string]json.RawMessage{}
	}
	for name, value := range can {
		var options map[string]json.RawMessage
		switch {
		case isNull(value), string(value) == "false":
			delete(can, name)
			continue
		case json.Unmarshal(value, &options) != nil:
			options = map[string]json.RawMessage{}
		}
		for option, value := range options {
			if option != "listChanged" && option != "subscribe" {
				continue
			}
			switch string(value) {
			case "true", "false":
			case `"true"`, "1":
				options[option] = json.RawMessage("true")
			default:
				delete(options, option)
			}
		}
		can[name] = encoded(options)
	}
	f["capabilities"] = encoded(can)
	if info, there := f["serverInfo"]; there {
		if json.Unmarshal(info, &server) != nil || server == nil {
			server = map[string]json.RawMessage{"name": info}
		}
		for _, name := range []string{"name", "version", "title"} {
			if value, there := server[name]; there && value[0] != '"' {
				server[name] = encoded(string(value))
			}
		}
		f["serverInfo"] = encoded(server)
	}
	if text := f["instructions"]; text != nil && text[0] != '"' {
		delete(f, "instructions")
	}
	if version := f["protocolVersion"]; version != nil && version[0] != '"' {
		f["protocolVersion"] = encoded(lastWithHandshake)
	}
	after := encoded(f)
	return after, !bytes.Equal(before, after)
}

// statusText is what an answer over HTTP that is no message says.
func statusText(status int, body []byte) string {
	said := ""
	for _, m := range mended(body) { // an error of another id, or of none
		if m.result == nil {
			said = saidIn(m.raw)
		}
	}
	switch {
	case said != "":
	case json.Valid(body):
		said = saidIn(body)
	case len(body) > 0 && body[0] != '<':
		said = string(body)
	}
	if status < 300 {
		return fmt.Sprintf("the server answered HTTP %d without a result: %s", status, said)
	}
	return fmt.Sprintf("the server answered HTTP %d: %s", status, said)
}
