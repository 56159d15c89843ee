package suggest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/sample"
)

// learnedNext are prefixes of tasks, what they are about, and which tools are allowed. Each is asked with and without the intent.
var learnedNext = []struct {
	after  string
	intent string
	allow  []string
}{
	{"metrics:list_alerts", "checkout is slow since last night", nil},
	{"metrics:list_alerts metrics:query_metrics metrics:search_logs", "find out why payments fail and open an issue", nil},
	{"forge:list_pull_requests forge:get_pull_request", "review what is open in the mobile app", nil},
	{"tracker:get_issue forge:search_code forge:get_file forge:get_file forge:create_branch forge:commit_files forge:get_file forge:commit_files", "pick up an issue and propose a fix", nil},
	{"warehouse:list_tables warehouse:describe_table warehouse:run_query warehouse:run_query warehouse:run_query", "compare the orders of two weeks", nil},
	{"crm:list_deals crm:get_customer crm:get_customer crm:get_customer billing:create_invoice", "create the invoices for the deals won this month", nil},
	{"desk:search_tickets desk:get_ticket", "answer the customer and give the money back", nil},
	{"chat:find_user chat:find_user chat:find_user calendar:find_free_slots", "find an hour for the four of us", nil},
	{"files:search_files files:read_file files:edit_file", "replace the old address in all files", nil},
	{"metrics:list_alerts metrics:query_metrics", "acknowledge the alert and silence it for an hour", nil},
	{"desk:search_tickets", "merge the duplicate tickets", []string{"desk:*"}},
	{"mail:search_messages mail:get_thread calendar:create_event", "answer the invitation", nil},
	{"cloud:list_deployments metrics:query_series warehouse:unknown_tool", "take the bad deployment back", nil},
	{"web:search web:fetch_page web:search web:fetch_page notes:quick_add", "collect what is written about a competitor", nil},
}

// learnedIntents are searched for, and planned.
var learnedIntents = []string{
	"send an email to a customer",
	"which alerts are firing right now",
	"run a query on the orders table and share the result",
	"give the customer the money back and tell them",
	"take the bad deployment back",
	"find a time for a meeting with three people and book a room",
	"fix a bug: search the code, change the file, open a pull request",
	"merge the pull request when the checks are green",
	"write the release notes",
	"create the invoices for the deals won this month",
	"prepare everything for the new colleague",
	"everything we know about one customer, on one page",
	"is this bug known already",
	"summarise yesterday's tickets for the team",
	"rename the old folder",
	"what did we decide about guest checkout",
	"post the numbers of the week to the chat",
	"update the row of the campaign in the sheet",
	"triage the incident",
	"translate an ancient parchment",
	"refund",
	"answer the invitation to the calendar event",
	"share the spreadsheet with the team",
	"which warehouse queries are running, and which are slow",
	"silence the alert for an hour",
}

// learnedDone are steps that were taken before a plan is asked for; the others begin with nothing.
var learnedDone = map[string][]string{
	"take the bad deployment back":                                     {"metrics:list_alerts", "cloud:list_deployments"},
	"fix a bug: search the code, change the file, open a pull request": {"tracker:get_issue"},
	"create the invoices for the deals won this month":                 {"crm:list_deals", "crm:get_customer"},
}

// shortModel is the model of the first n tasks of the bundled history. No more than tools can be learned of.
func shortModel(t testing.TB, n, tools int) *Model {
	defer func(n int) { learnTools = n }(learnTools)
	learnTools = tools
	w := newWorld(t)
	catalog, err := sample.Tools()
	require.NoError(t, err)
	for _, tool := range catalog {
		require.NoError(t, tool.Normalise())
		w.PutTool(tool)
	}
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for _, e := range episodes[:n] {
		w.record(e)
	}
	m := w.model()
	m.measures.learning.compute(never, func(float64) {})
	return m
}

// The golden file holds what profile learned answers on the bundled history, and on the beginning of it with more
// tools than can be learned of: ids, scores, confidences and links. Any change of a constant, a feature or a fit
// shows in it:
//
//	go test ./suggest -run TestGoldenLearned -update
//
// writes it anew ([Edition] is raised where stores in use should be judged again).
func TestGoldenLearned(t *testing.T) {
	if testing.Short() {
		t.Skip("learns from 1,800 tasks")
	}
	var b strings.Builder
	for _, past := range []struct {
		name  string
		model *Model
	}{{"1,800 tasks", sampleModel(t)}, {"180 tasks, some tools not learned of", shortModel(t, 180, 125)}} {
		fmt.Fprintf(&b, "# %s\n", past.name)
		for _, q := range learnedNext {
			for _, intent := range []string{"", q.intent} {
				writeNext(t, &b, past.model, strings.Fields(q.after), intent, q.allow)
			}
		}
		for _, intent := range learnedIntents {
			writeTools(t, &b, past.model, intent)
			writePlan(t, &b, past.model, intent, learnedDone[intent])
		}
	}
	golden(t, "testdata/learned.golden", b.String())
}

func writeNext(t *testing.T, b *strings.Builder, m *Model, after []string, intent string, allow []string) {
	a, err := m.Next(NextRequest{Context: after, Intent: intent, Allow: allow, Profile: ProfileLearned, Limit: 5})
	require.NoError(t, err)
	require.Equal(t, ProfileLearned, a.Model.Profile)
	fmt.Fprintf(b, "next after %s intent %q: stop %.6f\n", strings.Join(after, ", "), intent, a.Stop)
	for _, s := range a.Suggestions {
		fmt.Fprintf(b, "  %s %.6f, confidence %.6f\n", s.ID, s.Score, s.Confidence)
	}
}

func writeTools(t *testing.T, b *strings.Builder, m *Model, intent string) {
	a, err := m.Next(NextRequest{Intent: intent, Profile: ProfileLearned, Limit: 5})
	require.NoError(t, err)
	require.Equal(t, ProfileLearned, a.Model.Profile)
	fmt.Fprintf(b, "tools for %q\n", intent)
	for _, s := range a.Suggestions {
		fmt.Fprintf(b, "  %s %.6f, confidence %.6f\n", s.ID, s.Score, s.Confidence)
	}
}

func writePlan(t *testing.T, b *strings.Builder, m *Model, intent string, done []string) {
	a, err := m.Plan(DAGRequest{Intent: intent, Context: done, Profile: ProfileLearned})
	require.NoError(t, err)
	fmt.Fprintf(b, "dag %q after %s: profile %s, confidence %.6f\n", intent, strings.Join(done, ", "), a.Model.Profile, a.Confidence)
	for _, task := range a.DAG.Tasks {
		fmt.Fprintf(b, "  %s %s %s, confidence %.6f, after %s\n", task.ID, task.Tool, task.Slot, task.Confidence, strings.Join(task.DependsOn, ", "))
	}
	for _, alternative := range a.Alternatives {
		fmt.Fprintf(b, "  or %s %.6f\n", alternative.ID, alternative.Score)
	}
}
