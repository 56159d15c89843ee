package next

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// 0 ─▶ 2 ─▶ 3     one of the two beginnings, by lot, leads to 2, and only which of them it was
// 1    2 ─▶ 4     says what comes then
func crossings(n int) []*Task {
	random := rand.New(rand.NewPCG(5, 6))
	var tasks []*Task
	for i := range n {
		from := random.Int32N(2)
		tasks = append(tasks, &Task{Tools: []int32{0, 1, 2, 3 + from}, Parents: [][]int32{nil, nil, {from}, {2}}, Group: uint64(i)})
	}
	return tasks
}

func TestGuess(t *testing.T) {
	for _, tt := range []struct {
		name    string
		history []*Task
		context []int32
		want    [][]int32
	}{
		{"nothing is known", nil, []int32{0, 1, 2}, [][]int32{nil, {0}, {1}}},
		{"chains", []*Task{line(0, 1), line(0, 2)}, []int32{0, 1, 2}, [][]int32{nil, {0}, {1}}},
		{"a step of which nobody knows anything comes after the one before", crossings(8), []int32{0, 1, 7, 2}, [][]int32{nil, {0}, {1}, {0}}},
		{"what led there most often", append(crossings(8), line(1, 2), line(1, 2), line(1, 2), line(1, 2), line(1, 2), line(1, 2), line(1, 2), line(1, 2)),
			[]int32{1, 0, 2, 3}, [][]int32{nil, {0}, {0}, {2}}},
		{"the latest of equals", crossings(8), []int32{0, 1, 2, 2, 3}, [][]int32{nil, {0}, {0}, {0}, {3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Sources
			h := observe(tt.history)
			h.Guess([]int32{5, 5, 5, 5, 5, 5}, &s)
			h.Guess(tt.context, &s)
			assert.Equal(t, tt.want, s.Parents)
		})
	}
}

// What a step came after decides what comes next, and a context does not say it: a fit that looked it up in the
// tasks would claim to be sure.
func TestAFitKnowsNoMoreThanAContextSays(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	w, claims := fitPredictions(catalog(), crossings(200), false)
	sure := 0
	for _, c := range claims.Plain {
		if c.P > .9 {
			require.True(t, c.Right)
			sure++
		}
	}
	assert.Equal(t, 2*200, sure, "what comes second and third is plain, what comes then is not")
	h := observe(crossings(200))
	var s FeatureValues
	var guess Sources
	h.Guess([]int32{0, 1, 2}, &guess)
	h.Compute([]int32{0, 1, 2}, guess.Parents, 3, nil, &s)
	assert.InDelta(t, .5, h.Rank(&s, w.Plain, nil)[0].Probability, .15)
}
