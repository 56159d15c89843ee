package council

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/score/rubric"
)

func TestBallot(t *testing.T) {
	var list []Response
	for i := range 30 {
		list = append(list, Response{ID: fmt.Sprint("id", i), Author: fmt.Sprint("r", i)})
	}
	b := NewBallot(1, "r3", list)
	assert.Len(t, b.Order, 29)
	assert.NotContains(t, b.Order, "id3", "his own")
	assert.Equal(t, b.Order[0], b.Labels["A"])
	assert.Equal(t, b.Order[25], b.Labels["Z"])
	assert.Equal(t, b.Order[26], b.Labels["AA"])
	assert.Equal(t, "AC", b.LabelOf(28))

	turned := slices.Clone(list)
	slices.Reverse(turned)
	assert.Equal(t, b, NewBallot(1, "r3", turned), "the order of the input is no order to show")
	for name, other := range map[string]Ballot{"seed": NewBallot(2, "r3", list)} {
		assert.NotEqual(t, b.Order, other.Order, name)
		assert.ElementsMatch(t, b.Order, other.Order)
	}
	stranger := NewBallot(1, "someone", append(list, Response{ID: "given"}))
	assert.Len(t, stranger.Order, 31)
	assert.Empty(t, NewBallot(1, "r0", list[:1]).Order)
}

// Every answer comes first about equally often: 2,000 ballots of 4, expected 500 each, deviation 19.
func TestBallotsAreFair(t *testing.T) {
	first := map[string]int{}
	for i := range 2000 {
		first[NewBallot(5, fmt.Sprint("r", i), responses("a", "b", "c", "d")).Order[0]]++
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
