package evaluate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/suggest"
)

// Near copies of a request are held out together.
func TestHoldOutKeepsGroupsTogether(t *testing.T) {
	var episodes []episodic.Episode
	for i := range 200 {
		episodes = append(episodes, episodic.Episode{ID: fmt.Sprint(i), Intent: fmt.Sprintf("%c%c the thing %d", 'a'+i%20, 'a'+i%20, i)})
	}
	examples, err := HoldOut(episodes, .2)
	require.NoError(t, err)
	held, split := 0, map[string]string{}
	for i := range examples {
		g := groupOf(&examples[i].Episode)
		if before, ok := split[g]; ok {
			require.Equal(t, before, examples[i].Split, g)
		}
		split[g] = examples[i].Split
		if examples[i].Split == Test {
			held++
		}
	}
	assert.Equal(t, 40, held)
	assert.Len(t, split, 20)
}

// Models are judged with the history that they have in service, however long.
func TestJudgeKeepsOlderEpisodes(t *testing.T) {
	var episodes []episodic.Episode
	for i := range mostJudged + 1000 {
		episodes = append(episodes, episodic.Episode{ID: fmt.Sprint(i), Steps: []episodic.Step{{Tool: "a"}, {Tool: "b"}}})
	}
	trial := Trial{Episodes: episodes, Known: 500, Old: &suggest.MeasureOptions{}}
	examples, err := trial.split()
	require.NoError(t, err)
	require.Len(t, examples, len(episodes))
	held := 0
	for i, x := range examples {
		if x.Split == Test {
			held++
			assert.GreaterOrEqual(t, i, 1000, "only newer episodes are held out")
		}
	}
	assert.Equal(t, mostJudged/5, held)
}
