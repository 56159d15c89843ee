package scoring

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/storage"
)

// Pages of the log of scores hold every run once, in the order of time, and forgetting takes exactly what is named.
func TestScoresPages(t *testing.T) {
	store := storage.NewMemory()
	defer store.Close()
	c, ctx := &Service{Store: store}, api.With(t.Context(), api.Access{Workspace: "w", Source: "me"})
	begin := time.Unix(1_800_000_000, 0)
	for i := range 7 {
		require.NoError(t, c.logScores(ctx, api.From(ctx), fmt.Sprint("r", i), fmt.Sprint("s", i%2), begin.Add(time.Duration(i)*time.Second), score.Answer{}))
	}
	runs := func(scorer string) (all []string) {
		for cursor := ""; ; {
			page, err := c.listScores(ctx, &scoreLogQuery{scorer, 2, cursor})
			require.NoError(t, err)
			for _, row := range page.Scores {
				all = append(all, row.Run)
			}
			if cursor = page.NextCursor; cursor == "" {
				return all
			}
		}
	}
	assert.Equal(t, []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6"}, runs(""))
	assert.Equal(t, []string{"r1", "r3", "r5"}, runs("s1"))
	_, err := c.listScores(ctx, &scoreLogQuery{"", 2, "bm9uZQ%"})
	require.ErrorIs(t, err, api.ErrCursor)
	require.NoError(t, c.Forget(ctx, live.Selection{Episode: "r3", Before: begin.Add(2 * time.Second)}))
	assert.Equal(t, []string{"r2", "r4", "r5", "r6"}, runs(""))
}
