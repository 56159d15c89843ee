package live

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

const collector = "otel:key:c"

// collected is an engine over what two keys, the operator and a collector of three services recorded. name says under
// which source the episodes of a service are recorded.
func collected(t *testing.T, store *storage.Store, name func(label string) string) *Engine {
	e := workspace(t, store, unlearned)
	tasks := func(source, label string, n int, tools ...string) {
		t.Helper()
		for i := range n {
			ep := episode(fmt.Sprint(source, label, tools, i), tools...)
			ep.Intent, ep.Label, ep.Session = "close the "+tools[len(tools)-1], label, fmt.Sprint(label, i)
			_, err := e.Record(ctx, source, []episodic.Episode{ep})
			require.NoError(t, err)
		}
	}
	tasks("key:1", "", 18, "a", "b", "c")
	tasks("key:2", "", 18, "a", "c", "b")
	tasks("operator", "", 3, "a", "b")
	for _, label := range []string{"x", "y", "z"} {
		tasks(name(label), label, 12, "a", "d", label)
	}
	for n, tool := range []string{"a", "d", "x"} { // one that is reported step by step
		p := performed("grown", n+1, tool)
		p.Label = "x"
		_, err := e.Perform(ctx, name("x"), p)
		require.NoError(t, err)
	}
	return e
}

// What a trusted collector reports counts as the operator's own, and what a split one reports by its labels: answers,
// limits and what is forgotten are those of a history that was recorded so, after the rebuild that the rule starts, a start
// from the snapshot and one from the log alone; undone, the former ones return.
func TestRulesAboutSourcesCountAnew(t *testing.T) {
	ask := func(e *Engine) (all []any) {
		for _, context := range [][]string{{"a"}, {"d"}} {
			a, err := e.Next(e.Model(), nil, suggest.NextRequest{Context: context, Intent: "close the x"})
			require.NoError(t, err)
			for _, s := range a.Suggestions {
				all = append(all, []any{s.ID, s.Score, s.Confidence})
			}
		}
		s := e.Model().Stats()
		return append(all, s.Sources, s.Limited)
	}
	same := func(string) string { return collector }
	for _, c := range []struct {
		kind string
		name func(label string) string
		part string // the source of service z
	}{
		{RuleTrust, func(string) string { return "otel:trusted:c" }, "otel:trusted:c"},
		{RuleSplit, func(label string) string { return collector + "/" + label }, collector + "/z"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			want := collected(t, memory(t), c.name)
			forced(t, want)
			expected := ask(want)
			store := memory(t)
			e := collected(t, store, same)
			forced(t, e)
			before := ask(e)
			require.NotEqual(t, expected, before)
			settled := func(e *Engine, wanted []any) {
				t.Helper()
				require.Eventually(t, func() bool {
					for _, j := range e.Jobs() {
						if j.State == JobRunning {
							return false
						}
					}
					return fmt.Sprint(ask(e)) == fmt.Sprint(wanted)
				}, patience, 10*time.Millisecond, "%v", c.kind)
				verify(t, e)
			}
			r, err := e.AddRule(ctx, Rule{Kind: c.kind, Source: collector})
			require.NoError(t, err)
			require.Equal(t, "source:"+collector, r.ID)
			settled(e, expected)
			for _, drop := range []bool{false, true} { // the snapshot, then the log alone
				if drop {
					l := logOf(store, "default")
					require.NoError(t, l.DropSnapshots(ctx))
				}
				settled(workspace(t, store, unlearned), expected)
			}
			undone, err := e.UndoRule(ctx, r.ID)
			require.NoError(t, err)
			require.True(t, undone)
			settled(e, before)
			_, err = e.AddRule(ctx, r)
			require.NoError(t, err)
			settled(e, expected)
			for _, e := range []*Engine{want, e} {
				_, err = e.Forget(ctx, Selection{Source: c.part})
				require.NoError(t, err)
			}
			settled(e, ask(want))
		})
	}
	e := collected(t, memory(t), same)
	for text, r := range map[string]Rule{
		`"operator" has no key`:              {Kind: RuleTrust, Source: "operator"},
		`"key:unknown" has recorded nothing`: {Kind: RuleSplit, Source: "key:unknown"},
		`names nothing else`:                 {Kind: RuleTrust, Source: collector, Tool: "a"},
		`belongs to rules of the kinds`:      {Kind: RuleBan, Source: collector, Tool: "a"},
		`name a tool`:                        {Kind: RuleBan},
	} {
		_, err := e.AddRule(ctx, r)
		require.ErrorContains(t, err, text)
	}
}
