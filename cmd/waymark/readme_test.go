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
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/scorers.md"} {
		t.Run(page, func(t *testing.T) { replaySession(t, page) })
	}
}

// varies is what depends on how many builds began: on a busy machine a command ends before the build that the one before
// it started, and the next one starts another. With them goes the hash of a model, which tells whether profile learned
// was fitted, too.
var varies = regexp.MustCompile(`(model +sha256:|suggestion id: sg_|the log is at |replayed )[0-9a-f]+(?: at [0-9]+)?`)

// block is a fenced block of a page: its language, the name of the file that it is, if any, and its text.
var block = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```\n")

// replaySession runs the commands of a page from top to bottom, beside the files that the page shows.
func replaySession(t *testing.T, page string) {
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	file := filepath.Join(dir, page)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	data := t.TempDir()
	replayed := block.ReplaceAllStringFunc(string(text), func(b string) string {
		part := block.FindStringSubmatch(b)
		switch {
		case part[2] != "":
			dir = data
			require.NoError(t, os.WriteFile(filepath.Join(data, part[2]), []byte(part[3]), 0o600))
		case part[1] == "console":
			return "```console\n" + replay(t, dir, data, part[3]) + "```\n"
		}
		return b
	})
	require.Contains(t, replayed, "```console\n", "%s has no session", page)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(replayed), 0o644))
		return
	}
	assert.Equal(t, varies.ReplaceAllString(string(text), "$1…"), varies.ReplaceAllString(replayed, "$1…"), "go test ./cmd/waymark -run Readme -update writes it anew")
}

// replay runs the commands of a session and returns it with their output.
func replay(t *testing.T, dir, data, session string) string {
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
		store := filepath.Join(data, "store")
		if _, err := os.Stat(store); err != nil && command == "waymark import sample" {
			_, said := importSample()
			require.NoError(t, copySample(store))
			b.WriteString(said)
			continue
		}
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WAYMARK_DATA="+filepath.Join(data, "store"), "XDG_CONFIG_HOME="+data,
			"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		for line := range strings.Lines(string(out)) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	return b.String()
}
