package importtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Relative links of the documentation point to files, and every page is reachable from docs/index.md.
func TestDocumentLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	index := filepath.Join(root, "docs", "index.md")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "CHANGELOG.md")}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	links := map[string][]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			target = filepath.Join(filepath.Dir(page), target)
			_, err := os.Stat(target)
			assert.NoError(t, err, "%s links %s", page, m[1])
			links[page] = append(links[page], target)
		}
	}
	reached := map[string]bool{index: true}
	for next := []string{index}; len(next) > 0; next = next[1:] {
		for _, target := range links[next[0]] {
			if !reached[target] {
				reached[target] = true
				next = append(next, target)
			}
		}
	}
	for _, page := range pages {
		assert.True(t, reached[page], "%s is not reachable from docs/index.md", page)
	}
}

// private are words of a dialect that readers outside the project do not know, and phrases that have a standard form.
var private = regexp.MustCompile(`(?i)\b(is none of|in force|as claimed|foresees?|retold|hears|vouch(es)?|there is no such thing|nothing says)\b`)

// Texts that clients and models read are in standard technical English.
func TestPublishedTextsUseNoPrivateWords(t *testing.T) {
	for _, name := range []string{"cmd/waymark/testdata/oracle/surface.golden", "cmd/waymark/testdata/oracle/engine.golden", "cmd/waymark/testdata/oracle/scorers.golden"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			assert.Empty(t, private.FindString(line), "%s:%d: %.160s", name, i+1, line)
		}
	}
}
