package history

import (
	"testing"
	"time"
	"waymark/episodic"

	"github.com/stretchr/testify/assert"
)

// A task that is a graph keeps it, and a chain takes no room for it.
func TestPastKeepsLinks(t *testing.T) {
	s := NewState()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	s.Record(&episodic.Episode{ID: "1", Time: at, Steps: []episodic.Step{{ID: "1", Tool: "a"}, {ID: "2", Tool: "b"}}})
	s.Record(&episodic.Episode{ID: "2", Outcome: episodic.Failure, Steps: []episodic.Step{
		{ID: "1", Tool: "a", DependsOn: []string{}}, {ID: "2", Tool: "b", DependsOn: []string{}}, {ID: "3", Tool: "c", DependsOn: []string{"2", "1"}}}})
	assert.Nil(t, s.Freeze().Past.Episode(0).After)
	assert.Equal(t, [][]int32{nil, {0}}, s.Freeze().Past.Episode(0).Parents())
	assert.Equal(t, at.UnixMilli(), s.Freeze().Past.Episode(0).Time)
	assert.Equal(t, [][]int32{{}, {}, {0, 1}}, s.Freeze().Past.Episode(1).Parents())
	assert.True(t, s.Freeze().Past.Episode(1).Failed())
	for _, damaged := range [][]int32{{0, 0, 2, 0, 2}, {0, 0, 2, 1, 0}, {0, 0, 9, 0, 1}, {0, 0}, {0, 0, 1, 0, 5}} {
		assert.False(t, linked(damaged, 3), "%v", damaged)
	}
	assert.True(t, linked(s.Freeze().Past.Episode(1).After, 3))
}
