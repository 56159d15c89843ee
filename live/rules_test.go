package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
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
		{"pin after a tool", Rule{Kind: RulePin, Tool: "c", After: "a"}, "pin:a>c", "c", "pinned by the operator (rule pin:a>c)", ""},
		{"pin what never followed", Rule{Kind: RulePin, Tool: "d", After: "a"}, "pin:a>d", "d", "pinned by the operator (rule pin:a>d)", ""},
		{"pin at the start", Rule{Kind: RulePin, Tool: "c"}, "pin:c", "b", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := storage.NewMemory()
			ws := NewWorkspaces(store, Options{})
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
				a, err := e.Next(e.Model(), Asker{}, suggest.NextRequest{Context: []string{"a"}, Profile: suggest.ProfileSeed})
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
			rebuild := func() {
				j, err := e.ForceRebuild(ctx)
				require.NoError(t, err)
				require.Equal(t, JobDone, finished(t, e, j.ID).State)
			}
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
			ws = NewWorkspaces(store, Options{})
			e, err = ws.Get(ctx, "default")
			require.NoError(t, err)
			ruled()
			rebuild() // the snapshot of this build keeps the rule
			j, err := e.Rebuild(ctx, true)
			require.NoError(t, err)
			ended := finished(t, e, j.ID)
			require.NotNil(t, ended.Verify, ended.Error)
			require.True(t, ended.Verify.Equal, "%v", ended.Verify.Differences)
			require.NoError(t, ws.Close(ctx))
			ws = NewWorkspaces(store, Options{})
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

func TestRulesThatAreRefused(t *testing.T) {
	e := workspace(t, storage.NewMemory(), Options{})
	for _, c := range []struct {
		rule  Rule
		field string
	}{
		{Rule{Kind: "hide", Tool: "a"}, "kind"},
		{Rule{Kind: RuleBan, Tool: "a", After: "b"}, "after"},
		{Rule{Kind: RuleBan, Tool: "never seen"}, "tool"},
	} {
		_, err := e.AddRule(ctx, c.rule)
		var refused *suggest.RequestError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.field, refused.Field)
	}
}
