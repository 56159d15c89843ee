package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// Each rule changes answers as it says, over a restart from a snapshot and from the log, and undoing it restores the
// former answer and leaves the model as it was.
func TestRulesChangeAnswersUntilUndone(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   Rule
		id     string
		first  string
		reason string
		absent string // the tool that is never suggested
	}{
		{"ban", Rule{Kind: RuleBan, Tool: "b"}, "ban:b", "c", "", "b"},
		{"ban after a tool", Rule{Kind: RuleBan, Tool: "b", After: "a"}, "ban:a>b", "c", "followed a 2 of 5 times", "b"},
		{"ban after another tool", Rule{Kind: RuleBan, Tool: "b", After: "d"}, "ban:d>b", "b", "followed a 3 of 5 times", ""},
		{"pin after a tool", Rule{Kind: RulePin, Tool: "c", After: "a"}, "pin:a>c", "c", "pinned by the operator (rule pin:a>c)", ""},
		{"pin what never followed", Rule{Kind: RulePin, Tool: "d", After: "a"}, "pin:a>d", "d", "pinned by the operator (rule pin:a>d)", ""},
		{"pin at the start", Rule{Kind: RulePin, Tool: "c"}, "pin:c", "b", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memory(t)
			ws := NewWorkspaces(store, unlearned)
			e, err := ws.Get(ctx, "default")
			require.NoError(t, err)
			var past []episodic.Episode
			for i, second := range []string{"b", "b", "b", "c", "c"} {
				past = append(past, episodic.Episode{ID: string(rune('0' + i)), Steps: []episodic.Step{{Tool: "a"}, {Tool: second}}})
			}
			past = append(past, episodic.Episode{ID: "other", Steps: []episodic.Step{{Tool: "d"}}})
			_, err = e.Record(ctx, "test", past)
			require.NoError(t, err)
			ask := func() suggest.NextAnswer {
				a, err := e.Next(e.Model(), nil, suggest.NextRequest{Context: []string{"a"}, Profile: suggest.ProfileSeed})
				require.NoError(t, err)
				return a
			}
			ruled := func() {
				a := ask()
				require.Equal(t, c.first, a.Suggestions[0].ID)
				if c.reason != "" {
					require.Equal(t, c.reason, a.Suggestions[0].Reason)
				}
				for _, s := range a.Suggestions {
					require.NotEqual(t, c.absent, s.ID)
				}
				require.Len(t, e.Rules(), 1)
			}
			rebuild := func() { require.Equal(t, JobDone, forced(t, e).State) }
			rebuild()
			before := ask()
			require.Equal(t, "b", before.Suggestions[0].ID)

			got, err := e.AddRule(ctx, c.rule)
			require.NoError(t, err)
			require.Equal(t, c.id, got.ID)
			events := e.Head().Seq
			_, err = e.AddRule(ctx, c.rule)
			require.NoError(t, err)
			require.Equal(t, events, e.Head().Seq, "the same rule is stored once")
			require.Equal(t, before.Model, ask().Model, "no model counts a rule")
			ruled()

			require.NoError(t, ws.Close(ctx))
			ws = NewWorkspaces(store, unlearned)
			e, err = ws.Get(ctx, "default")
			require.NoError(t, err)
			ruled()
			rebuild() // the snapshot of this build keeps the rule
			verify(t, e)
			require.NoError(t, ws.Close(ctx))
			ws = NewWorkspaces(store, unlearned)
			e, err = ws.Get(ctx, "default")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, ws.Close(ctx)) })
			ruled()

			undone, err := e.UndoRule(ctx, c.id)
			require.NoError(t, err)
			require.True(t, undone)
			undone, err = e.UndoRule(ctx, c.id)
			require.NoError(t, err)
			require.False(t, undone)
			require.Equal(t, before.Suggestions, ask().Suggestions)
			require.Empty(t, e.Rules())
		})
	}
}

// Rules about one request correct its answers in all three questions, in every profile, and leave other requests alone.
func TestRulesAboutARequest(t *testing.T) {
	e := workspace(t, memory(t), Options{})
	_, err := e.PutTools(ctx, []catalog.Tool{
		{ID: "desk:close_ticket", Description: "Close a ticket"}, {ID: "desk:merge_tickets", Description: "Merge two tickets"},
		{ID: "desk:print", Description: "Print something on paper"}, {ID: "desk:list_tickets", Description: "List tickets"},
	}, Approver)
	require.NoError(t, err)
	var past []episodic.Episode
	for i := range 20 {
		past = append(past, episodic.Episode{ID: fmt.Sprint(i), Intent: "close a stale ticket", Steps: []episodic.Step{{Tool: "desk:list_tickets"}, {Tool: "desk:close_ticket"}}})
	}
	_, err = e.Record(ctx, "test", past)
	require.NoError(t, err)
	require.Equal(t, JobDone, forced(t, e).State)
	ask := func(profile, intent string, context ...string) (next, search, plan []string) {
		n, err := e.Next(e.Model(), nil, suggest.NextRequest{Context: context, Intent: intent, Profile: profile})
		require.NoError(t, err)
		for _, s := range n.Suggestions {
			next = append(next, s.ID)
		}
		f, err := e.Search(e.Model(), nil, suggest.SearchRequest{Query: intent})
		require.NoError(t, err)
		for _, r := range f.Results {
			search = append(search, r.ID)
		}
		p, err := e.Plan(e.Model(), nil, suggest.DAGRequest{Intent: intent, Profile: profile, MaxSteps: 2})
		require.NoError(t, err)
		for _, task := range p.DAG.Tasks {
			plan = append(plan, task.Tool)
		}
		require.Equal(t, slices.Contains(plan, "desk:print"), strings.Contains(p.Rationale, "desk:print is pinned by the operator (rule pin:desk:print@"), p.Rationale)
		return next, search, plan
	}
	const intent = "Please close the stale tickets"
	for _, r := range []Rule{
		{Kind: RulePin, Tool: "desk:print", Intent: intent},
		{Kind: RuleBan, Tool: "desk:close_ticket", Intent: intent},
	} {
		_, err := e.AddRule(ctx, r)
		require.NoError(t, err)
	}
	for _, profile := range []string{suggest.ProfileSeed, suggest.ProfileLearned} {
		next, search, plan := ask(profile, "stale tickets: please close them")
		require.Equal(t, "desk:print", next[0], profile)
		require.Equal(t, "desk:print", search[0], profile)
		require.Contains(t, plan, "desk:print", profile)
		require.LessOrEqual(t, len(plan), 2, profile)
		for _, answer := range [][]string{next, search, plan} {
			require.NotContains(t, answer, "desk:close_ticket", profile)
		}
		next, search, plan = ask(profile, "close a ticket that is stale and old")
		require.NotContains(t, plan, "desk:print", profile)
		require.NotEqual(t, "desk:print", search[0], profile)
		require.Contains(t, next, "desk:close_ticket", profile)
		next, _, _ = ask(profile, intent, "desk:list_tickets")
		require.NotEqual(t, "desk:print", next[0], "a pin without a place holds at the start")
	}
	_, err = e.AddRule(ctx, Rule{Kind: RuleBan, Tool: "desk:print"})
	require.NoError(t, err)
	next, search, plan := ask(suggest.ProfileSeed, intent)
	for _, answer := range [][]string{next, search, plan} {
		require.NotContains(t, answer, "desk:print", "a ban wins over a pin")
	}
}
