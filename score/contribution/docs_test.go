package contribution

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables of docs/scorers.md say what the program does.
func TestTheDocumentation(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "scorers.md"))
	require.NoError(t, err)
	_, doc, ok := strings.Cut(string(data), "\n## Contribution\n")
	require.True(t, ok)
	doc, _, _ = strings.Cut(doc, "\n## ")
	for _, role := range Roles {
		for _, c := range criteriaOf(role) {
			who := string(role)
			if slices.Contains(universal, c.Name) {
				who = "all"
			}
			assert.Contains(t, doc, fmt.Sprintf("| `%s` | %s | %v | %d |", c.Name, who, c.Weight, len(c.Anchors)-1))
		}
	}
	for g, consequence := range gates {
		row := regexp.MustCompile("(?m)^\\| `" + string(g) + "` \\|.*\\| `" + consequence + "` \\|$")
		assert.Regexp(t, row, doc)
	}
	for _, w := range []string{base.Warnings[0].Name, warnSprawl, warnUnverified, warnWeakAssay, warnNotOfRole, warnContext, warnNoDelta, warnNotConverged, warnCoverage, warnDeclining} {
		assert.Contains(t, doc, "`"+w+"`")
	}
	for s, l := range layouts() {
		assert.Regexp(t, regexp.MustCompile("(?m)^\\| `"+string(s)+"` \\| "+l.Prefix), doc)
	}
}
