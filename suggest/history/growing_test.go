package history

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"waymark/episodic"
	"waymark/internal/codec"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	assert.Len(t, s.growing.byID, maxGrowing)
	assert.Nil(t, s.Grown("9"))
	assert.NotNil(t, s.Grown("10"))
	for i := range maxGrowingSteps {
		perform(fmt.Sprint("many", i%500), fmt.Sprint(i))
	}
	assert.LessOrEqual(t, s.growing.steps, maxGrowingSteps)
	n := 0
	for g := range s.growing.all {
		n += len(g.Steps)
	}
	assert.Equal(t, n, s.growing.steps)
}

// A damaged snapshot of what grows is refused.
func TestDamagedGrowthIsRefused(t *testing.T) {
	s := NewState()
	s.Perform(&episodic.Performed{Episode: "e", Step: &episodic.Step{ID: "1", Tool: "tool-x"}})
	var w codec.Writer
	require.NoError(t, s.Image().Write(&w))
	require.NoError(t, func() error { r := codec.NewReader(w.Bytes); ReadState(r); return r.End() }())
	at := bytes.LastIndex(w.Bytes, []byte("tool-x"))
	w.Bytes = slices.Clone(w.Bytes)
	w.Bytes[at] = 'f'
	r := codec.NewReader(w.Bytes)
	ReadState(r)
	assert.ErrorContains(t, r.End(), "never seen")
}
