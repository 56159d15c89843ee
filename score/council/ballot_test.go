package council

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/rubric"
)

func TestBallot(t *testing.T) {
	var list []Response
	for i := range 30 {
		list = append(list, Response{ID: fmt.Sprint("id", i), Author: fmt.Sprint("r", i)})
	}
	b := NewBallot(1, "r3", 1, list)
	assert.Len(t, b.Order, 29)
	assert.NotContains(t, b.Order, "id3", "his own")
	assert.Equal(t, b.Order[0], b.Labels["A"])
	assert.Equal(t, b.Order[25], b.Labels["Z"])
	assert.Equal(t, b.Order[26], b.Labels["AA"])
	assert.Equal(t, "AC", b.LabelOf(28))

	turned := slices.Clone(list)
	slices.Reverse(turned)
	assert.Equal(t, b, NewBallot(1, "r3", 1, turned), "the order of the input is no order to show")
	for name, other := range map[string]Ballot{"seed": NewBallot(2, "r3", 1, list), "round": NewBallot(1, "r3", 2, list)} {
		assert.NotEqual(t, b.Order, other.Order, name)
		assert.ElementsMatch(t, b.Order, other.Order)
	}
	stranger := NewBallot(1, "someone", 1, append(list, Response{ID: "given"}))
	assert.Len(t, stranger.Order, 31)
	assert.Empty(t, NewBallot(1, "r0", 1, list[:1]).Order)
}

// Every answer comes first about equally often: 2,000 ballots of 4, expected 500 each, deviation 19.
func TestBallotsAreFair(t *testing.T) {
	first := map[string]int{}
	for i := range 2000 {
		first[NewBallot(5, fmt.Sprint("r", i), 1, responses("a", "b", "c", "d")).Order[0]]++
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		assert.InDelta(t, 500, first[id], 80)
	}
}

func TestHolisticScores(t *testing.T) {
	b := Ballot{Order: []string{"y", "x"}, Labels: map[string]string{"A": "y", "B": "x"}}
	assert.Equal(t, map[string]rubric.Decimal{"y": *dec("8"), "x": *dec("6.5")}, b.HolisticScores(`{"scores":{"Response A":"8","B":6.5,"C":9}}`))
	assert.Nil(t, b.HolisticScores(`{"abstain":true,"scores":{"A":8}}`))
	assert.Nil(t, b.HolisticScores("none"))
}

func TestOpinions(t *testing.T) {
	in := Input{Responses: []Response{{ID: "a", Author: "r1"}, {ID: "b"}}, Reviews: []Review{
		{Reviewer: "r2", Raw: `{"scores":{"b":7}}`},
		{Reviewer: "r1", Evaluations: map[string]*Evaluation{"a": eval("9 9 9 9 9"), "b": eval("5 6 7 8 9 1")}},
		{Reviewer: "r3"},
	}}
	in.Reviews[1].Evaluations["b"].Notes = "not for others"
	opinions, err := Opinions(in)
	require.NoError(t, err)
	assert.Equal(t, []Opinion{
		{"r1", map[string]map[string]rubric.Decimal{"b": {"accuracy": *dec("5"), "relevance": *dec("6"), "completeness": *dec("7"), "conciseness": *dec("8"), "clarity": *dec("9")}}},
		{"r2", map[string]map[string]rubric.Decimal{"b": {"overall": *dec("7")}}},
	}, opinions)
	_, err = Opinions(Input{})
	assert.Error(t, err)
}
