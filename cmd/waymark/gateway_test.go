package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/gateway"
)

// deskVariable makes the test binary another MCP server, which the program under test starts.
const deskVariable = "DESK_TEST_SERVER"

func beDesk() {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk"}, nil)
	add := func(name, description string, harmless bool) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: harmless}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: cmp.Or(os.Getenv("DESK_SAYS"), strconv.Itoa(os.Getpid()))}}}, nil
			})
	}
	add("stamp", "Put a stamp on a letter. "+os.Getenv("DESK_EXTRA"), true)
	add("shred", "Destroy a letter.", false)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// deskConfig is a host's configuration with the desk, and servers that cannot be taken.
func deskConfig(t testing.TB, env map[string]string) string {
	env[deskVariable] = "1"
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"My Desk": map[string]any{"command": os.Args[0], "env": env},
		"lost":    map[string]any{"command": "no-such-program-anywhere"},
		"evil":    map[string]any{"command": os.Args[0], "env": map[string]string{"LD_PRELOAD": "evil.so"}},
		"waymark": map[string]any{"command": program, "args": []string{"mcp"}},
	}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

func says(t testing.TB, code int, args ...string) (out, errs string) {
	cmd := exec.Command(program, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the code says how it ended
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %s%s", args, &stdout, &stderr)
	return stdout.String(), stderr.String()
}

func deskPID(t *testing.T, client *mcp.ClientSession) int {
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp"}})
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r.Content)
	pid, err := strconv.Atoi(r.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, err)
	return pid
}

func mcpClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	client, err := mcp.NewClient(&mcp.Implementation{Name: "host"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func awaitDesk(t *testing.T, dir string) {
	require.Eventually(t, func() bool {
		out, _ := says(t, 0, "gateway", "list", "--data", dir)
		return regexp.MustCompile(`My-Desk +stdio +ready`).MatchString(out)
	}, 2*time.Minute, 50*time.Millisecond)
}

// What cannot be taken of a configuration is left out with the reason, and nothing of it is kept.
func TestGatewayLeavesOut(t *testing.T) {
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "mcp.json")
	for entry, reason := range map[string]string{
		`{"type":"websocket","url":"https://h.example/mcp"}`:                        `unknown type "websocket"`,
		`{"command":"sh","url":"https://h.example/mcp"}`:                            "both a command and a URL",
		`{"url":"http://169.254.169.254/latest"}`:                                   "address that is not allowed",
		`{"url":"http://2852039166/latest"}`:                                        "usual form",
		`{"url":"https://h.example/mcp","headers":{"X":"a\r\nHost: b"}}`:            "HTTP does not allow",
		`{"url":"https://h.example/mcp","headers":{"Host":"b"}}`:                    "belongs to the connection",
		`{"url":"https://h.example/mcp","headers":{"Transfer-Encoding":"chunked"}}`: "belongs to the connection",
		`{"url":"https://h.example/mcp","headers":{"Content-Length":"0"}}`:          "belongs to the connection",
	} {
		require.NoError(t, os.WriteFile(config, []byte(`{"mcpServers":{"x":`+entry+`}}`), 0o600))
		_, errs := says(t, 1, "gateway", "add", config, "--yes", "--data", dir)
		assert.Contains(t, errs, "left out: ", entry)
		assert.Contains(t, errs, reason, entry)
	}
	assert.NoFileExists(t, filepath.Join(dir, gateway.DefinitionsFile))
}

// The address of the server that has the directory is not one to connect to.
func TestGatewayIsNotItsOwn(t *testing.T) {
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	config := filepath.Join(t.TempDir(), "mcp.json")
	for _, address := range []string{s.URLs.MCP, strings.Replace(s.URLs.MCP, "127.0.0.1", "localhost", 1)} {
		require.NoError(t, os.WriteFile(config, []byte(`{"mcpServers":{"x":{"url":"`+address+`"}}}`), 0o600))
		_, errs := says(t, 1, "gateway", "add", config, "--yes", "--data", s.dir)
		assert.Contains(t, errs, "server of this data directory itself", address)
	}
}

// A host with an agent gets the agent's tools only, from the process that has the directory and from one that passes on.
func TestAgentOfHost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	says(t, 0, "gateway", "add", deskConfig(t, map[string]string{}), "--yes", "--data", dir)
	file := filepath.Join(dir, gateway.DefinitionsFile)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = []byte(strings.Replace(string(text), `"servers":`, `"agents": {"mail": ["My-Desk:st*"]}, "servers":`, 1))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	_, errs := says(t, 2, "mcp", "--agent", "male", "--data", dir)
	assert.Contains(t, errs, `no agent "male"`)

	host := func(args ...string) *mcp.ClientSession {
		return mcpClient(t, &mcp.CommandTransport{Command: exec.Command(program, append([]string{"mcp", "--connect", "--data", dir}, args...)...)})
	}
	for _, client := range []*mcp.ClientSession{host("--agent", "mail"), host("--agent", "mail")} {
		awaitDesk(t, dir)
		deskPID(t, client)
		tools, err := client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		assert.Contains(t, names, "My-Desk__stamp")
		assert.NotContains(t, names, "My-Desk__shred")
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:shred"}})
		require.NoError(t, err)
		require.True(t, r.IsError)
		assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, `My-Desk:shred is not in the tool set of agent "mail"`)
	}
	tools, err := host().ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, "My-Desk__shred", tools.Tools[0].Name, "without an agent")
	_, errs = says(t, 0, "keys", "create", "--agent", "mail", "--data", dir)
	assert.Contains(t, errs, "key ")
	out, _ := says(t, 0, "keys", "list", "--data", dir)
	assert.Regexp(t, `read, write .* mail`, out)
}
