package importer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"waymark/catalog"
)

// wrappers are tools that call another tool, by the last part of their name.
var wrappers = map[string]bool{
	"call_tool": true, "run_tool": true, "execute_tool": true, "invoke_tool": true, "use_tool": true,
	"call_mcp_tool": true, "use_mcp_tool": true, "mcp_call_tool": true, "mcp_call": true,
	"execute_mcp_tool": true, "run_mcp_tool": true, "calltool": true,
}

// unwrapCall names the tool that a call really was, by its canonical id, and its arguments. A wrapper
// is opened as long as its arguments name a tool:
//
//	mcp__hub__call_tool {"tool":"mcp__fs__read","arguments":{"path":"a.go"}}  →  fs:read {"path":"a.go"}
func unwrapCall(r *catalog.Resolver, name string, arguments json.RawMessage) (id string, args json.RawMessage, err error) {
	arguments = unquoted(arguments)
	for range 4 {
		if !isWrapper(name) {
			break
		}
		inner := members(arguments)
		tool := firstText(inner, "tool", "tool_name", "toolName", "name")
		if tool == "" {
			break
		}
		if server := firstText(inner, "server", "server_name", "serverName"); server != "" {
			tool = catalog.ID(server, tool)
		}
		name, arguments = tool, nil
		for _, key := range []string{"arguments", "args", "input", "params", "parameters", "tool_input"} {
			if v, ok := inner[key]; ok {
				arguments = unquoted(v)
				break
			}
		}
	}
	id, err = r.Resolve(name)
	return id, arguments, err
}

// unquoted takes an object or a list out of a string.
func unquoted(v json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return v
	}
	if inner := bytes.TrimSpace([]byte(text)); len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && json.Valid(inner) {
		return inner
	}
	return v
}

// lastPart of a name is what follows the last separator between server and tool.
func lastPart(name string) string {
	for _, sep := range []string{"__", ":", "/", "."} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	return name
}

func members(v json.RawMessage) (m map[string]json.RawMessage) {
	if json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

func firstText(m map[string]json.RawMessage, keys ...string) string {
	for _, key := range keys {
		var s string
		if json.Unmarshal(m[key], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// Bounds of a shape: what is beyond is written as ….
const (
	shapeDepth   = 2
	shapeMembers = 32
	shapeName    = 64 // bytes
	shapeBytes   = 512
)

// shape writes the names and types of arguments and none of their values:
//
//	{"path":"a.go","lines":[1,2],"where":{"open":true}}  →  {lines:[integer],path:string,where:{open:boolean}}
//
// A name that does not look like one (it holds a space, an address, a path) may be a value that
// serves as a key, and is written as *.
func shape(v json.RawMessage) string {
	if len(bytes.TrimSpace(v)) == 0 || !json.Valid(v) {
		return ""
	}
	s := shapeOf(v, 0)
	if len(s) > shapeBytes {
		s = s[:shapeBytes] + "…"
	}
	return s
}

func shapeOf(v json.RawMessage, depth int) string {
	switch v = bytes.TrimSpace(v); v[0] {
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '[':
		if depth >= 2*shapeDepth {
			return "[…]"
		}
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil || len(list) == 0 {
			return "[]"
		}
		return "[" + shapeOf(list[0], depth+1) + "]"
	case '{':
		if depth >= shapeDepth {
			return "{…}"
		}
		m := members(v)
		parts := make([]string, 0, len(m))
		for name, value := range m {
			parts = append(parts, shapeWord(name)+":"+shapeOf(value, depth+1))
		}
		slices.Sort(parts)
		parts = slices.Compact(parts)
		if len(parts) > shapeMembers {
			parts = append(parts[:shapeMembers], "…")
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if bytes.ContainsAny(v, ".eE") {
		return "number"
	}
	return "integer"
}

func shapeWord(name string) string {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return "*"
		}
	}
	if name == "" || len(name) > shapeName {
		return "*"
	}
	return name
}

// errorKinds are the words by which the text of a failure tells its kind; the first kind that fits
// is taken. They are a guess, from the messages of hosts, of HTTP and of JSON-RPC (-32602).
var errorKinds = []struct {
	kind  string
	words []string
}{
	{"policy", []string{"doesn't want to proceed", "requested permissions", "permission to use", "requires approval", "was rejected", "blocked by", "denied by", "has been denied", "not allowed by", "hook error"}},
	{"timeout", []string{"timed out", "timeout", "deadline exceeded", "took too long"}},
	{"auth", []string{"unauthorized", "unauthorised", "unauthenticated", "authentication", "forbidden", "status 401", "status 403", "401 ", "403 ", "api key", "invalid token", "expired token", "token expired", "credentials"}},
	{"argument", []string{"inputvalidationerror", "-32602", "invalid argument", "invalid param", "invalid input", "validation error", "missing required", "required parameter", "is required", "unknown parameter", "schema"}},
}

// errorKind guesses why a call failed: policy, timeout, auth, argument, else tool.
func errorKind(text string) string {
	text = strings.ToLower(text[:min(len(text), 4096)])
	for _, k := range errorKinds {
		for _, word := range k.words {
			if strings.Contains(text, word) {
				return k.kind
			}
		}
	}
	return "tool"
}

// isWrapper reports whether a tool calls another one.
func isWrapper(tool string) bool { return wrappers[strings.ToLower(lastPart(tool))] }
