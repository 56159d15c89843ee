package evaluate

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

func TestScoreWithout(t *testing.T) {
	term := func(name string, contribution float64) suggest.Term {
		return suggest.Term{Name: name, Value: contribution, Weight: 1, Contribution: contribution}
	}
	additive := suggest.Suggestion{Formula: suggest.FormulaTool, Score: 0.95,
		Terms: []suggest.Term{term("cooccurrence", 0.5), term("community", 0.25), term("pagerank", 0.3), term("cap", -0.1)}}
	low := suggest.Suggestion{Formula: suggest.FormulaTool, Score: 0,
		Terms: []suggest.Term{term("community", 0.1), term("episodic", -0.3), term("floor", 0.2)}}
	mixed := suggest.Suggestion{Formula: suggest.FormulaMixed, Score: 0.5 * 1.5 / 1.75,
		Terms: []suggest.Term{term("relevance", 0.5), term("structural_boost", 1.5), term("reliability", 1), term("comparable", 1/1.75)}}
	other := suggest.Suggestion{Formula: "other", Score: 0.7, Terms: []suggest.Term{term("odds", 3)}}
	for _, tt := range []struct {
		of   suggest.Suggestion
		part string
		want float64
	}{
		{additive, "pagerank", 0.75},
		{additive, "cooccurrence", 0.55},
		{additive, "none of its terms", 0.95},
		{low, "episodic", 0.1},
		{low, "community", -0.3},
		{mixed, "structural_boost", 0.5 / 1.5},
		{mixed, "reliability", 0.75 / 1.75},
		{other, "odds", 0.7},
	} {
		assert.InDelta(t, tt.want, scoreWithout(&tt.of, tt.part), 1e-12, "%s without %s", tt.of.Formula, tt.part)
	}
}

// What is ranked with all parts is what Rank says, in the order of score, then id: only so may the rest
// be ranked by what is left.
func TestDissectRanksAsRank(t *testing.T) {
	d := small()
	var history []*Example
	for i := range d.Examples {
		history = append(history, &d.Examples[i])
	}
	p, err := Suggester("seed", suggest.MeasureOptions{})(t.Context(), d, history)
	require.NoError(t, err)
	a := p.Ranker.(suggester)
	q := Question{Context: []string{"fetch"}}
	ranked, err := p.Rank(q, 0)
	require.NoError(t, err)
	dissected, without, err := a.rankWithout(q)
	require.NoError(t, err)
	var ids []string
	for _, c := range ranked {
		ids = append(ids, c.ID)
	}
	assert.Equal(t, ids, dissected)
	found, err := a.next(q, suggest.MaxLimit, nil)
	require.NoError(t, err)
	assert.True(t, slices.IsSortedFunc(found, func(x, y suggest.Suggestion) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.ID, y.ID))
	}))
	require.Contains(t, without, "cooccurrence")
	assert.NotContains(t, without, "cap")
	assert.NotEqual(t, without["cooccurrence"], without["pagerank"])

	found0, err := p.Find("mail the page", 0)
	require.NoError(t, err)
	searched, without, err := a.needsWithout("mail the page")
	require.NoError(t, err)
	assert.Equal(t, found0, searched)
	assert.Contains(t, without, "semantic")
}
