package history

import (
	"fmt"
	"testing"

	"waymark/episodic"

	"github.com/stretchr/testify/assert"
)

// Models already published do not change while episodes grow.
func TestPublishedEpisodesDoNotGrow(t *testing.T) {
	s := NewState()
	e := episodic.Episode{ID: "e", Steps: []episodic.Step{{ID: "1", Tool: "a"}, {ID: "2", Tool: "b"}}}
	step := func(i int) {
		s.Perform(&episodic.Performed{Episode: "e", Number: i + 1, Step: &e.Steps[i]})
	}
	step(0)
	before := s.Freeze()
	step(1)
	step(1) // told twice
	assert.Equal(t, []int32{0}, before.Past.Episode(0).Nodes)
	assert.Equal(t, []int32{0, 1}, s.Freeze().Past.Episode(0).Nodes)
	assert.Equal(t, 1, s.Freeze().Past.N)
	assert.Equal(t, []int{1, 2}, s.Grown("e").Numbers)
}

// As many episodes may grow as there is room for; the others stay as they are.
func TestEpisodesThatMayGrowAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	s := NewState()
	perform := func(episode, step string) {
		s.Perform(&episodic.Performed{Episode: episode, Step: &episodic.Step{ID: step, Tool: "t"}})
	}
	for i := range maxGrowing + 10 {
		perform(fmt.Sprint(i), "1")
	}
	assert.Equal(t, maxGrowing, s.growing.Len())
	assert.Nil(t, s.Grown("9"))
	assert.NotNil(t, s.Grown("10"))
}
