package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	if os.Getenv(deskVariable) == "http" {
		httpServer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
		fmt.Println(httpServer.URL)
		select {} // until it is killed
	}
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

func deskPID(t *testing.T, client *mcp.ClientSession) int {
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp"}})
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r.Content)
	pid, err := strconv.Atoi(r.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, err)
	return pid
}

func mcpClient(t testing.TB, transport mcp.Transport) *mcp.ClientSession {
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

// The own address of a server is no upstream server, and nothing is stored for a server that is left out.
func TestGatewayIsNotItsOwn(t *testing.T) {
	t.Parallel()
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	config := filepath.Join(t.TempDir(), "mcp.json")
	for _, address := range []string{s.URLs.MCP, strings.Replace(s.URLs.MCP, "127.0.0.1", "localhost", 1)} {
		require.NoError(t, os.WriteFile(config, []byte(`{"mcpServers":{"x":{"url":"`+address+`"}}}`), 0o600))
		_, errs := says(t, 1, "gateway", "add", config, "--yes", "--data", s.dir)
		assert.Regexp(t, "left out: .*server of this data directory itself", errs)
	}
	assert.NoFileExists(t, filepath.Join(s.dir, gateway.DefinitionsFile))
}

// A host with an agent gets the agent's tools only, through the process that has the directory.
func TestAgentOfHost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	says(t, 0, "gateway", "add", deskConfig(t, map[string]string{}), "--yes", "--data", dir)
	file := filepath.Join(dir, gateway.DefinitionsFile)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = []byte(strings.Replace(string(text), `"servers":`, `"agents": {"mail": ["My-Desk:st*"]}, "servers":`, 1))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	_, errs := says(t, 2, "mcp", "--agent", "male", "--data", dir)
	assert.Contains(t, errs, `no agent "male"`)

	startServer(t, dir, "--connect")
	awaitDesk(t, dir)
	host := func(args ...string) (*mcp.ClientSession, []string) {
		client := mcpClient(t, &mcp.CommandTransport{Command: exec.Command(program, append([]string{"mcp", "--connect", "--data", dir}, args...)...)})
		tools, err := client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		return client, names
	}
	client, names := host("--agent", "mail")
	deskPID(t, client)
	assert.Contains(t, names, "My-Desk__stamp")
	assert.NotContains(t, names, "My-Desk__shred")
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:shred"}})
	require.NoError(t, err)
	require.True(t, r.IsError)
	assert.Contains(t, r.Content[0].(*mcp.TextContent).Text, `My-Desk:shred is not in the tool set of agent "mail"`)
	_, names = host()
	assert.Contains(t, names, "My-Desk__shred", "without an agent")
	says(t, 0, "keys", "create", "--agent", "mail", "--data", dir)
	out, _ := says(t, 0, "keys", "list", "--data", dir)
	assert.Regexp(t, `read, write .* mail`, out)
}
