package gateway

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckDefinitions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		d     Definition
		wrong string
	}{
		{"a program", Definition{ID: "fs", Command: "/bin/fs", Args: []string{"a b", "$(c)"}, Env: map[string]string{"PATH": "/bin"}}, ""},
		{"a URL", Definition{ID: "fs", URL: "https://h.example/mcp", Headers: map[string]string{"Authorization": "x"}}, ""},
		{"a local URL", Definition{ID: "fs", URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"Authorization": "x"}}, ""},
		{"no id", Definition{Command: "/bin/fs"}, "not 1 to 32"},
		{"an id with a colon", Definition{ID: "a:b", Command: "/bin/fs"}, "not 1 to 32"},
		{"the id of our scorers", Definition{ID: "scorer", Command: "/bin/fs"}, "reserved"},
		{"our id", Definition{ID: "WayMark", Command: "/bin/fs"}, "reserved"},
		{"nothing", Definition{ID: "fs"}, "neither"},
		{"both", Definition{ID: "fs", Command: "/bin/fs", URL: "https://h.example"}, "both"},
		{"a relative command", Definition{ID: "fs", Command: "fs"}, "not an absolute path"},
		{"a loader", Definition{ID: "fs", Command: "/bin/fs", Env: map[string]string{"LD_PRELOAD": "x"}}, "LD_PRELOAD"},
		{"another loader", Definition{ID: "fs", Command: "/bin/fs", Env: map[string]string{"node_options": "x"}}, "node_options"},
		{"a loader passed on", Definition{ID: "fs", Command: "/bin/fs", Inherit: []string{"DYLD_INSERT_LIBRARIES"}}, "DYLD_INSERT"},
		{"a variable that is none", Definition{ID: "fs", Command: "/bin/fs", Env: map[string]string{"A=B": "x"}}, "not a name"},
		{"a password in the URL", Definition{ID: "fs", URL: "https://me:secret@h.example"}, "holds a password"},
		{"a password in clear", Definition{ID: "fs", URL: "http://h.example", Headers: map[string]string{"X": "y"}}, "unencrypted"},
		{"another scheme", Definition{ID: "fs", URL: "file:///etc/passwd"}, "not http"},
		{"a line break in a header", Definition{ID: "fs", URL: "https://h.example", Headers: map[string]string{"X": "a\r\nHost: b"}}, "HTTP does not allow"},
		{"a header name that is none", Definition{ID: "fs", URL: "https://h.example", Headers: map[string]string{"X Y": "a"}}, "HTTP does not allow"},
		{"a host header", Definition{ID: "fs", URL: "https://h.example", Headers: map[string]string{"host": "b"}}, "belongs to the connection"},
		{"framing", Definition{ID: "fs", URL: "https://h.example", Headers: map[string]string{"Transfer-encoding": "chunked"}}, "belongs to the connection"},
		{"a length", Definition{ID: "fs", URL: "https://h.example", Headers: map[string]string{"content-length": "0"}}, "belongs to the connection"},
		{"metadata", Definition{ID: "fs", URL: "http://169.254.169.254/mcp"}, "address that is not allowed"},
		{"shared addresses", Definition{ID: "fs", URL: "http://100.100.100.200/mcp"}, "address that is not allowed"},
		{"a translated address", Definition{ID: "fs", URL: "http://[64:ff9b::a9fe:a9fe]/mcp"}, "address that is not allowed"},
		{"a decimal address", Definition{ID: "fs", URL: "http://2852039166/mcp"}, "usual form"},
		{"an octal address", Definition{ID: "fs", URL: "http://0251.0376.0251.0376/mcp"}, "usual form"},
		{"a shared address, allowed", Definition{ID: "fs", URL: "https://100.100.100.200/mcp", Reserved: true}, ""},
		{"a decimal address, allowed", Definition{ID: "fs", URL: "http://2852039166/mcp", Reserved: true}, "usual form"},
		{"a negative timeout", Definition{ID: "fs", URL: "http://localhost/", CallTimeout: -1}, "the timeout -1 is not"},
		{"a zero byte", Definition{ID: "fs", Command: "/bin/fs", Args: []string{"a\x00b"}}, "zero byte"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.d.Check()
			if tt.wrong == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.wrong)
		})
	}
	assert.ErrorContains(t, CheckAll([]Definition{{ID: "github", Command: "/a"}, {ID: "g1thub", Command: "/a"}}), "taken for each other")
	assert.ErrorContains(t, CheckAll([]Definition{{ID: "a", Command: "/a"}, {ID: "a", Command: "/b"}}), "two servers")
	assert.ErrorContains(t, CheckAll([]Definition{{ID: "a", Command: "/a", Env: map[string]string{"K": "v"}}, {ID: "z", Command: "/a", Env: map[string]string{"K": "v"}}}), "are the same")
	assert.NoError(t, CheckAll([]Definition{{ID: "a", Command: "/a", Env: map[string]string{"K": "v"}}, {ID: "z", Command: "/a", Env: map[string]string{"K": "w"}}}))
	assert.ErrorContains(t, CheckAll(make([]Definition, maxServers+1)), "65 servers are more than the 64")
}

func TestDefinitionsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	none, err := ReadDefinitions(dir, "default")
	require.NoError(t, err)
	assert.Empty(t, none.Servers)
	a, b := Definition{ID: "a", Command: "/a", Env: map[string]string{"K": "v"}}, Definition{ID: "b", URL: "https://b.example"}
	require.NoError(t, WriteDefinitions(dir, "default", []Definition{b, a}))
	require.NoError(t, WriteDefinitions(dir, "team", []Definition{b}))
	defs, err := ReadDefinitions(dir, "default")
	require.NoError(t, err)
	assert.Equal(t, []Definition{a, b}, defs.Servers)
	info, err := os.Stat(filepath.Join(dir, DefinitionsFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, WriteDefinitions(dir, "default", nil))
	text, err := os.ReadFile(filepath.Join(dir, DefinitionsFile))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "default")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1)

	for _, broken := range []string{`{`, `{"servers":[]}`, `{"workspaces":{"default":{"servers":[{"id":"a","command":"a"}]}}}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, DefinitionsFile), []byte(broken), 0o600))
		_, err := ReadDefinitions(dir, "default")
		assert.Error(t, err)
		assert.Error(t, WriteDefinitions(dir, "default", nil), "nothing is overwritten that was not understood")
	}
}

// Tool sets are written by hand beside the servers; what the program writes keeps them.
func TestAgentsOfFile(t *testing.T) {
	dir := t.TempDir()
	write := func(agents string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, DefinitionsFile), []byte(`{"workspaces":{"default":{"servers":[],"agents":`+agents+`}}}`), 0o600))
	}
	write(`{"mail":["desk:*","chat:post"]}`)
	for _, defs := range [][]Definition{{definition("good")}, nil} {
		require.NoError(t, WriteDefinitions(dir, "default", defs))
		agents, err := ReadDefinitions(dir, "default")
		require.NoError(t, err)
		assert.Equal(t, map[string][]string{"mail": {"desk:*", "chat:post"}}, agents.Agents)
	}
	other, err := ReadDefinitions(dir, "other")
	require.NoError(t, err)
	assert.Empty(t, other.Agents)
	for _, wrong := range []string{`{"mail":[]}`, `{"":["a:b"]}`, `{"two words":["a:b"]}`, `{"mail":[""]}`, `{"mail":"desk:*"}`} {
		write(wrong)
		_, err := ReadDefinitions(dir, "default")
		assert.Error(t, err, wrong)
	}
}
