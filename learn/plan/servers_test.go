package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of many tools with one text that nobody used, the one of a server in use is the likeliest, though it
// stands last.
func TestUnusedToolOfAServerInUse(t *testing.T) {
	tools, tasks := office(120)
	for i := range 100 {
		tools = append(tools, Tool{Name: "count_words", Text: "Count the words of a page", Server: fmt.Sprint("stranger", i)})
	}
	tools = append(tools, Tool{Name: "count_words", Text: "Count the words of a page", Server: "mail"})
	m := Fit(NewTexts(tools), nil, tasks)
	found := m.Plan("write to my aunt, count the words of this page", nil).Tools
	first := slices.IndexFunc(found, func(r Ranked) bool { return r.Tool >= 8 })
	require.GreaterOrEqual(t, first, 0, "some of them are found")
	assert.Equal(t, int32(len(tools)-1), found[first].Tool)
}

// What tells nothing is held tightly, what tells much is not.
func TestWeightsAreHeldAsFarAsItHelps(t *testing.T) {
	tools, tasks := office(200)
	assert.Equal(t, 1.0, FitStudy(NewTexts(tools), nil, tasks, Options{}).fit.regularisation)

	r := rand.New(rand.NewPCG(3, 4))
	random := make([]Task, 60)
	for i := range random {
		random[i] = Task{Text: fmt.Sprintf("w%d w%d w%d", r.IntN(30), r.IntN(30), r.IntN(30)), Steps: []int32{int32(r.IntN(8))}, After: [][]int32{nil}}
	}
	assert.Greater(t, FitStudy(NewTexts(tools), nil, random, Options{}).fit.regularisation, 1.0)
}
