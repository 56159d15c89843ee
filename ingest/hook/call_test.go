package hook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/episodic"
)

func TestUnwrapCall(t *testing.T) {
	for _, tt := range []struct{ name, arguments, tool, shape string }{
		{"Bash", `{"command":"ls"}`, "Bash", "{command:string}"},
		{"mcp__fs__read", `{}`, "fs:read", "{}"},
		{"call_tool", `{"tool":"fs.read","arguments":{"path":"x"}}`, "fs.read", "{path:string}"},
		{"mcp__waymark__call_tool", `{"name":"fs:read","args":{"path":"x"}}`, "fs:read", "{path:string}"},
		{"hub.run_tool", `{"tool_name":"mcp__new__tool","input":"{\"a\":null}"}`, "new:tool", "{a:null}"},
		{"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":{}}`, "s:t", "{}"},
		{"execute_tool", `{"tool":"mcp__hub__call_tool","arguments":{"tool":"fs__read","arguments":{"path":1.5}}}`, "fs__read", "{path:number}"},
		{"call_tool", `{"tool":"fs:read"}`, "fs:read", ""},
		{"call_tool", `{"tool":5}`, "call_tool", "{tool:integer}"},
		{"call_tool", `[1]`, "call_tool", "[integer]"},
		{"mcp__waymark__call_tool", `{"tool":"mcp__x__y","arguments":{"a":1}}`, "x:y", "{a:integer}"},
		{"mcp__waymark__x__y", `{}`, "x:y", "{}"},
		{"mcp__waymark__fs__read", `{}`, "fs:read", "{}"},
		{"mcp__waymark__x__y-0123456789ab", `{}`, "x__y-0123456789ab", "{}"},
		{"mcp__waymark__find_tool", `{}`, "waymark:find_tool", "{}"},
		{"recall_tool", `{"tool":"fs:read"}`, "recall_tool", "{tool:string}"},
	} {
		tool, arguments := Unwrap(tt.name, json.RawMessage(tt.arguments))
		assert.Equal(t, []string{tt.tool, tt.shape}, []string{tool, episodic.Shape(arguments)}, "%s %s", tt.name, tt.arguments)
	}
}

// The texts are those of hosts and servers: Claude Code, HTTP, JSON-RPC.
func TestErrorKind(t *testing.T) {
	for text, want := range map[string]string{
		"The user doesn't want to proceed with this tool use. The tool use was rejected": "policy",
		"Claude requested permissions to use Bash, but you haven't granted it yet.":      "policy",
		"Command timed out after 2m 0.0s":                                                "timeout",
		"context deadline exceeded":                                                      "timeout",
		"HTTP 401 Unauthorized":                                                          "auth",
		"Bad credentials":                                                                "auth",
		"MCP error -32602: Invalid arguments for tool read":                              "argument",
		"InputValidationError: Read failed":                                              "argument",
		"[Request interrupted by user for tool use]":                                     "canceled",
		"aborted by user after 2.1s":                                                     "canceled",
		"exec command rejected by user":                                                  "policy",
		"429 Too Many Requests":                                                          "unavailable",
		"502 Bad Gateway":                                                                "unavailable",
		"504 Gateway Timeout":                                                            "timeout",
		"getaddrinfo ENOTFOUND api.example.org":                                          "unavailable",
		"Error: No such tool available: mcp__fs__delete":                                 "unknown_tool",
		"MCP error -32602: Unknown tool: delete":                                         "unknown_tool",
		`server fs has no tool "delete"`:                                                 "unknown_tool",
		"no connected server offers wm:search":                                           "unknown_tool",
		"ENOENT: no such file or directory":                                              "tool",
		"":                                                                               "tool",
	} {
		assert.Equal(t, want, ErrorKind(text), text)
	}
}
