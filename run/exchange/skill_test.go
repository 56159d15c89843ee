package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"waymark/catalog"
)

// Whatever a capability is called and says, its skill has front matter that can be read, within the limits of skills.
func TestSkillFrontMatter(t *testing.T) {
	tasks := []catalog.Task{{ID: "t", Tool: "a:b", Arguments: map[string]json.RawMessage{"x": json.RawMessage(`"tick ` + "`" + `"`)}}}
	for name, want := range map[string]string{
		"Weekly Report": "weekly-report", "ÄÖ": "cap-x", "--- a: {b}\n---": "a-b", strings.Repeat("long ", 40): strings.Trim(strings.Repeat("long-", 40)[:64], "-"),
	} {
		got, text, err := Skill(catalog.Capability{ID: "cap:x", Name: name, Description: "says: \"---\"\n---\n" + strings.Repeat("word ", 400), Tasks: tasks})
		require.NoError(t, err)
		assert.Equal(t, want, got)
		parts := strings.SplitN(string(text), "---\n", 3)
		require.Len(t, parts, 3)
		var front map[string]string
		require.NoError(t, yaml.Unmarshal([]byte(parts[1]), &front), parts[1])
		assert.Equal(t, want, front["name"])
		assert.LessOrEqual(t, len(front["description"]), 1024)
		assert.True(t, strings.HasPrefix(front["description"], `says: "---" --- word`), front["description"])
		assert.NotContains(t, string(text), "tick `")
	}
	for _, c := range []catalog.Capability{{ID: "none", Name: "n", Description: "d"}, {ID: "?", Name: "?", Description: "d", Tasks: tasks}, {ID: "mute", Tasks: tasks}} {
		_, _, err := Skill(c)
		assert.Error(t, err, c.ID)
	}
}
