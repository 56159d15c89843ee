package contribution

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every name that the rules use is in the tables, and every name in the tables is used.
func TestRulesAndTablesHaveTheSameNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\b(ways|patterns)\(\)\["(\w+)"\]`).FindAllStringSubmatch(string(text), -1) {
			used[m[1]+" "+m[2]] = true
		}
	}
	want := map[string]bool{}
	for name := range tables().Phrases {
		want["ways "+name] = true
	}
	for name := range tables().Patterns {
		want["patterns "+name] = true
	}
	assert.Equal(t, want, used)
}
