package suggest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/cmd/waymark/sampledata"
)

var update = flag.Bool("update", false, "write the golden files anew")

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

// sampleModel is the model of the bundled history.
// sampleModel is learned once for all tests: a model never changes.
func sampleModel(t testing.TB) *Model {
	learnedSample.Do(func() { learnedSample.model = sampleWorld(t).model() })
	require.NotNil(t, learnedSample.model)
	return learnedSample.model
}

var learnedSample struct {
	sync.Once
	model *Model
}

func sampleWorld(t testing.TB) *world {
	w := newWorld(t)
	tools, err := sample.Tools()
	require.NoError(t, err)
	for _, tool := range tools {
		require.NoError(t, tool.Normalise())
		w.PutTool(tool)
	}
	caps, err := sample.Capabilities()
	require.NoError(t, err)
	for _, c := range caps {
		require.NoError(t, c.Normalise())
		w.PutCapability(c)
	}
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for _, e := range episodes {
		w.record(e)
	}
	return w
}

// The golden file holds the first three suggestions of profile seed in each situation with their terms, and the share
// of situations answered at 1 and at 3, so that a change of ranking shows in review as numbers.
func TestGoldenRankings(t *testing.T) {
	m := sampleModel(t)
	var b strings.Builder
	var at1, at3, reciprocal float64
	for _, s := range situations {
		a, err := m.Next(NextRequest{Context: s.after, Intent: s.intent, Limit: 20, Profile: ProfileSeed})
		require.NoError(t, err)
		checkTerms(t, a.Suggestions)
		rank := 0
		for i, x := range a.Suggestions {
			if x.ID == s.want {
				rank = i + 1
			}
		}
		if rank == 1 {
			at1++
		}
		if rank >= 1 && rank <= 3 {
			at3++
		}
		if rank > 0 {
			reciprocal += 1 / float64(rank)
		}
		fmt.Fprintf(&b, "after %s intent %q: want %s, rank %d, stop %.3f\n", strings.Join(s.after, ", "), s.intent, s.want, rank, a.Stop)
		for i, x := range a.Suggestions[:min(3, len(a.Suggestions))] {
			fmt.Fprintf(&b, "  %d. %s %s %.4f =", i+1, x.ID, x.Formula, x.Score)
			for _, term := range x.Terms {
				fmt.Fprintf(&b, " %s %.3f", term.Name, term.Contribution)
			}
			b.WriteByte('\n')
		}
	}
	n := float64(len(situations))
	fmt.Fprintf(&b, "hit@1 %.3f hit@3 %.3f mrr %.3f\n", at1/n, at3/n, reciprocal/n)
	golden(t, "testdata/rankings.golden", b.String())
	assert.GreaterOrEqual(t, at3/n, 0.9)
}

func golden(t *testing.T, file, got string) {
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./suggest -update writes it anew")
}
