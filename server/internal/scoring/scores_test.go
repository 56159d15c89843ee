package scoring

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
	"waymark/storage"
)

// Pages of the log of scores hold every run once, in the order of time, and forgetting takes exactly what is named.
func TestScoresPages(t *testing.T) {
	store := storage.NewMemory()
	defer store.Close()
	log := scoreLog{store.Table("w")}
	begin := time.Unix(1_800_000_000, 0)
	for i := range 7 {
		require.NoError(t, log.add(t.Context(), ScoreLog{Run: fmt.Sprint("r", i), Time: begin.Add(time.Duration(i) * time.Second), Scorer: fmt.Sprint("s", i%2), Source: "me"}))
	}
	runs := func(scorer string) (all []string) {
		for cursor := ""; ; {
			page, next, err := log.list(t.Context(), scorer, cursor, 2)
			require.NoError(t, err)
			for _, row := range page {
				all = append(all, row.Run)
			}
			if cursor = next; cursor == "" {
				return all
			}
		}
	}
	assert.Equal(t, []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6"}, runs(""))
	assert.Equal(t, []string{"r1", "r3", "r5"}, runs("s1"))
	_, _, err := log.list(t.Context(), "", "bm9uZQ%", 2)
	require.ErrorIs(t, err, api.ErrCursor)
	require.NoError(t, log.forget(t.Context(), "", "r3", begin.Add(2*time.Second)))
	assert.Equal(t, []string{"r2", "r4", "r5", "r6"}, runs(""))
}
