package contribution

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
			assert.Contains(t, doc, fmt.Sprintf("`%s` %v·%d", c.Name, c.Weight, len(c.Anchors)-1))
		}
	}
	for g, consequence := range tables().Gates {
		row := regexp.MustCompile("(?m)^\\| `" + g + "` \\|.*\\| `" + consequence + "` \\|$")
		assert.Regexp(t, row, doc)
	}
	for _, w := range []string{"low_quality_contribution", "hypothesis_sprawl", "unverified_claim", "weak_assay_design", "no_delta", "not_converging", "low_operator_coverage", "declining_quality"} {
		assert.Contains(t, doc, "`"+w+"`")
	}
	for name, s := range tables().Sections {
		assert.Regexp(t, regexp.MustCompile("(?m)^\\| `"+name+"` \\| "+s.Prefix), doc)
	}
}
