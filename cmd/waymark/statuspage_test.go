package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The snippet of the status page, copied into a host, opens the store of the server, in the workspace of whoever
// asked, also from a directory with a name that JSON and HTML write otherwise.
func TestStatusPageSnippetOpensTheSameStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a "store" & <more>`)
	for _, workspace := range []string{"default", "other"} {
		_, errs, code := waymark(t, `{"id":"`+workspace+`","steps":[{"tool":"fs:read"},{"tool":"only:`+workspace+`"}]}`, "record", "-", "--data", dir, "--workspace", workspace)
		require.Zero(t, code, errs)
	}
	for _, tt := range []struct {
		workspace string
		keyed     bool
	}{{"default", false}, {"other", true}} {
		var made struct{ Key string }
		if tt.keyed {
			out, errs, code := waymark(t, "", "keys", "create", "--name", "k", "--json", "--data", dir, "--workspace", "other")
			require.Zero(t, code, errs)
			require.NoError(t, json.Unmarshal([]byte(out), &made))
			require.NotEmpty(t, made.Key)
		}
		s := startServer(t, dir)
		req, err := http.NewRequest(http.MethodGet, s.URLs.Page+"status", nil)
		require.NoError(t, err)
		if tt.keyed {
			req.Header.Set("Authorization", "Bearer "+made.Key)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		require.Zero(t, s.stop(t)) // the host opens the directory itself
		snippet := regexp.MustCompile(`(?s)Over stdio.*?<pre>(.*?)</pre>`).FindSubmatch(page)
		require.NotNil(t, snippet, "%s", page)
		var config struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(string(snippet[1]))), &config))
		entry := config.Servers["waymark"]
		client := mcpClient(t, &mcp.CommandTransport{Command: exec.Command(entry.Command, entry.Args...)})
		answer, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "suggest_next", Arguments: map[string]any{"context": []string{"fs:read"}}})
		require.NoError(t, err)
		text, err := json.Marshal(answer)
		require.NoError(t, err)
		require.Contains(t, string(text), "only:"+tt.workspace)
		require.NoError(t, client.Close())
	}
}
