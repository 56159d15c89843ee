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
