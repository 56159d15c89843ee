package evaluate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// counting says that a task is over after as many tenths as it has steps, and expects "b" next.
type counting struct{ asked []string }

func (c *counting) Rank(Question, int) ([]Candidate, error) { panic("asked twice") }

func (c *counting) RankOrStop(q Question, _ int) ([]Candidate, float64, error) {
	c.asked = append(c.asked, q.Context[len(q.Context)-1])
	return []Candidate{{"b", .5}}, float64(len(q.Context)) / 10, nil
}

// One answer after each step ranks what comes next and claims the end, which comes after the last.
func TestAskStops(t *testing.T) {
	x := newTask(&Example{Episode: episodic.Episode{ID: "1", Steps: []episodic.Step{{Tool: "a"}, {Tool: "b"}, {Tool: "c"}}}})
	a, c := newNextAnswers(1), &counting{}
	claims, err := a.askStops(c, x, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, c.asked)
	assert.Equal(t, []Prediction{{.1, false}, {.2, false}, {.3, true}}, claims)
	assert.Equal(t, []int{1, 0}, a.ranks[0])
	assert.Equal(t, []Prediction{{.5, true}, {.5, false}}, a.claims[0])
}
