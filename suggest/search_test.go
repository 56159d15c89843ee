package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func searched(t testing.TB, m *Model, r SearchRequest) (ids []string) {
	t.Helper()
	a, err := m.Search(r)
	require.NoError(t, err)
	for _, found := range a.Results {
		ids = append(ids, found.ID)
	}
	return ids
}

// What past tasks did beside a tool is no match of a search: every profile ranks by text.
func TestSearchIsTheSameInEveryProfile(t *testing.T) {
	m := sampleModel(t)
	for _, query := range []string{"refund a customer", "silence the alert for an hour", "triage the incident"} {
		seed := searched(t, m, SearchRequest{Query: query, Profile: ProfileSeed})
		for _, profile := range []string{"", ProfileAuto, ProfileLearned} {
			require.Equal(t, seed, searched(t, m, SearchRequest{Query: query, Profile: profile}), "%q with profile %q", query, profile)
		}
	}
	require.Contains(t, searched(t, m, SearchRequest{Query: "refund a customer", Limit: 3, Profile: ProfileLearned}), "billing:refund_payment")
	_, err := m.Search(SearchRequest{Query: "refund a customer", Profile: "best"})
	require.ErrorContains(t, err, `"best" is none of auto, seed, learned`)
}

// Other languages, numbers and single letters match by what is there and otherwise nothing is found rather than guessed;
// slips of the hand and words joined or taken apart are.
func TestSearchFindsNothingRatherThanGuess(t *testing.T) {
	m := sampleModel(t)
	for _, query := range []string{"请把钱退给客户", "деньги назад", "the of and", "7", "x", "3 9 b"} {
		a, err := m.Search(SearchRequest{Query: query})
		require.NoError(t, err)
		require.Empty(t, a.Results, query)
		require.Contains(t, a.Warnings, WarnNoIntentMatch, query)
	}
	for query, want := range map[string]string{
		"请用 pull request":       "forge:get_pull_request",
		"refnud the paymant":    "billing:refund_payment",
		"silencealert":          "metrics:silence_alert",
		"give their money back": "billing:refund_payment",
	} {
		require.Contains(t, searched(t, m, SearchRequest{Query: query, Limit: 5}), want, query)
	}
}

// The parts of a match, nearness to the context, importance and outcomes add up to the score.
func TestSearchTermsAddUp(t *testing.T) {
	m := sampleModel(t)
	for _, context := range [][]string{nil, {"metrics:list_alerts"}} {
		a, err := m.Search(SearchRequest{Query: "silence a noisy alarm", Context: context})
		require.NoError(t, err)
		require.NotEmpty(t, a.Results)
		for _, r := range a.Results {
			sum, product := 0.0, 1.0
			for _, term := range r.Terms {
				sum += term.Contribution
				product *= term.Value
			}
			if r.Formula == FormulaMixed {
				sum = product
			}
			require.InDelta(t, r.Score, sum, 1e-9, r.ID)
			require.GreaterOrEqual(t, r.Score, 0.0)
			require.LessOrEqual(t, r.Confidence, 1.0)
		}
	}
}
