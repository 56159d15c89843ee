package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The session in the README is run as it stands there, in an empty store, and must give what it says.
func TestReadmeSession(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	file := filepath.Join(root, "README.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), "```console\n")
	require.True(t, ok, "the README has no session")
	session, after, ok := strings.Cut(rest, "```\n")
	require.True(t, ok)
	data := t.TempDir()
	var b strings.Builder
	for line := range strings.Lines(session) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if !ok {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("$ " + command + "\n")
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "WAYMARK_DATA="+filepath.Join(data, "store"), "XDG_CONFIG_HOME="+data,
			"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		for line := range strings.Lines(string(out)) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+"```console\n"+b.String()+"```\n"+after), 0o644))
		return
	}
	assert.Equal(t, session, b.String(), "go test ./cmd/waymark -run Readme -update writes it anew")
}
