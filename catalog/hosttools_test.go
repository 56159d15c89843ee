package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHostTools(t *testing.T) {
	seen, texts := map[string]bool{}, map[string]bool{}
	for _, tool := range HostTools() {
		assert.False(t, seen[tool.ID], "%s stands twice", tool.ID)
		assert.False(t, texts[tool.Description], "%s has the text of another tool", tool.ID)
		seen[tool.ID], texts[tool.Description] = true, true
		words := len(strings.Fields(tool.Description))
		assert.True(t, words >= 5 && words <= 30, "%s: %d words", tool.ID, words)
		_, _, server := Split(tool.ID)
		assert.False(t, server, "%s looks like the tool of a server", tool.ID)
		a := tool.Annotations
		if assert.True(t, a != nil && a.ReadOnly != nil && a.Destructive != nil && a.OpenWorld != nil, tool.ID) {
			assert.False(t, *a.ReadOnly && *a.Destructive, "%s only reads and destroys", tool.ID)
		}
	}
	for _, id := range []string{"Bash", "shell", "codebase_search", "view", "read_file"} { // one of each host
		assert.True(t, seen[id], id)
	}
	for line := range strings.Lines(hostTools) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		assert.Len(t, f, 4, line)
		for host := range strings.SplitSeq(f[1], ",") {
			assert.Contains(t, []string{"claude-code", "codex", "cursor", "copilot", "gemini-cli"}, host, line)
		}
		assert.Empty(t, strings.Trim(f[2], "rdo"), line)
	}
}
