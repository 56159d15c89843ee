package contribution

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every fact that a rule asks for is one that is found, and every phrase and pattern of the table is used.
func TestRulesAskForKnownFacts(t *testing.T) {
	d := read(map[string]any{"operation": Add, "section": hypothesisSlate})
	d.findFacts(nil)
	known := slices.Concat([]string{"asked", Edit, Kill}, sortedKeys(d.facts))
	known = append(known, tables().Order...)
	for _, row := range tables().Facts {
		known = append(known, row.Fact)
	}
	for _, s := range tables().Sections {
		for _, f := range s.Fields {
			known = append(known, "flag "+f.Name)
		}
	}
	for name, c := range tables().Criteria {
		_, ok := criteria().Dimension(name)
		assert.True(t, ok, name)
		assert.Empty(t, c.Rows[len(c.Rows)-1].If, name)
		asked := append([]string{c.Own, c.Applies}, c.Among...)
		for _, row := range c.Rows {
			asked = append(asked, row.If...)
		}
		for _, fact := range asked {
			if fact = strings.TrimPrefix(fact, "!"); fact != "" {
				assert.Contains(t, known, fact, name)
			}
		}
	}
	assert.Len(t, tables().Criteria, 14)
	for _, row := range tables().Facts {
		for _, fact := range row.If {
			assert.Contains(t, known, strings.TrimPrefix(fact, "!"), row.Fact)
		}
		switch {
		case row.Says != "":
			assert.Contains(t, tables().Phrases, row.Says, row.Fact)
		case row.Matches != "":
			assert.Contains(t, tables().Patterns, row.Matches, row.Fact)
		}
	}
}
