package rubric

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var two = MustLoad([]byte(`
id: two
weights_sum: 1
dimensions:
  - {name: telling, weight: 0.5, scale: {min: 0, max: 10}}
  - {name: noise, weight: 0.5, scale: {min: 0, max: 10}}
`))

// verdicts accept by the first dimension alone; the second says nothing.
func verdicts(n int) []Verdict {
	rng := rand.New(rand.NewPCG(7, 7))
	var out []Verdict
	for i := range n {
		telling := rng.IntN(11)
		out = append(out, Verdict{ID: fmt.Sprintf("v%03d", i), Accepted: telling >= 6,
			Card: card("telling", telling, "noise", rng.IntN(11))})
	}
	return out
}

func TestCalibrate(t *testing.T) {
	v := verdicts(100)
	c, err := two.Calibrate(v)
	require.NoError(t, err)
	assert.True(t, c.Enough)
	assert.False(t, c.Applied)
	assert.Equal(t, "1", c.Dimensions[0].Concordance.String(), "it decides alone")
	assert.InDelta(t, .5, c.Dimensions[1].Concordance.Float(), .15)
	assert.Greater(t, *c.Dimensions[0].Proposed, Hundredths(70))
	assert.Equal(t, Whole(1), *c.Dimensions[0].Proposed+*c.Dimensions[1].Proposed)
	assert.True(t, c.Better)
	assert.Greater(t, *c.Concordance.Proposed, *c.Concordance.InForce)
	d, _ := two.Dimension("telling")
	assert.Equal(t, Hundredths(50), d.Weight, "nothing is applied")

	rand.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	again, err := two.Calibrate(v)
	require.NoError(t, err)
	assert.Equal(t, c, again, "in any order")
}

func TestCalibrateNeedsEnough(t *testing.T) {
	c, err := two.Calibrate(verdicts(49))
	require.NoError(t, err)
	assert.False(t, c.Enough)
	assert.Nil(t, c.Dimensions[0].Proposed)
	assert.Nil(t, c.Concordance.InForce)
	assert.Contains(t, c.Note, "49 verdicts")
	c, err = two.Calibrate(nil)
	require.NoError(t, err)
	assert.Nil(t, c.Dimensions[0].Concordance)
	_, err = two.Calibrate([]Verdict{{ID: "a", Card: card("telling", 1, "noise", 1)}, {ID: "a", Card: card("telling", 1, "noise", 1)}})
	assert.ErrorContains(t, err, "has two verdicts")
	_, err = two.Calibrate([]Verdict{{ID: "a", Card: card("telling", 1)}})
	assert.ErrorContains(t, err, `verdict on "a": noise: the score is missing`)
}

// By hand: accepted 3, 2 and rejected 2, 1 give the pairs 3>2, 3>1, 2=2, 2>1, so 3.5 of 4.
func TestConcordanceByHand(t *testing.T) {
	var v []Verdict
	for i, s := range []int{3, 2, 2, 1} {
		v = append(v, Verdict{ID: fmt.Sprint(i), Accepted: i < 2, Card: card("telling", s, "noise", 5)})
	}
	c, err := two.Calibrate(v)
	require.NoError(t, err)
	assert.Equal(t, "0.875", c.Dimensions[0].Concordance.String())
	assert.Equal(t, "0.5", c.Dimensions[1].Concordance.String(), "all tied")
}

// Where no dimension agrees with the users, the weights stay.
func TestCalibrateWithoutALead(t *testing.T) {
	var v []Verdict
	for i := range 60 {
		v = append(v, Verdict{ID: fmt.Sprintf("%02d", i), Accepted: i%2 == 0, Card: card("telling", 5, "noise", 5)})
	}
	c, err := two.Calibrate(v)
	require.NoError(t, err)
	assert.True(t, c.Enough)
	assert.Equal(t, Hundredths(50), *c.Dimensions[0].Proposed)
	assert.False(t, c.Better)
}
