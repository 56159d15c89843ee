package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// BenchmarkGatewayCall compares calls of one tool of a server, made directly and through the gateway, which records each
// durably. The calls of all paths alternate, so that the load of the machine affects all of them. A conversation has 50
// calls. The metrics are the median of each path in microseconds, and its ratio to the direct call over the same
// transport:
//
//	go test -run '^$' -bench GatewayCall -benchtime 1000x ./cmd/waymark
func BenchmarkGatewayCall(b *testing.B) {
	desk := func(transport string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), deskVariable+"="+transport, "DESK_SAYS="+strings.Repeat("stamped ", 16))
		return cmd
	}
	overHTTP := desk("http")
	address, err := overHTTP.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, overHTTP.Start())
	b.Cleanup(func() { overHTTP.Process.Kill(); overHTTP.Wait() })
	url, err := bufio.NewReader(address).ReadString('\n')
	require.NoError(b, err)
	config := deskConfig(b, map[string]string{"DESK_SAYS": strings.Repeat("stamped ", 16)})
	dirs := [2]string{}
	for i := range dirs {
		dirs[i] = filepath.Join(b.TempDir(), "data")
		says(b, 0, "gateway", "add", config, "--yes", "--data", dirs[i])
	}
	served := startServer(b, dirs[1], "--connect").URLs.MCP
	piped := mcpClient(b, &mcp.CommandTransport{Command: exec.Command(program, "mcp", "--connect", "--data", dirs[0])})
	posted := mcpClient(b, &mcp.StreamableClientTransport{Endpoint: served})
	direct := &mcp.CallToolParams{Name: "stamp", Arguments: map[string]any{"letter": "to the owner", "number": 7}}
	listed := &mcp.CallToolParams{Name: "My-Desk__stamp", Arguments: direct.Arguments}
	found := &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "My-Desk:stamp", "arguments": direct.Arguments}}
	paths := []struct {
		name   string
		client *mcp.ClientSession
		params *mcp.CallToolParams
		took   []time.Duration
	}{
		{"stdio", mcpClient(b, &mcp.CommandTransport{Command: desk("stdio")}), direct, nil},
		{"stdio-call_tool", piped, found, nil},
		{"stdio-listed", piped, listed, nil},
		{"http", mcpClient(b, &mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(url)}), direct, nil},
		{"http-call_tool", posted, found, nil},
		{"http-listed", posted, listed, nil},
	}
	for n := 0; b.Loop(); n++ {
		for i := range paths {
			params := *paths[i].params
			params.Meta = mcp.Meta{"threadId": fmt.Sprintf("%s %d", paths[i].name, n/50)}
			began := time.Now()
			r, err := paths[i].client.CallTool(b.Context(), &params)
			paths[i].took = append(paths[i].took, time.Since(began))
			require.NoError(b, err)
			require.False(b, r.IsError, "%v", r.Content)
			require.NotContains(b, r.Meta, "io.waymark/unrecorded")
		}
	}
	var base float64
	for _, p := range paths {
		slices.Sort(p.took)
		median := float64(p.took[len(p.took)/2].Nanoseconds()) / 1e3
		b.ReportMetric(median, "us-"+p.name)
		if p.params == direct {
			base = median
		} else {
			b.ReportMetric(median/base, "x-"+p.name)
		}
	}
}
