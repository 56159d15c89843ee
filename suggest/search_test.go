package suggest

import (
	"context"
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
		for _, profile := range []string{"", ProfileLearned} {
			require.Equal(t, seed, searched(t, m, SearchRequest{Query: query, Profile: profile}), "%q with profile %q", query, profile)
		}
	}
	require.Contains(t, searched(t, m, SearchRequest{Query: "refund a customer", Limit: 3, Profile: ProfileLearned}), "billing:refund_payment")
}

// Other languages, numbers and single letters match by what is there and otherwise nothing is found rather than guessed;
// slips of the hand and words joined or taken apart are.
func TestSearchFindsNothingRatherThanGuess(t *testing.T) {
	m := sampleModel(t)
	for _, query := range []string{"请把钱退给客户", "деньги назад", "the of and", "7", "x", "3 9 b"} {
		a, err := m.Search(SearchRequest{Query: query})
		require.NoError(t, err)
		require.Empty(t, a.Results, query)
		require.NotEmpty(t, a.Warnings, query)
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

// A misspelt request is answered as the one that was meant, and shown as it was asked.
func TestMisspeltRequests(t *testing.T) {
	m := sampleModel(t)
	for wrong, right := range map[string]string{
		"refudn the last paymnet of Acme": "refund the last payment of Acme",
		"serach the wki pages":            "search the wki pages",
		"open a pullrequest":              "open a pull request",
	} {
		for _, profile := range []string{ProfileSeed, ProfileLearned} {
			as, meant := planned(t, m, DAGRequest{Intent: wrong, Profile: profile}), planned(t, m, DAGRequest{Intent: right, Profile: profile})
			require.Equal(t, wrong, as.DAG.Intent)
			require.Equal(t, tools(meant), tools(as), wrong)
			require.Equal(t, meant.Confidence, as.Confidence, wrong)
			require.Equal(t, next(t, m, NextRequest{Intent: right, Profile: profile}).Suggestions, next(t, m, NextRequest{Intent: wrong, Profile: profile}).Suggestions)
		}
		require.Equal(t, searched(t, m, SearchRequest{Query: right}), searched(t, m, SearchRequest{Query: wrong}))
	}
}

// Where past requests say little about a request and texts a lot, a plan follows the texts and says so.
func TestPlanByTextsWhereLittleWasLearned(t *testing.T) {
	m := sampleModel(t)
	a := planned(t, m, DAGRequest{Intent: "lower the seats on their subscription", Profile: ProfileLearned})
	require.Contains(t, tools(a), "billing:update_subscription")
	a = planned(t, m, DAGRequest{Intent: "create issue", Profile: ProfileLearned})
	require.Equal(t, []string{"tracker:create_issue"}, tools(a))
	require.NotContains(t, tools(planned(t, m, DAGRequest{Intent: "create issue", Context: []string{"tracker:create_issue"}, Profile: ProfileLearned})), "tracker:create_issue", "done already")
	a = planned(t, m, DAGRequest{Intent: "silence the disk alert on staging", Profile: ProfileLearned})
	require.Contains(t, tools(a), "metrics:silence_alert", "named in full")
	a = planned(t, m, DAGRequest{Intent: "refund a customer", Profile: ProfileLearned})
	require.Equal(t, ProfileLearned, a.Model.Profile)
}

// The terms of a search add up to its score.
func TestSearchTermsAddUp(t *testing.T) {
	m := sampleModel(t)
	for _, context := range [][]string{nil, {"metrics:list_alerts"}} {
		a, err := m.Search(SearchRequest{Query: "silence the alarm", Context: context})
		require.NoError(t, err)
		require.NotEmpty(t, a.Results)
		for _, r := range a.Results {
			requireAddsUp(t, r.Formula, r.Score, r.Terms)
		}
	}
}

// The vector of a query counts for documents that match by their words, too.
func TestVectorsMoveWhatWordsFind(t *testing.T) {
	w := newWorld(t).tool("a:one", "Sends mail.", "", "").tool("b:two", "Sends mail.", "", "")
	m := w.modelWith(MeasureOptions{Vectors: func(_ context.Context, texts []string) ([][]float32, error) {
		return [][]float32{{1, 0}, {0, 1}}, nil
	}})
	require.Equal(t, []string{"a:one", "b:two"}, searched(t, m, SearchRequest{Query: "mail"}))
	require.Equal(t, []string{"b:two", "a:one"}, searched(t, m, SearchRequest{Query: "mail", Vector: []float32{0, 1}}))
}

// Names of tools that stand in a query come first, in its order; words of a language do not name tools.
func TestSearchNamesSeveral(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"notes:search_links", "notes:indexVault", "notes:get-note", "notes:search", "other:search_all_links"} {
		w.tool(id, "Notes and links of a vault.", "", "")
	}
	m := w.model()
	for query, want := range map[string][]string{
		"indexVault get-note `search_links`, please":        {"notes:indexVault", "notes:get-note", "notes:search_links"},
		"use other:search_all_links before notes:get-note.": {"other:search_all_links", "notes:get-note"},
	} {
		require.Equal(t, want, searched(t, m, SearchRequest{Query: query})[:len(want)], query)
	}
	a, err := m.Search(SearchRequest{Query: "search all links of other notes"})
	require.NoError(t, err)
	require.NotEqual(t, FormulaName, a.Results[0].Formula)
}
