package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"waymark/catalog"
	"waymark/episodic"
)

// A task that is a graph keeps it, and a chain takes no room for it.
func TestPastKeepsLinks(t *testing.T) {
	s := NewState()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	s.Record(&episodic.Episode{ID: "1", Time: at, Steps: []episodic.Step{{ID: "1", Tool: "a"}, {ID: "2", Tool: "b"}}})
	s.Record(&episodic.Episode{ID: "2", Outcome: episodic.Failure, Steps: []episodic.Step{
		{ID: "1", Tool: "a", DependsOn: []string{}}, {ID: "2", Tool: "b", DependsOn: []string{}}, {ID: "3", Tool: "c", DependsOn: []string{"2", "1"}}}})
	assert.Nil(t, s.Freeze().Past.Episode(0).Before)
	assert.Equal(t, [][]int32{nil, {0}}, s.Freeze().Past.Episode(0).Parents())
	assert.Equal(t, at.UnixMilli(), s.Freeze().Past.Episode(0).Time)
	assert.Equal(t, [][]int32{nil, nil, {0, 1}}, s.Freeze().Past.Episode(1).Parents())
	assert.True(t, s.Freeze().Past.Episode(1).Failed())
	damaged := *s.Freeze().Past.Episode(1)
	assert.True(t, damaged.possible(3, 1))
	for _, before := range [][][]int32{{nil, nil}, {nil, nil, {0, 2}}, {nil, {9}, nil}, {nil, nil, {-1}}} {
		damaged.Before = before
		assert.False(t, damaged.possible(3, 1), "%v", before)
	}
}

// A tool of a host has a text from when it is met, unless the catalog has one of its own or removed it.
func TestToolsOfHosts(t *testing.T) {
	s := NewState()
	s.PutTool(catalog.Tool{ID: "fs:read"})
	assert.Equal(t, "Bash", s.Freeze().Document("Bash").Name)
	assert.Empty(t, s.Freeze().Document("Bash").Text)
	s.Record(&episodic.Episode{ID: "1", Steps: []episodic.Step{{Tool: "Bash"}, {Tool: "bash_own"}}})
	v := s.Freeze().Catalog
	assert.Contains(t, v.Document("Bash").Text, "shell")
	assert.True(t, v.Host("Bash"))
	assert.False(t, v.Host("bash_own") || v.Host("fs:read"))
	assert.Equal(t, []string{"Bash", "fs:read"}, []string{v.Tools[0].ID, v.Tools[1].ID})
	assert.Len(t, v.Own, 1)
	assert.Equal(t, 1, s.Freeze().Roles.Known)

	s.PutTool(catalog.Tool{ID: "Bash", Description: "Plays drums."})
	v = s.Freeze().Catalog
	assert.Equal(t, "Plays drums.", v.Document("Bash").Text)
	assert.False(t, v.Host("Bash"))
	assert.Len(t, v.Own, 2)
	s.Remove("Bash")
	v = s.Freeze().Catalog
	assert.Len(t, v.Tools, 1)
	assert.Empty(t, v.Document("Bash").Text)
}
