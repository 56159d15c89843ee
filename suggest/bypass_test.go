package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
)

// A task that does by hand what a capability does is counted, wherever its steps come from.
func TestBypassesAreCounted(t *testing.T) {
	fork := catalog.Capability{ID: "cap:fork", Tools: []string{"a", "b", "c"}, Tasks: []catalog.Task{
		{ID: "1", Tool: "a"}, {ID: "2", Tool: "b", DependsOn: []string{"1"}}, {ID: "3", Tool: "c", DependsOn: []string{"1"}}}}
	step := func(tools ...string) (e episodic.Episode) {
		for _, tool := range tools {
			s := episodic.Step{Tool: tool}
			if tool[0] == '!' {
				s.Tool, s.Outcome = tool[1:], episodic.Failure
			}
			e.Steps = append(e.Steps, s)
		}
		return e
	}
	for _, row := range []struct {
		name  string
		tools []string
		want  uint64
	}{
		{"by hand", []string{"a", "b", "c"}, 1},
		{"in another order that its tasks allow", []string{"x", "a", "c", "y", "b"}, 1},
		{"several times is one task", []string{"a", "b", "c", "a", "b", "c"}, 1},
		{"against the order of its tasks", []string{"b", "a", "c"}, 0},
		{"not all of it", []string{"a", "b"}, 0},
		{"a part failed", []string{"a", "!b", "c"}, 0},
		{"a part failed first", []string{"a", "!b", "b", "c"}, 1},
		{"it was called", []string{"a", "b", "c", "cap:fork"}, 0},
		{"it was called first, and failed", []string{"!cap:fork", "a", "b", "c"}, 0},
	} {
		w := newWorld(t)
		w.PutCapability(fork)
		w.PutCapability(catalog.Capability{ID: "cap:one", Tools: []string{"a"}})
		e := step(row.tools...)
		e.ID = "e"
		require.NoError(t, e.Normalise())
		w.record(e)
		assert.Equal(t, row.want, w.Freeze().Bypasses["cap:fork"], row.name)
		assert.Zero(t, w.Freeze().Bypasses["cap:one"], "one tool is no detour")

		grown := history.NewState() // step by step it is the same
		grown.PutCapability(fork)
		for i := range e.Steps {
			grown.Perform(&episodic.Performed{Episode: "e", Number: i + 1, Step: &e.Steps[i]})
			image := &codec.Writer{}
			require.NoError(t, grown.Image().Write(image))
			grown = history.ReadState(codec.NewReader(image.Bytes))
		}
		assert.Equal(t, w.Freeze().Bypasses, grown.Freeze().Bypasses, row.name)
	}

	w := newWorld(t)
	w.episode("", "a", "b", "c")
	w.PutCapability(fork)
	assert.Empty(t, w.Freeze().Bypasses, "it was not there yet")
	w.episode("", "a", "b", "c")
	w.episode("", "cap:fork")
	m := w.model()
	assert.Equal(t, map[string]int{"cap:fork": 1}, m.Stats().Bypassed)
	x, err := m.Explain(ExplainRequest{ID: "cap:fork", Context: []string{"z"}})
	require.NoError(t, err)
	assert.Equal(t, 1, x.Evidence.Bypassed)
	assert.Equal(t, 1, x.Evidence.Uses)
	w.Remove("cap:fork")
	w.episode("", "a", "b", "c")
	assert.Empty(t, w.model().Stats().Bypassed, "what is not there cannot be bypassed")
}
