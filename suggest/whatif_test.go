package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReweigh(t *testing.T) {
	answer := NextAnswer{Suggestions: []Suggestion{
		{ID: "sum", Score: 0.8, Terms: []Term{{Name: "a", Value: 1, Weight: 0.5, Contribution: 0.5}, {Name: "b", Value: 0.3, Weight: 1, Contribution: 0.3}}},
		{ID: "logistic", Score: 0.5, Terms: []Term{{Name: "c", Value: 2, Weight: 1, Contribution: 2}, {Name: "a", Value: -2, Weight: 1, Contribution: -2}}},
		{ID: "product", Score: 0.4, Terms: []Term{{Name: "b", Value: 2, Weight: 1, Contribution: 2}}},
	}}
	same, err := Reweigh(answer, nil)
	require.NoError(t, err)
	for i, c := range same.Ranking {
		require.Equal(t, CandidateIf{answer.Suggestions[i].ID, i + 1, i + 1, answer.Suggestions[i].Score, answer.Suggestions[i].Score, i == 2}, c)
	}
	require.Equal(t, []WeightIf{{"a", 0.5}, {"b", 1}, {"c", 1}}, same.Weights)

	got, err := Reweigh(answer, map[string]float64{"a": 0})
	require.NoError(t, err)
	require.Equal(t, "logistic", got.Ranking[0].ID)
	require.InDelta(t, 0.8808, got.Ranking[0].Score, 0.0001)
	require.Equal(t, CandidateIf{"product", 2, 3, 0.4, 0.4, true}, got.Ranking[1])
	require.InDelta(t, 0.3, got.Ranking[2].Score, 1e-12)

	_, err = Reweigh(answer, map[string]float64{"d": 1})
	require.ErrorContains(t, err, `"d" is no term of these candidates; there are a, b, c`)
}
