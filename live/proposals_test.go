package live

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/suggest/mine"
)

// routine records a routine of three tools a few times, under ids that begin with a prefix, and other
// tasks beside it.
func routine(t testing.TB, e *Engine, prefix string, times int, tools ...string) {
	for _, tool := range tools {
		_, err := e.PutTools(ctx, []catalog.Tool{{ID: tool}}, Approver)
		require.NoError(t, err)
	}
	for i := range times {
		ep := episode(fmt.Sprint(prefix, "-", i), tools...)
		ep.Intent = "publish the weekly report"
		other := episode(fmt.Sprint(prefix, "-other-", i), fmt.Sprint(prefix, i), fmt.Sprint(prefix, i+1))
		r := record(t, e, ep, other)
		require.Equal(t, 2, r.Accepted)
	}
}

func mined(t testing.TB, e *Engine, o MineOptions) Job {
	t.Helper()
	j, err := e.Mine(ctx, o)
	require.NoError(t, err)
	j = finished(t, e, j.ID)
	require.Equal(t, JobDone, j.State, j.Error)
	return j
}

func proposals(t testing.TB, e *Engine, state mine.State) []mine.Proposal {
	t.Helper()
	all, err := e.Proposals(ctx, state)
	require.NoError(t, err)
	return all
}

// What is approved is a capability of the catalog; what is rejected does not come back; what waits is
// there after a restart.
func TestProposalsAreDecidedByPeople(t *testing.T) {
	store := memory(t)
	w := NewWorkspaces(store, unlearned)
	e, err := w.Get(ctx, "default")
	require.NoError(t, err)
	routine(t, e, "a", 4, "x:read", "y:render", "z:publish")
	routine(t, e, "b", 4, "x:fetch", "y:check", "z:merge")
	j := mined(t, e, MineOptions{})
	require.Equal(t, 2, j.Mined.Proposed)
	assert.Equal(t, 16, j.Mined.Episodes)
	waiting := proposals(t, e, mine.Proposed)
	require.Len(t, waiting, 2)
	assert.Empty(t, e.Model().Capabilities(), "nothing is published by itself")

	yes, no := waiting[0], waiting[1]
	approved, seq, err := e.Approve(ctx, yes.ID, named("cap:weekly"), Approver)
	require.NoError(t, err)
	assert.Equal(t, mine.Approved, approved.State)
	require.NoError(t, e.Wait(ctx, seq))
	c, ok := e.Model().Capability("cap:weekly")
	require.True(t, ok)
	assert.Equal(t, yes.Capability.Tools, c.Tools)
	assert.Equal(t, []string{"mined"}, c.Tags)
	_, err = e.Reject(ctx, yes.ID, "")
	assert.ErrorContains(t, err, "remove capability")
	_, err = e.Reject(ctx, no.ID, "too simple")
	require.NoError(t, err)

	j = mined(t, e, MineOptions{})
	assert.Zero(t, j.Mined.Proposed)
	assert.Equal(t, 1, j.Mined.Decided, "the rejected one is found again; the approved one is no news")
	require.NoError(t, w.Close(ctx))

	w = NewWorkspaces(store, unlearned)
	t.Cleanup(func() { require.NoError(t, w.Close(ctx)) })
	e, err = w.Get(ctx, "default")
	require.NoError(t, err)
	assert.Empty(t, proposals(t, e, mine.Proposed))
	rejected := proposals(t, e, mine.Rejected)
	require.Len(t, rejected, 1)
	assert.Equal(t, "too simple", rejected[0].Reason)
	require.Len(t, proposals(t, e, mine.Approved), 1)
	_, _, err = e.Approve(ctx, rejected[0].ID, named(""), Untrusted)
	require.NoError(t, err, "a person may think again")
	require.Len(t, e.Quarantined(), 1, "who may not approve a capability does not publish one by way of a proposal")
	verify(t, e)
}

// What waits is what was found last.
func TestProposalsFollowTheHistory(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	routine(t, e, "a", 4, "x:read", "y:render", "z:publish")
	mined(t, e, MineOptions{})
	before := proposals(t, e, "")
	require.Len(t, before, 1)
	mined(t, e, MineOptions{Support: 5})
	assert.Empty(t, proposals(t, e, ""))
	mined(t, e, MineOptions{})
	assert.Equal(t, before, proposals(t, e, ""), "the same history gives the same proposals")
	for range 3 {
		mined(t, e, MineOptions{Least: 4})
	}
	assert.Empty(t, proposals(t, e, ""))
}

// What was proposed because of forgotten episodes is forgotten with them.
func TestProposalsAreForgotten(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	routine(t, e, "a", 4, "x:read", "y:render", "z:publish")
	routine(t, e, "b", 4, "x:fetch", "y:check", "z:merge")
	mined(t, e, MineOptions{})
	waiting := proposals(t, e, mine.Proposed)
	require.Len(t, waiting, 2)
	_, err := e.Reject(ctx, waiting[1].ID, "no")
	require.NoError(t, err)
	_, err = e.Forget(ctx, Selection{Source: "test"})
	require.NoError(t, err)
	left := proposals(t, e, "")
	require.Len(t, left, 1)
	assert.Equal(t, waiting[1].ID, left[0].ID)
	assert.Empty(t, left[0].Evidence.Examples)
	assert.Empty(t, left[0].Capability.Intent)
	assert.NotEmpty(t, left[0].Capability.Tasks)
}

// named gives a capability another id, if there is one.
func named(id string) func(*catalog.Capability) {
	return func(c *catalog.Capability) { c.ID = cmp.Or(id, c.ID) }
}
