package suggest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The whole graphs are compared, whatever is strongest in them.
func TestDiffSeesEveryNode(t *testing.T) {
	var models [2]*Model
	for i := range models {
		w := newWorld(t)
		for range 9 {
			w.episode("", "a:one", "a:two")
		}
		for k := range 4 + i {
			w.episode("", fmt.Sprint("rare:from", k), fmt.Sprint("rare:to", k))
		}
		models[i] = w.model()
	}
	d := Diff(models[0], models[1])
	assert.Equal(t, []string{"rare:from4", "rare:to4"}, d.Added)
	assert.Empty(t, d.Removed)
	assert.Len(t, d.EdgesAdded, 1)
	d = Diff(models[1], models[0])
	assert.Equal(t, []string{"rare:from4", "rare:to4"}, d.Removed)
	assert.Len(t, d.EdgesRemoved, 1)
}

// A request whose answer changed says which terms moved the ids.
func TestDiffSaysWhyAnAnswerChanged(t *testing.T) {
	var models [2]*Model
	for i := range models {
		w := newWorld(t)
		for range 6 {
			w.episode("send the report", "a:one", "a:two")
			w.episode("archive the mail", "b:one", "b:two")
		}
		for range 1 + 11*i {
			w.episode("send the report", "a:one", "a:three")
		}
		for range 8 * i {
			w.episode("print the invoice", "c:print")
		}
		models[i] = w.model()
	}
	d := Diff(models[0], models[1], models[1].SampleRequests(true)...)
	var after, intent *AnswerChanged
	for i, c := range d.Answers {
		switch {
		case c.After == "a:one":
			after = &d.Answers[i]
		case c.Intent == "print the invoice":
			intent = &d.Answers[i]
		}
	}
	require.NotNil(t, after)
	assert.Equal(t, "a:two", after.Before[0])
	assert.Equal(t, "a:three", after.Now[0])
	why := after.Why[0]
	assert.Equal(t, Moved{ID: "a:three", WasRank: 2, Rank: 1, WasScore: why.WasScore, Score: why.Score, Terms: why.Terms, Reason: why.Reason}, why)
	assert.Greater(t, why.Score, why.WasScore)
	require.NotEmpty(t, why.Terms)
	assert.NotEqual(t, why.Terms[0].Now, why.Terms[0].Was)
	assert.Contains(t, why.Reason, "12 of 18")
	require.NotNil(t, intent)

	for _, c := range Diff(models[0], models[1]).Answers {
		assert.Empty(t, c.Intent, "intents are asked about on purpose alone")
	}
	assert.Empty(t, Diff(models[0], models[0], models[1].SampleRequests(true)...).Answers)
	assert.Len(t, Diff(models[0], models[1], NextRequest{Context: []string{"a:one"}}).Answers, 1)
}
