package ingest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLaunches(t *testing.T) {
	one := func(l Launch) Launch { l.Server = Server{Name: l.Name}; return l }
	for _, tt := range []struct {
		name, file, text string
		want             []Launch
		complaints       int
	}{
		{"Claude Desktop", "claude_desktop_config.json",
			`{"mcpServers":{"fs":{"command":"npx","args":["-y","server-filesystem","/tmp"],"env":{"KEY":"${TOKEN}"}}}}`,
			[]Launch{{Server: Server{Name: "fs"}, Program: "npx", Args: []string{"-y", "server-filesystem", "/tmp"}, Env: map[string]string{"KEY": "${TOKEN}"}}}, 0},
		{"Cursor, remote", "mcp.json", `{"mcpServers":{"gh":{"url":"https://h.example/mcp?k=1","headers":{"Authorization":"Bearer ${env:GH}"}}}}`,
			[]Launch{{Server: Server{Name: "gh"}, Address: "https://h.example/mcp?k=1", Headers: map[string]string{"Authorization": "Bearer ${env:GH}"}}}, 0},
		{"VS Code with comments", "mcp.json", "{ // mine\n\"servers\":{\"a\":{\"type\":\"stdio\",\"command\":\"a\",\"args\":[],},}}",
			[]Launch{{Server: Server{Name: "a"}, Program: "a", Args: []string{}}}, 0},
		{"Codex", "config.toml", "[mcp_servers.x]\ncommand = \"x\"\nargs = [\"1\"]\nenv_vars = [\"HOME_URL\"]\ncwd = \"/srv\"\n[mcp_servers.y]\nurl = \"https://y.example/mcp\"\nbearer_token_env_var = \"Y_TOKEN\"\n[mcp_servers.y.env_http_headers]\nX-Team = \"TEAM\"\n",
			[]Launch{{Server: Server{Name: "x"}, Program: "x", Args: []string{"1"}, Inherit: []string{"HOME_URL"}, Dir: "/srv"},
				{Server: Server{Name: "y"}, Address: "https://y.example/mcp", Bearer: "Y_TOKEN", Headers: map[string]string{"X-Team": "${TEAM}"}}}, 0},
		{"Zed", "settings.json", `{"context_servers":{"z":{"source":"custom","command":"/bin/z","args":["-v"],"env":{"A":"b"}}}}`,
			[]Launch{{Server: Server{Name: "z"}, Program: "/bin/z", Args: []string{"-v"}, Env: map[string]string{"A": "b"}}}, 0},
		{"a command line as a list", "c.json", `{"mcp":{"l":{"command":["uvx","tool","--x"]}}}`,
			[]Launch{{Server: Server{Name: "l"}, Program: "uvx", Args: []string{"tool", "--x"}}}, 0},
		{"numbers and booleans as texts", "c.json", `{"mcpServers":{"n":{"command":"n","args":["--port",8080],"env":{"PORT":8080,"DEBUG":true}}}}`,
			[]Launch{{Server: Server{Name: "n"}, Program: "n", Args: []string{"--port", "8080"}, Env: map[string]string{"PORT": "8080", "DEBUG": "true"}}}, 0},
		{"Goose", "config.yaml", "extensions:\n  g:\n    type: stdio\n    cmd: g\n    args: [x]\n    envs: {K: v}\n  own:\n    type: builtin\n",
			[]Launch{{Server: Server{Name: "g"}, Program: "g", Args: []string{"x"}, Env: map[string]string{"K": "v"}}}, 1},
		{"the user's before a project's", "claude.json", `{"mcpServers":{"a":{"command":"mine"}},"projects":{"/p":{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"b"}}}}}`,
			[]Launch{{Server: Server{Name: "a"}, Program: "mine"}, {Server: Server{Name: "b"}, Program: "b"}}, 0},
		{"wrong fields", "c.json", `{"mcpServers":{"a":{"command":"x","args":"-y"},"b":{"command":"x","args":[{}]},"c":{},"d":{"command":"x","env":{"A":[]}},"f":{"command":"x","env":["A=b"]},"e":{"command":"ok"}}}`,
			[]Launch{{Server: Server{Name: "e"}, Program: "ok"}}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, complaints, err := Launches(tt.file, []byte(tt.text))
			require.NoError(t, err)
			assert.Len(t, complaints, tt.complaints, "%q", complaints)
			for i := range all {
				all[i] = one(all[i])
			}
			assert.Equal(t, tt.want, all)
		})
	}
	for name, text := range map[string]string{"c.json": "{", "c.toml": "x = nan"} {
		_, _, err := Launches(name, []byte(text))
		assert.ErrorContains(t, err, name)
	}
}
