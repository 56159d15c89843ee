package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// recordedAs is an engine over a history in which one tool, and one server, have the given names.
func recordedAs(t *testing.T, store *storage.Store, tool, server string) *Engine {
	e := workspace(t, store, Options{})
	var past []episodic.Episode
	for i := range 20 {
		past = append(past, episodic.Episode{ID: fmt.Sprint(i), Intent: "close the stale ticket", Steps: []episodic.Step{
			{Tool: "start"}, {Tool: tool}, {Tool: server + ":get"}, {Tool: server + ":put"},
		}})
	}
	past = append(past, episodic.Episode{ID: "other", Steps: []episodic.Step{{Tool: "start"}, {Tool: "else"}}})
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "fresh", Description: "Close a ticket"}, {ID: "now:get", Description: "Read a record"}, {ID: "now:put", Description: "Write a record"}}, Approver)
	require.NoError(t, err)
	_, err = e.Record(ctx, "test", past)
	require.NoError(t, err)
	return e
}

// A tool and a server with new names keep their history: answers are those of a history that was recorded under the new
// names, at once, after a rebuild, after a start from the snapshot and from the log alone; undoing returns the former ones.
func TestAliasesKeepTheHistory(t *testing.T) {
	ask := func(e *Engine) (all []any) {
		for _, context := range [][]string{{"start"}, {"fresh"}, {"now:get"}} {
			for _, profile := range []string{suggest.ProfileSeed, suggest.ProfileLearned} {
				a, err := e.Next(e.Model(), nil, suggest.NextRequest{Context: context, Intent: "close a stale ticket", Profile: profile})
				require.NoError(t, err)
				for _, s := range a.Suggestions {
					all = append(all, fmt.Sprintf("%s %.12f %.12f %s", s.ID, s.Score, s.Confidence, s.Reason)) // sums in another order
				}
			}
		}
		plan, err := e.Plan(e.Model(), nil, suggest.DAGRequest{Intent: "close the stale ticket"})
		require.NoError(t, err)
		for _, task := range plan.DAG.Tasks {
			all = append(all, []any{task.Tool, task.DependsOn})
		}
		return all
	}
	rebuild := func(e *Engine) { require.Equal(t, JobDone, forced(t, e).State) }
	want := recordedAs(t, memory(t), "fresh", "now")
	rebuild(want)
	expected := ask(want)
	store := memory(t)
	e := recordedAs(t, store, "stale", "old")
	rebuild(e)
	before := ask(e)
	require.NotEqual(t, expected, before)
	for _, r := range []Rule{{Kind: RuleAlias, Tool: "fresh", Alias: "stale"}, {Kind: RuleAlias, Tool: "now:*", Alias: "old:*"}, {Kind: RuleBan, Tool: "else"}} {
		_, err := e.AddRule(ctx, r)
		require.NoError(t, err)
	}
	_, err := e.UndoRule(ctx, "ban:else")
	require.NoError(t, err)
	require.Eventually(t, func() bool { // other spellings of the old id; a slow machine publishes later
		id, err := e.Model().Resolve("old__get")
		return err == nil && id == "now:get"
	}, patience, time.Millisecond)
	rebuild(e)
	require.Equal(t, expected, ask(e))
	r, err := e.PutTools(ctx, []catalog.Tool{{ID: "old:get"}}, Approver)
	require.NoError(t, err)
	require.ErrorContains(t, fmt.Errorf("%v", r.Rejected), `tool "old:get" is an alias of "now:get"`)
	_, err = e.Record(ctx, "test", []episodic.Episode{{ID: "later", Steps: []episodic.Step{{Tool: "stale"}}}})
	require.NoError(t, err)
	for item, err := range e.Items(ctx) {
		require.NoError(t, err)
		if item.Episode != nil {
			for _, s := range item.Episode.Steps {
				require.NotContains(t, []string{"stale", "old:get", "old:put"}, s.Tool)
			}
		}
	}
	_, err = e.Forget(ctx, Selection{Episode: "later"})
	require.NoError(t, err)
	version := e.Model().Info().Version
	for _, drop := range []bool{false, true} { // the snapshot, then the log alone
		if drop {
			l := logOf(store, "default")
			require.NoError(t, l.DropSnapshots(ctx))
		}
		again := workspace(t, store, Options{})
		require.Eventually(t, func() bool { return again.Model().Info().Version == version }, patience, time.Millisecond)
		require.Equal(t, expected, ask(again))
	}
	for _, id := range []string{"alias:stale", "alias:old:*"} {
		undone, err := e.UndoRule(ctx, id)
		require.NoError(t, err)
		require.True(t, undone)
	}
	rebuild(e)
	require.Equal(t, before, ask(e))
}

func TestAliasesThatCannotBe(t *testing.T) {
	e := recordedAs(t, memory(t), "stale", "old")
	_, err := e.AddRule(ctx, Rule{Kind: RuleAlias, Tool: "fresh", Alias: "stale"})
	require.NoError(t, err)
	_, err = e.AddRule(ctx, Rule{Kind: RuleAlias, Tool: "now:*", Alias: "old:*"})
	require.NoError(t, err)
	_, err = e.PutCapabilities(ctx, []catalog.Capability{{ID: "cap", Tools: []string{"fresh"}}}, Approver)
	require.NoError(t, err)
	for want, r := range map[string]Rule{
		`"nothing" is in no catalog and no episode`:  {Tool: "nothing", Alias: "stale"},
		`no episode; did you mean fresh?`:            {Tool: "fresch", Alias: "stale"},
		`no tool of server "nowhere"`:                {Tool: "nowhere:*", Alias: "old:*"},
		`"fresh" cannot stand for "fresh"`:           {Tool: "stale", Alias: "fresh"},
		`"stale" cannot stand for "stale"`:           {Tool: "stale", Alias: "stale"},
		`"old:*" would stand for itself`:             {Tool: "old:*", Alias: "now:*"},
		`"old:*" cannot stand for "fresh": want two`: {Tool: "fresh", Alias: "old:*"},
		`holds in every context`:                     {Tool: "fresh", Alias: "x", After: "start"},
		`alias`:                                      {Tool: "fresh"},
		`"cap" is a capability`:                      {Tool: "fresh", Alias: "cap"},
		`"cap" is a capability, and`:                 {Tool: "cap", Alias: "else"},
	} {
		r.Kind = RuleAlias
		_, err := e.AddRule(ctx, r)
		require.ErrorContains(t, err, want, "%v", r)
	}
	for _, r := range []Rule{{Tool: "fresh", Alias: "els"}, {Tool: "now:*", Alias: "nou:*"}, {Tool: "fresh", Alias: "stale"}, {Tool: "now:*", Alias: "old:*"}} {
		r.Kind = RuleAlias
		_, err := e.AddRule(ctx, r)
		require.NoError(t, err, "its calls may come later: %v", r)
	}
}
