package suggest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Ranking what comes next allocates nothing once the working memory has met the model; the answer is
// what a question costs.
func TestRankingAllocatesNothing(t *testing.T) {
	m := sampleModel(t)
	context := []string{"metrics:list_alerts", "metrics:query_metrics"}
	found := 0
	allocs := testing.AllocsPerRun(100, func() {
		q, err := m.newQueryWithSignals(context, "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		found = len(q.best(5, q.passes))
		q.close()
	})
	require.Equal(t, 5, found)
	if !raceEnabled { // under the race detector a pool forgets on purpose
		require.Zero(t, allocs)
	}
}
