package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// Every row of the outcomes decides a recording: the tools before are recorded first, then those of again.
func TestOutcomesOfRecording(t *testing.T) {
	const source = "import:codex"
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	exercised := 0
	two, three := []string{"fs:read", "fs:write"}, []string{"fs:read", "fs:write", "ci:run"}
	for row, tt := range map[string]struct {
		before []string
		again  []string
		source string
		prior  func(*testing.T, *Engine)
		change func(*episodic.Episode)
	}{
		"a new id":           {again: two},
		"the recorded bytes": {before: two, again: two},
		"an erased episode": {before: two, again: three, prior: func(t *testing.T, e *Engine) {
			_, err := e.Forget(ctx, Selection{Episode: "first"})
			require.NoError(t, err)
		}},
		"the recorded content, or an earlier state": {before: three, again: two, source: "key:ann"},
		"a contradiction":                  {before: two, again: three, change: func(e *episodic.Episode) { e.Steps[1].Tool = "fs:list" }},
		"a later state":                    {before: two, again: three},
		"other steps, which cannot follow": {before: two, again: three, source: "key:ann"},
	} {
		t.Run(row, func(t *testing.T) {
			e := workspace(t, memory(t), Options{})
			if tt.before != nil {
				_, err := e.Record(ctx, source, telling(at, tt.before))
				require.NoError(t, err)
			}
			if tt.prior != nil {
				tt.prior(t, e)
			}
			again := telling(at, tt.again)
			if tt.change != nil {
				tt.change(&again[0])
			}
			if tt.source == "" {
				tt.source = source
			}
			counted := e.Counted()
			deciding := watchOutcomes(t)
			r, err := e.Record(ctx, tt.source, again)
			require.NoError(t, err)
			o, decided := deciding[row]
			require.True(t, decided, "decided by %v", deciding)
			written := o == taken || o == grown
			require.Equal(t, []bool{written, o == duplicate, o == conflict},
				[]bool{r.Accepted == 1, r.Duplicates == 1, len(r.Rejected) == 1 && r.Rejected[0].Conflict})
			require.Equal(t, written, e.Counted() > counted)
			exercised++
		})
	}
	require.Equal(t, len(outcomes), exercised, "a row has no example")
}

// watchOutcomes collects the rows that decide, until the test ends.
func watchOutcomes(t *testing.T) map[string]outcome {
	deciding := map[string]outcome{}
	for i := range outcomes {
		row := &outcomes[i]
		applies := row.applies
		t.Cleanup(func() { row.applies = applies })
		row.applies = func(s *standing) bool {
			if !applies(s) {
				return false
			}
			deciding[row.name] = row.outcome
			return true
		}
	}
	return deciding
}
