package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The sessions of the documentation are run as they stand there, each in an empty store, and must give what they say.
func TestReadmeSession(t *testing.T) {
	for _, page := range []string{"README.md", "docs/tutorial.md"} {
		t.Run(page, func(t *testing.T) { replaySession(t, page) })
	}
}

// varies is what depends on how many builds began: on a busy machine a command ends before the build that the one before
// it started, and the next one starts another. With them goes the hash of a model, which tells whether profile learned
// was fitted, too.
var varies = regexp.MustCompile(`(model +sha256:|suggestion sg_|the log is at |replayed )[0-9a-f]+(?: at [0-9]+)?`)

func replaySession(t *testing.T, page string) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	file := filepath.Join(root, page)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), "```console\n")
	require.True(t, ok, "%s has no session", page)
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
	assert.Equal(t, varies.ReplaceAllString(session, "$1…"), varies.ReplaceAllString(b.String(), "$1…"), "go test ./cmd/waymark -run Readme -update writes it anew")
}
