package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
)

// What is withheld is in no answer, by no way in, until it is released; the model stays the same.
func TestWithheld(t *testing.T) {
	m := sampleModel(t)
	next, err := m.Next(NextRequest{Context: []string{"calendar:find_free_slots"}})
	require.NoError(t, err)
	require.NotEmpty(t, next.Suggestions)
	id := next.Suggestions[0].ID
	held := NewExclusions(map[string]Exclusion{id: {AbsentQuarantined, "its contract changed"}, "new:tool": {AbsentQuarantined, "nobody looked"}})

	again, err := m.Next(NextRequest{Context: []string{"calendar:find_free_slots"}, Withheld: held})
	require.NoError(t, err)
	assert.NotEqual(t, next.SuggestionID, again.SuggestionID)
	for _, s := range again.Suggestions {
		assert.NotEqual(t, id, s.ID)
	}
	found, err := m.Search(SearchRequest{Query: id, Withheld: held})
	require.NoError(t, err)
	for _, r := range found.Results {
		assert.NotEqual(t, id, r.ID)
	}
	for _, r := range []DAGRequest{{Context: []string{"calendar:find_free_slots"}, Withheld: held}, {Intent: "do " + id, Withheld: held}, {Withheld: held}} {
		dag, err := m.Plan(r)
		require.NoError(t, err)
		for _, task := range dag.DAG.Tasks {
			assert.NotEqual(t, id, task.Tool)
		}
	}
	for _, asked := range []string{id, "new:tool"} {
		why, err := m.Explain(ExplainRequest{ID: asked, Context: []string{"calendar:find_free_slots"}, Withheld: held})
		require.NoError(t, err)
		assert.Equal(t, AbsentQuarantined, why.Absent)
		assert.False(t, why.Suggested)
		assert.Zero(t, why.Rank)
	}
	assert.Nil(t, NewExclusions(nil))
}

// Further exclusions do not widen a tool set.
func TestToolSetWithExclusions(t *testing.T) {
	m := sampleModel(t)
	set := &ToolSet{Name: "mail", Patterns: []string{"calendar:*"}}
	both := m.Within(set, NewExclusions(map[string]Exclusion{"calendar:list_events": {AbsentQuarantined, "its contract changed"}})).
		And(map[string]Exclusion{"calendar:create_event": {AbsentBanned, "by a rule"}})
	for id, held := range map[string]bool{"calendar:find_free_slots": false, "calendar:list_events": true, "calendar:create_event": true, "chat:post_message": true} {
		_, is := both.Of(id)
		assert.Equal(t, held, is, id)
	}
}

// A plan of callable tools has neither those of hosts nor those that no catalog describes, and keeps to a tool set.
func TestCallableOnly(t *testing.T) {
	s := history.NewState()
	for _, id := range []string{"ci:test", "ci:deploy"} {
		s.PutTool(catalog.Tool{ID: id, Server: "ci", Description: "Runs the tests."})
	}
	for _, id := range []string{"1", "2", "3"} {
		steps := []episodic.Step{{Tool: "Bash"}, {Tool: "ci:test"}, {Tool: "seen"}}
		e := episodic.Episode{ID: id, Intent: "run the tests", Steps: steps}
		require.NoError(t, e.Normalise())
		s.Record(&e)
	}
	m := modelOf(t, s, nil)
	all := planned(t, m, DAGRequest{Intent: "run the tests"})
	assert.Subset(t, tools(all), []string{"Bash", "ci:test", "seen"})
	for _, task := range all.DAG.Tasks {
		assert.Equal(t, task.Tool == "Bash", task.Host, task.Tool)
	}
	for _, r := range []DAGRequest{{Intent: "run the tests"}, {Context: []string{"ci:deploy"}}, {}} {
		r.CallableOnly = true
		assert.Subset(t, []string{"ci:test", "ci:deploy"}, tools(planned(t, m, r)))
	}
	only := planned(t, m, DAGRequest{Intent: "run the tests", CallableOnly: true})
	assert.Contains(t, tools(only), "ci:test")
	assert.NotEqual(t, all.SuggestionID, only.SuggestionID)
	set := &ToolSet{Name: "none", Patterns: []string{"ci:deploy"}}
	r := DAGRequest{Intent: "run the tests", CallableOnly: true, Withheld: m.Within(set, nil)}
	assert.NotContains(t, tools(planned(t, m, r)), "ci:test")
}
