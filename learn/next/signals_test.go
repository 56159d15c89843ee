package next

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/next.md")

const head = `# Signals of the next tool

The learned profile ranks tools after a context by Σ weight·value of these signals ([formulas.md](formulas.md#learned-profile)); the
terms of an answer carry their names. This table is made from ` + "[`learn/next/signals.go`](../learn/next/signals.go)" + ` by
` + "`go test ./learn/next -run TestFeatures -update`" + `.

In the values c is the discounted count of the tool in a row of followers, e the mass the row leaves to other tools, P₀ the popularity,
P₁ the probability after the last tool, T the number of tools, v votes and κ = 0.1. The last column says what a question reads:
one number of each tool, one row of counts or similarities, a row for each step of the context, or a search of past tasks, vectors or
many features.

`

// document is the table of all signals in Markdown.
func document() string {
	var b strings.Builder
	b.WriteString("| signal | group | meaning | value | reads |\n|---|---|---|---|---|\n")
	for _, f := range Features {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Group, f.Meaning, f.Formula, f.Cost)
	}
	return b.String()
}

func TestFeatures(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Features {
		for _, text := range []string{f.Name, f.Group, string(f.Cost), f.Meaning, f.Formula} {
			require.NotEmpty(t, text, f.Name)
		}
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
	}
	const path = "../../docs/next.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(head+document()), 0o600))
	}
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, head+document(), string(page), "run with -update")
}
