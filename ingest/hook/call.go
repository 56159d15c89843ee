package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// wrappers are tools that call another tool, keyed by the last part of their names.
var wrappers = map[string]bool{
	"call_tool": true, "call_changing_tool": true, "run_tool": true, "execute_tool": true, "invoke_tool": true, "use_tool": true,
	"call_mcp_tool": true, "use_mcp_tool": true, "mcp_call_tool": true, "mcp_call": true,
	"execute_mcp_tool": true, "run_mcp_tool": true, "calltool": true,
}

// IsWrapper reports whether a tool is a wrapper, that is, calls another tool.
func IsWrapper(tool string) bool { return wrappers[strings.ToLower(lastPart(tool))] }

// Unwrap returns the canonical id of the tool that is really called, and its arguments. It unwraps a wrapper,
// at most four times, while the arguments name a tool:
//
//	mcp__hub__call_tool {"tool":"mcp__fs__read","arguments":{"path":"a.go"}}  →  fs:read {"path":"a.go"}
func Unwrap(name string, arguments json.RawMessage) (id string, args json.RawMessage) {
	arguments = Unquoted(arguments)
	for range 4 {
		if !IsWrapper(name) {
			break
		}
		inner := Members(arguments)
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
				arguments = Unquoted(v)
				break
			}
		}
	}
	if shown, ok := strings.CutPrefix(catalog.FromHost(name), self+":"); ok && !own[shown] && strings.Contains(shown, "__") {
		name = shown                                                    // a tool of another server, called through Waymark
		if !catalog.Hashed(shown) && catalog.FromHost(shown) == shown { // only a resolver with the catalog can decode a hash
			name = hostPrefix + shown
		}
	}
	return catalog.FromHost(name), arguments
}

const hostPrefix = "mcp__"

// self is the server name of Waymark in hosts, and own are its tools that inquire about other tools or run
// them. A call of one of them is not a step; the calls that it runs are.
const self = "waymark"

var own = map[string]bool{
	"find_tool": true, "describe_tool": true, "suggest_next": true, "suggest_dag": true, "run_dag": true, "record_episode": true, "rebuild": true,
	"read_result": true,
}

// IsOwn reports whether a tool is one of Waymark's own tools whose calls are not steps.
func IsOwn(id string) bool {
	tool, ok := strings.CutPrefix(id, self+":")
	return ok && own[tool]
}

// IsThrough reports whether a call, by the tool name that the host recorded, is one that Waymark makes for the
// host.
func IsThrough(name string) bool {
	tool, ok := strings.CutPrefix(name, hostPrefix+self+"__")
	return ok && !own[tool] && (IsWrapper(tool) || strings.Contains(tool, "__"))
}

// Unquoted returns the object or list that a JSON string contains; any other value unchanged.
func Unquoted(v json.RawMessage) json.RawMessage {
	var text string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &text) != nil {
		return v
	}
	if inner := bytes.TrimSpace([]byte(text)); len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && json.Valid(inner) {
		return inner
	}
	return v
}

// lastPart returns the part of a name after the last separator between server and tool.
func lastPart(name string) string {
	for _, sep := range []string{"__", ":", "/", "."} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	return name
}

// Members returns the members of a JSON object, nil for any other value.
func Members(v json.RawMessage) (m map[string]json.RawMessage) {
	if json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

// firstText returns the first non-empty string among the given members.
func firstText(m map[string]json.RawMessage, keys ...string) string {
	for _, key := range keys {
		var s string
		if json.Unmarshal(m[key], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// errorKinds lists the phrases that identify the kind of a failure in its text; the first match is used. They
// are heuristics, taken from the messages of hosts, of HTTP and of JSON-RPC (-32602).
var errorKinds = []struct {
	kind  string
	words []string
}{
	{"unknown_tool", []string{"no such tool available", "unknown tool", "has no tool \"", "no connected server offers"}},
	{"policy", []string{"doesn't want to proceed", "requested permissions", "permission to use", "requires approval", "was rejected", "rejected by user", "blocked by", "denied by", "has been denied", "not allowed by", "hook error"}},
	{"canceled", []string{"interrupted by user", "interrupted by the user", "request interrupted", "aborted by user", "aborted by the user", "canceled by user", "cancelled by user", "canceled by the user",
		"cancelled by the user", "context canceled", "operation was aborted", "request was aborted", "cancellederror", "cancelederror"}},
	{"unavailable", []string{"econnrefused", "connection refused", "econnreset", "connection reset", "connection closed", "not connected", "service unavailable", "status 503", "bad gateway", "status 502",
		"broken pipe", "socket hang up", "enotfound", "getaddrinfo", "no such host", "no route to host", "network is unreachable", "too many requests", "status 429", "rate limit exceeded", "ratelimiterror"}},
	{"timeout", []string{"timed out", "timeout", "deadline exceeded", "took too long"}},
	{"auth", []string{"unauthorized", "unauthorised", "unauthenticated", "authentication", "forbidden", "status 401", "status 403", "401 ", "403 ", "api key", "invalid token", "expired token", "token expired", "credentials"}},
	{"argument", []string{"inputvalidationerror", "-32602", "invalid argument", "invalid param", "invalid input", "validation error", "missing required", "required parameter", "is required", "unknown parameter", "schema"}},
}

// Made reports whether a failure of this kind is that of a call that was made. A call that was not permitted,
// or whose tool does not exist, was not made.
func Made(kind string) bool { return kind != "policy" && kind != "unknown_tool" }

// CountsAgainstTool reports whether a failure of this kind counts against the tool. An unknown tool, missing permission, a
// cancellation, an unavailable server and failed authentication give no evidence about the tool itself.
func CountsAgainstTool(kind string) bool {
	return !slices.Contains([]string{"unknown_tool", "policy", "canceled", "unavailable", "auth"}, kind)
}

// ErrorKind guesses the reason of a failure from its text: unknown_tool, policy, canceled, unavailable,
// timeout, auth, argument, else tool.
func ErrorKind(text string) string {
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

// Text returns the text of a result as hosts write it: its non-empty texts, joined by newlines.
func Text(content json.RawMessage) string {
	texts := slices.DeleteFunc(episodic.Texts(content), func(t string) bool { return t == "" })
	return strings.Join(texts, "\n")
}

// Said returns the outcome that a result states itself: by isError, by success, by an exit code in JSON or in
// words, or by consisting of an error only. The outcome is empty if the result states none; text is set for a
// failure only.
func Said(result json.RawMessage) (o episodic.Outcome, text string) {
	text = cmp.Or(Text(result), string(result))
	said := Members(json.RawMessage(text))
	code := cmp.Or(string(Members(said["metadata"])["exit_code"]), string(said["exit_code"]))
	for l := range strings.Lines(text[:min(len(text), 512)]) {
		for _, words := range []string{"Exit code", "Process exited with code"} {
			if after, ok := strings.CutPrefix(strings.TrimSpace(l), words); ok && code == "" {
				code = strings.Trim(after, ": ")
			}
		}
	}
	exit, err := strconv.Atoi(code)
	is := func(value string, marks ...string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool { return string(said[mark]) == value })
	}
	switch {
	case is("true", "isError", "is_error"), is("false", "success"), err == nil && exit != 0,
		len(said) == 1 && !is("", "error") && !is("null", "error"):
		for _, inner := range []string{"content", "output", "error", "message", "stderr"} {
			if inner := Text(said[inner]); inner != "" {
				return episodic.Failure, inner
			}
		}
		return episodic.Failure, text
	case is("false", "isError", "is_error"), is("true", "success"), err == nil:
		return episodic.Success, ""
	}
	return "", ""
}

// Digests returns the digests of a result: of its structured content, of its texts, or of the JSON document
// that it is.
func Digests(result json.RawMessage, key *episodic.DigestKey) episodic.Digests {
	v := Unquoted(result)
	m := Members(v)
	if m == nil {
		var blocks []struct{ Type string }
		if json.Unmarshal(v, &blocks) == nil && (len(blocks) == 0 || blocks[0].Type == "") {
			return key.Digests(v)
		}
		return key.Content(v)
	}
	if s := m["structuredContent"]; len(s) > 0 && string(s) != "null" {
		return key.Digests(s)
	}
	if output := m["output"]; output != nil && Members(m["metadata"])["exit_code"] != nil { // Codex
		return Digests(output, key)
	}
	if c := m["content"]; len(c) > 0 && c[0] == '[' {
		return key.Content(c)
	}
	return key.Digests(v)
}
