package suggest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	sample "waymark/cmd/waymark/sampledata"
	"waymark/episodic"
)

// situations are what an engineer who knows the sample's world would ask, and what must be among the
// first three answers.
var situations = []struct {
	after  []string
	intent string
	want   string
}{
	{[]string{"forge:list_pull_requests"}, "", "forge:get_pull_request"},
	{[]string{"metrics:list_alerts"}, "", "metrics:query_metrics"},
	{[]string{"metrics:list_alerts", "metrics:query_metrics"}, "", "metrics:search_logs"},
	{[]string{"metrics:query_metrics", "metrics:search_logs"}, "", "tracker:create_issue"},
	{[]string{"metrics:search_logs", "tracker:create_issue"}, "", "chat:post_message"},
	{[]string{"warehouse:list_tables"}, "", "warehouse:describe_table"},
	{[]string{"warehouse:describe_table"}, "", "warehouse:run_query"},
	{[]string{"tracker:search_issues"}, "", "tracker:get_issue"},
	{[]string{"web:search"}, "", "web:fetch_page"},
	{[]string{"wiki:search_pages"}, "", "wiki:get_page"},
	{[]string{"mail:search_messages"}, "", "mail:get_message"},
	{[]string{"desk:search_tickets"}, "", "desk:get_ticket"},
	{[]string{"forge:create_branch"}, "", "forge:commit_files"},
	{[]string{"forge:create_branch", "forge:commit_files"}, "", "forge:create_pull_request"},
	{[]string{"crm:search_customers"}, "", "crm:get_customer"},
	{[]string{"calendar:find_free_slots"}, "", "calendar:create_event"},
	{nil, "send an email to a customer", "mail:send_message"},
	{nil, "which alerts are firing right now", "metrics:list_alerts"},
	{nil, "run a query on the orders table", "warehouse:run_query"},
	{nil, "give the customer the money back", "billing:refund_payment"},
	{nil, "take the bad deployment back", "cloud:rollback_deployment"},
	{nil, "find a time for a meeting", "calendar:find_free_slots"},
	{[]string{"desk:get_ticket"}, "answer the customer", "desk:reply_to_ticket"},
	{[]string{"metrics:list_alerts"}, "triage the incident", "cap:triage_incident"},
}

// sampleOnce is fitted once for all tests: a model never changes.
var sampleOnce sync.Once
var sampleKept *Model

// sampleModel is the model of [sampleWorld].
func sampleModel(t testing.TB) *Model {
	sampleOnce.Do(func() { sampleKept = sampleWorld(t).model() })
	require.NotNil(t, sampleKept)
	return sampleKept
}

// sampleWorld is the bundled catalog with every third episode of the bundled history; the mission oracle takes all.
func sampleWorld(t testing.TB) *world {
	w := newWorld(t)
	tools, err := sample.Lines[catalog.Tool]("tools.jsonl")
	require.NoError(t, err)
	for _, tool := range tools {
		require.NoError(t, tool.Normalise())
		w.PutTool(tool)
	}
	caps, err := sample.Lines[catalog.Capability]("capabilities.jsonl")
	require.NoError(t, err)
	for _, c := range caps {
		require.NoError(t, c.Normalise())
		w.PutCapability(c)
	}
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	for i := 0; i < len(episodes); i += 3 {
		w.record(episodes[i])
	}
	return w
}

// Of the situations nine of ten are answered among the first three, by profile seed.
func TestSituations(t *testing.T) {
	m := sampleModel(t)
	found := 0.0
	for _, s := range situations {
		a := next(t, m, NextRequest{Context: s.after, Intent: s.intent, Limit: 3, Profile: ProfileSeed})
		if slices.Contains(ids(a.Suggestions), s.want) {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, 0.9*float64(len(situations)))
}
