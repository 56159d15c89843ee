package suggest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/graph"
)

func planned(t testing.TB, m *Model, r DAGRequest) DAGAnswer {
	t.Helper()
	a, err := m.Plan(r)
	require.NoError(t, err)
	checkDAG(t, m, a)
	return a
}

// checkDAG checks what every plan promises: tasks in an order that can run, links and argument
// references only to earlier tasks, a confidence that its terms reproduce, capped.
func checkDAG(t require.TestingT, m *Model, a DAGAnswer) {
	at := map[string]int{}
	for i, task := range a.DAG.Tasks {
		require.Equal(t, fmt.Sprintf("t%d", i+1), task.ID)
		for _, d := range task.DependsOn {
			_, earlier := at[d]
			require.True(t, earlier, "%s depends on %s, which does not come before it", task.ID, d)
		}
		at[task.ID] = i
		require.LessOrEqual(t, task.Confidence, Cap)
		require.GreaterOrEqual(t, task.Confidence, task.ConfidenceLow)
		require.Contains(t, []string{SlotTarget, SlotPrerequisite}, task.Slot)
		sum, product := 0.0, 1.0
		for _, term := range task.Terms {
			sum += term.Contribution
			product *= term.Value
		}
		if task.Formula == FormulaLogistic { // log-odds
			require.InDelta(t, task.Confidence, min(Cap, 1/(1+math.Exp(-sum))), 1e-9)
		} else if task.Formula != FormulaMixed {
			require.InDelta(t, task.Confidence, sum, 1e-12)
		} else {
			require.InDelta(t, task.Confidence, product, 1e-12)
		}
	}
	total, fits := 0.0, a.Confidence
	for _, term := range a.Terms {
		if total += term.Contribution; term.Name == "fits" { // a plan that may lack something is no weak one
			fits = term.Value
		}
	}
	require.InDelta(t, a.Confidence, total, 1e-12)
	require.Equal(t, fits < LowConfidence, slices.Contains(a.Warnings, WarnLowConfidence))
	for _, p := range a.Paths {
		require.Equal(t, graph.PathConfidence(p.Hops), p.Confidence)
		require.Len(t, p.Via, max(0, p.Hops-1))
	}
}

func tools(a DAGAnswer) []string {
	out := []string{}
	for _, t := range a.DAG.Tasks {
		out = append(out, t.Tool)
	}
	return out
}

const (
	wantsIssue = `{"type":"object","properties":{"issue_id":{"type":"string"},"text":{"type":"string"}},"required":["issue_id","text"]}`
	givesIssue = `{"type":"object","properties":{"issue_id":{"type":"string"},"url":{"type":"string"}}}`
	wantsQuery = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
)

// A tool whose output is a required input comes before the target only where that is known to be right and
// harmless: it only reads, does not need the same value, and history has it right before the target.
func TestPlanAddsWhatASchemaNeeds(t *testing.T) {
	const asksIssue = `{"type":"object","properties":{"issue_id":{"type":"string"},"query":{"type":"string"}},"required":["issue_id"]}`
	yes, no := true, false
	for _, row := range []struct {
		name     string
		input    string
		readOnly *bool
		before   int // of four uses of the target
		want     []string
	}{
		{"read-only and usual", wantsQuery, &yes, 2, []string{"tracker:find", "tracker:comment"}},
		{"no history", wantsQuery, &yes, 0, []string{"tracker:comment"}},
		{"rare", wantsQuery, &yes, 1, []string{"tracker:comment"}},
		{"changes something", wantsQuery, &no, 2, []string{"tracker:comment"}},
		{"says nothing, and its verb is one of reading", wantsQuery, nil, 2, []string{"tracker:find", "tracker:comment"}},
		{"needs the value itself", asksIssue, &yes, 2, []string{"tracker:comment"}},
	} {
		w := newWorld(t).tool("tracker:comment", "Writes a comment on a ticket.", wantsIssue, "").tool("mail:send", "Sends an e-mail.", "", "")
		w.PutTool(catalog.Tool{ID: "tracker:find", Name: "find", Server: "tracker", Description: "Looks up tickets.", InputSchema: []byte(row.input),
			OutputSchema: []byte(givesIssue), Annotations: &catalog.Annotations{ReadOnly: row.readOnly}})
		for i := range 4 {
			if i < row.before {
				w.episode("", "tracker:find", "tracker:comment")
			} else {
				w.episode("", "mail:send", "tracker:comment")
			}
		}
		assert.Equal(t, row.want, tools(planned(t, w.model(), DAGRequest{Intent: "write a comment"})), row.name)
	}
}

// The target by its words, its prerequisite, their link and the reference to the output that is needed.
func TestPlanWiresAPrerequisite(t *testing.T) {
	w := newWorld(t).tool("tracker:find", "Looks up tickets.", wantsQuery, givesIssue).
		tool("tracker:comment", "Writes a comment on a ticket.", wantsIssue, "").tool("mail:send", "Sends an e-mail.", "", "")
	for range 3 {
		w.episode("", "tracker:find", "tracker:comment")
	}
	a := planned(t, w.model(), DAGRequest{Intent: "write a comment", MaxSteps: 4})
	require.Equal(t, []string{"tracker:find", "tracker:comment"}, tools(a))
	assert.Equal(t, SlotPrerequisite, a.DAG.Tasks[0].Slot)
	assert.Equal(t, SlotTarget, a.DAG.Tasks[1].Slot)
	assert.Equal(t, []string{"t1"}, a.DAG.Tasks[1].DependsOn)
	assert.Equal(t, Argument{"t1.issue_id"}, a.DAG.Tasks[1].Arguments["issue_id"])
	assert.Equal(t, Argument{"intent"}, a.DAG.Tasks[1].Arguments["text"])
	assert.Equal(t, Argument{"intent"}, a.DAG.Tasks[0].Arguments["query"])
}

// A prerequisite never takes the place of the target.
func TestPlanKeepsTheTargetWhenRoomIsShort(t *testing.T) {
	w := newWorld(t).tool("a:get_draft", "Gets the draft.", "", givesIssue).tool("a:publish", "Publishes the report.", wantsIssue, "")
	for range 5 {
		w.episode("", "a:get_draft", "a:publish")
	}
	m := w.model()
	short := planned(t, m, DAGRequest{Intent: "publish the report", MaxSteps: 1})
	assert.Equal(t, []string{"a:publish"}, tools(short))
	assert.Equal(t, []string{"issue_id"}, short.DAG.Tasks[0].Missing)
	assert.Equal(t, []string{"a:get_draft", "a:publish"}, tools(planned(t, m, DAGRequest{Intent: "publish the report", MaxSteps: 2})))
}

// Where tools are used in a circle, what came right before a target may have its place behind all targets: then it is
// no prerequisite.
func TestPlanHasNoPrerequisiteThatNothingFollows(t *testing.T) {
	w := newWorld(t).tool("fs:list", "Lists a directory.", "", "").tool("fs:read", "Reads a text file.", "", "").tool("wm:look", "Looks.", "", "")
	for range 5 {
		w.episode("", "fs:list", "fs:read", "wm:look", "fs:list", "fs:read", "wm:look", "fs:list", "fs:read", "wm:look")
	}
	a := planned(t, w.model(), DAGRequest{Intent: "list the directory and read the text file", Profile: ProfileSeed})
	for i, task := range a.DAG.Tasks {
		if task.Slot == SlotPrerequisite {
			assert.True(t, slices.ContainsFunc(a.DAG.Tasks[i:], func(o Task) bool { return slices.Contains(o.DependsOn, task.ID) }), "%s feeds nothing", task.Tool)
		}
	}
}

// The original added what a dependency depends on as a direct dependency. Here a → b → c stays that.
func TestPlanLinksAreDirect(t *testing.T) {
	w := newWorld(t)
	for range 4 {
		w.episode("one two three", "one", "two", "three")
	}
	a := planned(t, w.model(), DAGRequest{Intent: "one two three"})
	require.Equal(t, []string{"one", "two", "three"}, tools(a))
	assert.Equal(t, []string{"t2"}, a.DAG.Tasks[2].DependsOn)
	require.Len(t, a.Paths, 2)
	assert.Equal(t, .95, a.Paths[0].Confidence, "a direct link is one hop")
}

// Branches where history branches: two reads that a join needs run side by side.
func TestPlanBranches(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.record(episodic.Episode{ID: fmt.Sprint("b", i), Intent: "compare left and right", Steps: []episodic.Step{
			{ID: "1", Tool: "left", DependsOn: []string{}}, {ID: "2", Tool: "right", DependsOn: []string{}},
			{ID: "3", Tool: "compare", DependsOn: []string{"1", "2"}},
		}})
	}
	a := planned(t, w.model(), DAGRequest{Intent: "compare left and right"})
	require.Len(t, a.DAG.Tasks, 3)
	last := a.DAG.Tasks[2]
	assert.Equal(t, "compare", last.Tool)
	assert.Equal(t, []string{"t1", "t2"}, last.DependsOn)
	assert.Empty(t, a.DAG.Tasks[1].DependsOn)
}

// Without an intent there is a plan wherever there is a history; an intent that matches nothing has none.
func TestPlansOfLittleEvidence(t *testing.T) {
	empty := newWorld(t).model()
	a := planned(t, empty, DAGRequest{Intent: "anything"})
	assert.Empty(t, a.DAG.Tasks)
	assert.Contains(t, a.Warnings, WarnNoIntentMatch)
	m := newWorld(t).tool("x:y", "Does y.", "", "").episode("", "x:y", "x:z").model()
	a = planned(t, m, DAGRequest{Intent: "qqqq wwww"})
	assert.Empty(t, a.DAG.Tasks)
	assert.Contains(t, a.Warnings, WarnForeign)
	assert.Contains(t, a.Warnings, WarnNoIntentMatch)
	a = planned(t, m, DAGRequest{})
	assert.Equal(t, Exploration, a.Mode)
	assert.Equal(t, []string{"x:y", "x:z"}, tools(a))
	a = planned(t, m, DAGRequest{Context: []string{"x:y"}})
	assert.Equal(t, []string{"x:z"}, tools(a))
	assert.Equal(t, Passive, a.Mode)
}

// The learned length says how much a task needs; max_steps only bounds it.
func TestMaxStepsIsABound(t *testing.T) {
	m := sampleModel(t)
	for _, intent := range []string{"query series of metrics", "reply to the customer's ticket", "merge the pull request"} {
		usual := planned(t, m, DAGRequest{Intent: intent})
		wide := planned(t, m, DAGRequest{Intent: intent, MaxSteps: 25})
		assert.Equal(t, tools(usual), tools(wide), intent)
		one := planned(t, m, DAGRequest{Intent: intent, MaxSteps: 1})
		assert.Len(t, one.DAG.Tasks, 1)
	}
}

// A capability_score is shown for comparison with the reference's weights.
func TestExplainShowsCapabilityScore(t *testing.T) {
	w := newWorld(t).episode("", "a", "b").capability("cap:ab", "both", "a", "b")
	for range 5 {
		w.record(episodic.Episode{Steps: []episodic.Step{{Tool: "cap:ab", Outcome: episodic.Success}}})
	}
	e, err := w.model().Explain(ExplainRequest{ID: "cap:ab", Context: []string{"a"}})
	require.NoError(t, err)
	found := false
	for _, c := range e.Considered {
		if c.Formula == FormulaCapability {
			found = true
			v := map[string]float64{}
			for _, term := range c.Terms {
				v[term.Name] = term.Value
			}
			assert.Equal(t, .5, v["overlap"])
			assert.Equal(t, 1.0, v["success_rate"])
			assert.InDelta(t, total(func(s *sum) {
				s.capabilityScore(v["overlap"], v["success_rate"], v["hypergraph_pagerank"], v["semantic"])
			}), c.Score, 1e-12)
			assert.InDelta(t, .4*.5+.35+.15*v["hypergraph_pagerank"], c.Score, 1e-12)
		}
	}
	assert.True(t, found)
}

// Any history, any question: plans are DAGs, scores are finite and reproduced, answers are the same
// twice and in any order of the catalog.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "s:d", "s:e", "cap:f"})
		w := newWorld(t)
		w.capability("cap:f", "does b and c", "b", "c")
		for range rapid.IntRange(0, 12).Draw(r, "episodes") {
			e := episodic.Episode{Intent: rapid.SampledFrom([]string{"", "do b", "s d then c"}).Draw(r, "intent")}
			for i := range rapid.IntRange(1, 5).Draw(r, "steps") {
				s := episodic.Step{ID: fmt.Sprint(i), Tool: id.Draw(r, "tool"), Outcome: rapid.SampledFrom([]episodic.Outcome{"", episodic.Success, episodic.Failure}).Draw(r, "outcome")}
				if i > 0 && rapid.Bool().Draw(r, "listed") {
					s.DependsOn = []string{fmt.Sprint(rapid.IntRange(0, i-1).Draw(r, "on"))}
				}
				e.Steps = append(e.Steps, s)
			}
			w.record(e)
		}
		m := w.model()
		profile := rapid.SampledFrom([]string{ProfileSeed, ProfileSeed, ProfileSeed, ProfileLearned}).Draw(r, "profile")
		context := rapid.SliceOfN(id, 0, 4).Draw(r, "context")
		intent := rapid.SampledFrom([]string{"", "b", "do c please", "nothing like it"}).Draw(r, "question")
		ask := NextRequest{Context: context, Intent: intent, Limit: 20, Profile: profile}
		a, err := m.Next(ask)
		require.NoError(r, err)
		checkTerms(t, a.Suggestions)
		again, err := w.model().Next(ask)
		require.NoError(r, err)
		require.Equal(r, a, again)
		d, err := m.Plan(DAGRequest{Context: context, Intent: intent, Profile: profile})
		require.NoError(r, err)
		checkDAG(r, m, d)
		for _, s := range a.Suggestions {
			e, err := m.Explain(ExplainRequest{ID: s.ID, Context: context, Intent: intent, Limit: 20, Profile: profile})
			require.NoError(r, err)
			require.True(r, e.Suggested)
			require.Equal(r, s.Score, e.Score)
			require.Equal(r, s.Terms, e.Terms)
			require.Equal(r, s.ID, a.Suggestions[e.Rank-1].ID)
		}
	})
}

// A few tasks say how long tasks are: then tools that match less well than the best belong to a plan, too.
func TestPlanOfAShortHistoryIsAsLongAsItsTasks(t *testing.T) {
	w := newWorld(t)
	w.tool("crm:find_customer", "Finds a customer by name.", "", "")
	w.tool("billing:list_invoices", "Lists the open invoices of a customer.", "", "")
	w.tool("mail:send_reminder", "Sends a reminder of an invoice by mail.", "", "")
	w.tool("files:rename", "Renames a file.", "", "")
	intent := "find the customer, list the invoices that are open and send a reminder"
	w.episode("clean up the shared folder", "files:rename", "files:list", "files:remove")
	m := w.model()
	long := tools(planned(t, m, DAGRequest{Intent: intent}))
	assert.Subset(t, long, []string{"crm:find_customer", "billing:list_invoices", "mail:send_reminder"})
}
