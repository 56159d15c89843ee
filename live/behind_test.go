package live

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/suggest"
	"waymark/suggest/history"
)

// While a build is under way, what is acknowledged counts in answers all the same, and the engine says what does
// not, since when and why.
func TestAnswersDoNotWaitForABuild(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 8)
	var slow atomic.Bool
	e := workspace(t, memory(t), Options{Measure: unlearned.Measure, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if slow.Load() {
			began <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return suggest.Measure(ctx, c, o)
	}})
	_, err := e.Build(ctx)
	require.NoError(t, err)
	record(t, e, episode("1", "a:read", "b:write"))
	settled(t, e)
	behind := e.Behind()
	require.Nil(t, behind, "%v", behind)

	slow.Store(true)
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "mail:send", Description: "Sends the post."}}, Approver)
	require.NoError(t, err)
	<-began
	put, err := e.PutTools(ctx, []catalog.Tool{{ID: "lamp:dim", Description: "Dims the lanterns."}}, Approver)
	require.NoError(t, err)
	r := record(t, e, episode("2", "a:read", "pager:page_owner"))
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, e.Wait(wait, max(put.Seq, r.Seq)))
	for query, want := range map[string]string{"send post": "mail:send", "dim the lanterns": "lamp:dim", "page the owner": "pager:page_owner", "page_owner": "pager:page_owner"} {
		a, err := e.Model().Search(suggest.SearchRequest{Query: query})
		require.NoError(t, err)
		require.NotEmpty(t, a.Results, query)
		assert.Equal(t, want, a.Results[0].ID, query)
	}
	behind = e.Behind()
	require.NotNil(t, behind)
	assert.Equal(t, 3, behind.Events, "the build under way is not published yet")
	assert.Contains(t, behind.String(), "a build is under way since")
	why, err := e.Explain(e.Model(), suggest.ExplainRequest{ID: "pager:page_owner", Intent: "page the owner"})
	require.NoError(t, err)
	assert.NotEqual(t, suggest.AbsentNoSignal, why.Absent)
	require.Len(t, why.Staleness, 2)
	assert.Contains(t, why.Staleness[0], "met after the last build")
	close(release)
	settled(t, e)
	behind = e.Behind()
	assert.Nil(t, behind, "%v", behind)
}

// A build that failed, if by a panic, is said so and tried again when new tools come.
func TestABuildThatFailedIsTriedAgainAtTheNextChange(t *testing.T) {
	var failing atomic.Bool
	e := workspace(t, memory(t), Options{Measure: unlearned.Measure, measure: func(ctx context.Context, c *history.Counts, o suggest.MeasureOptions) (*suggest.Measures, error) {
		if failing.Load() {
			panic("measured to fail")
		}
		return suggest.Measure(ctx, c, o)
	}})
	failing.Store(true)
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "a:one", Description: "Does one thing."}}, Approver)
	require.NoError(t, err)
	_, err = e.Build(ctx)
	require.ErrorContains(t, err, "measured to fail")
	settled(t, e)
	behind := e.Behind()
	require.Contains(t, behind.String(), "the last build failed")
	failing.Store(false)
	_, err = e.PutTools(ctx, []catalog.Tool{{ID: "a:two", Description: "Does another thing."}}, Approver)
	require.NoError(t, err)
	settled(t, e)
	behind = e.Behind()
	assert.Nil(t, behind, "%v", behind)
}
