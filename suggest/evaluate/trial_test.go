package evaluate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// twoWays are tasks in which what follows b depends on what came before it.
func twoWays(tasks int) (all []episodic.Episode) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range tasks {
		steps := []string{"a", "b", "c"}
		if r.IntN(2) == 0 {
			steps = []string{"d", "b", "e"}
		}
		e := episodic.Episode{ID: fmt.Sprint(i)}
		for _, s := range steps {
			e.Steps = append(e.Steps, episodic.Step{Tool: s})
		}
		all = append(all, e)
	}
	return all
}

// dated gives episodes a time, the same one: their order counts, their age does not.
func dated(episodes []episodic.Episode) []episodic.Episode {
	episodes = slices.Clone(episodes)
	for i := range episodes {
		episodes[i].Time = time.Unix(1_700_000_000, 0).UTC()
	}
	return episodes
}

// A held-out task of tools that nobody has met is a question about its intent, which may be too few to
// learn from: the seed answers it.
func TestJudgeOfUnknownTools(t *testing.T) {
	episodes := twoWays(200)
	episodes[190] = episodic.Episode{ID: "odd", Intent: "something else", Steps: []episodic.Step{{Tool: "f"}, {Tool: "g"}}}
	gate, err := Judge(t.Context(), Trial{Episodes: dated(episodes), Known: 200, Old: &suggest.MeasureOptions{}})
	require.NoError(t, err)
	assert.Equal(t, 1, gate.NextIntent.Questions)
	assert.Equal(t, 1, gate.Intent.Questions)
	assert.False(t, gate.Loses())
}
