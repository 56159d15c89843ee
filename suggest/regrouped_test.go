package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

// Groups are compared by their members, whatever their labels; tools that are new or gone change no group.
func TestDiffOfGroups(t *testing.T) {
	export := func(groups map[string]int32) (e Export) {
		for id, group := range groups {
			e.Nodes = append(e.Nodes, ExportNode{ID: id, Community: group, Cluster: -1})
		}
		return e
	}
	for name, tt := range map[string]struct {
		old, now map[string]int32
		changed  []string
	}{
		"pairs swapped":    {map[string]int32{"a": 0, "b": 0, "c": 2, "d": 2}, map[string]int32{"a": 0, "b": 1, "c": 0, "d": 1}, []string{"a", "b", "c", "d"}},
		"labels swapped":   {map[string]int32{"a": 0, "b": 0, "c": 2}, map[string]int32{"a": 2, "b": 2, "c": 0}, []string{}},
		"left its group":   {map[string]int32{"a": 0, "b": 0, "c": -1}, map[string]int32{"a": 0, "b": -1, "c": 0}, []string{"a", "b", "c"}},
		"a new tool joins": {map[string]int32{"a": 0, "b": 0}, map[string]int32{"a": 0, "b": 0, "c": 0}, []string{}},
	} {
		assert.Equal(t, tt.changed, DiffExports(export(tt.old), export(tt.now)).Communities, name)
	}
}

// Two spellings of one tool in a capability are one tool, as often as its tasks use it.
func TestWeightsOfAToolInTwoSpellings(t *testing.T) {
	w := newWorld(t)
	w.tool("fs:read", "reads", "", "")
	w.tool("fs:write", "writes", "", "")
	w.episode("x", "fs.read", "fs:write")
	w.PutCapability(catalog.Capability{ID: "cap:x", Name: "x", Tools: []string{"fs.read", "fs:read", "fs:write"},
		Tasks: []catalog.Task{{ID: "a", Tool: "fs.read"}, {ID: "b", Tool: "fs.read"}, {ID: "c", Tool: "fs:write"}}})
	m := w.model()
	e, err := m.Export("", 0)
	require.NoError(t, err)
	assert.Equal(t, []ExportUse{{"fs:read", "cap:x", 2}, {"fs:write", "cap:x", 1}}, e.Uses)
	inc, err := m.Incidence()
	require.NoError(t, err)
	total := 0.0
	for row := range int32(len(m.IDs)) {
		_, weights := inc.Row(row)
		for _, x := range weights {
			total += x
		}
	}
	assert.Equal(t, 3.0, total)
}
