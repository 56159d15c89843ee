package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guardedDesk is a server over HTTP behind a login, with its authorization server.
func guardedDesk(t *testing.T) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk"}, nil)
	s.AddTool(&mcp.Tool{Name: "stamp", Description: "Puts a stamp on a letter.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "stamped"}}}, nil
		})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	give := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if path == "/register" {
				w.WriteHeader(http.StatusCreated)
			}
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	give("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": srv.URL + "/mcp", "authorization_servers": []string{srv.URL}})
	give("/.well-known/oauth-authorization-server", map[string]any{"issuer": srv.URL, "authorization_endpoint": srv.URL + "/authorize", "token_endpoint": srv.URL + "/token",
		"registration_endpoint": srv.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}})
	give("/register", map[string]any{"client_id": "c", "redirect_uris": []string{}, "token_endpoint_auth_method": "none"})
	give("/token", map[string]any{"access_token": "SECRET-access", "refresh_token": "SECRET-refresh", "token_type": "Bearer", "expires_in": 3600})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"1"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer SECRET-access" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	return srv.URL + "/mcp"
}

// A login from the command line, what it is good for, and where its tokens are: in one file, and in no output or backup.
func TestGatewayLogin(t *testing.T) {
	t.Parallel()
	dir, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	config := filepath.Join(folder, "mcp.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"desk": map[string]any{"url": guardedDesk(t)}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, text, 0o600))
	says(t, 0, "gateway", "add", config, "--yes", "--data", dir)
	_, errs := says(t, exitFailed, "gateway", "login", "none", "--data", dir)
	assert.Contains(t, errs, `there is no server "none"`)

	cmd := exec.Command(program, "gateway", "login", "desk", "--data", dir)
	var out strings.Builder
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "http") {
			resp, err := http.Get(lines.Text())
			require.NoError(t, err)
			page, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			assert.Contains(t, string(page), "Logged in")
		}
	}
	require.NoError(t, cmd.Wait(), said)
	assert.Equal(t, "logged in: desk\n", out.String())
	assert.NotContains(t, said, "SECRET")

	host := mcpClient(t, &mcp.CommandTransport{Command: exec.Command(program, "mcp", "--connect", "--data", dir)})
	r, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "desk:stamp"}})
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r.Content)
	assert.Equal(t, "stamped", r.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, host.Close())
	backup := filepath.Join(folder, "backup")
	says(t, 0, "backup", backup, "--data", dir)
	says(t, 0, "gateway", "logout", "desk", "--data", dir)
	for _, path := range []string{backup, filepath.Join(dir, "logins.json")} { // no longer
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "SECRET")
	}
}
