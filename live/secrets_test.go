package live

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// Secrets of intents and errors are not stored, unless they are to be; an episode that was recorded with them is still
// the same one.
func TestSecretsAreNotStored(t *testing.T) {
	now := time.Date(2026, 8, 2, 12, 0, 0, 0, time.UTC)
	opts := Options{Measure: unlearned.Measure, Now: func() time.Time { return now }}
	keeping := opts
	keeping.KeepSecrets = true
	const secret = "hunter2hunter2"
	ep := episodic.Episode{ID: "e1", Session: "s", Intent: "log in with password=" + secret, Time: now.Add(-time.Hour),
		Steps: []episodic.Step{{Tool: "db:query", Outcome: episodic.Failure, Error: "postgres://me:" + secret + "@db refuses"}, {Tool: "db:close"}}}
	longest := ep
	longest.ID, longest.Intent = "e2", strings.Repeat("x", episodic.MaxIntent-len(" pwd=1234567a"))+" pwd=1234567a"
	stored := func(e *Engine) (text string) {
		for item, err := range e.Items(t.Context()) {
			require.NoError(t, err)
			if item.Episode != nil {
				text += item.Episode.Intent + "\n" + item.Episode.Steps[0].Error + "\n"
			}
		}
		return text
	}
	for name, first := range map[string]Options{"redacted": opts, "kept before": keeping} {
		store := memory(t)
		e := workspace(t, store, first)
		r, err := e.Record(t.Context(), "me", []episodic.Episode{ep, longest})
		require.NoError(t, err)
		require.Equal(t, 2, r.Accepted, name)
		assert.Equal(t, first.KeepSecrets, strings.Contains(stored(e), secret), name)
		assert.Equal(t, !first.KeepSecrets, strings.Contains(stored(e), "password=[redacted]"), name)
		for _, second := range []Options{opts, keeping} {
			e := workspace(t, store, second)
			r, err := e.Record(t.Context(), "me", []episodic.Episode{ep, longest})
			require.NoError(t, err)
			assert.Equal(t, 2, r.Duplicates, "%s: %v", name, r.Rejected)
			longer := ep
			longer.Steps = append(longer.Steps[:2:2], episodic.Step{Tool: "db:open"})
			r, err = e.Record(t.Context(), "other", []episodic.Episode{longer})
			require.NoError(t, err)
			assert.NotContains(t, r.Rejected[0].Error, secret, name)
		}
	}
}

func TestSecretsOfSingleStepsAreNotStored(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	_, err := e.Perform(t.Context(), "me", Performed{Label: "token=abcd1234efgh", Place: episodic.Place{Episode: "e", Intent: "use password=hunter2hunter2", Number: 1},
		Step: episodic.Step{ID: "1", Tool: "db:query", Outcome: episodic.Failure, Error: "token=abcd1234efgh"}})
	require.NoError(t, err)
	for item := range e.Items(t.Context()) {
		if ep := item.Episode; ep != nil {
			assert.Equal(t, [3]string{"use password=[redacted]", "token=[redacted]", "token=[redacted]"}, [3]string{ep.Intent, ep.Label, ep.Steps[0].Error})
		}
	}
}

// A secret that a cut goes through is not stored in part.
func TestSecretsAtTheCutAreNotStored(t *testing.T) {
	now := time.Date(2026, 8, 2, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("y", 1001)
	ep := func(said string) []episodic.Episode {
		return []episodic.Episode{{ID: "e", Time: now.Add(-time.Hour), Steps: []episodic.Step{{Tool: "db:query", Outcome: episodic.Failure, Error: said}}}}
	}
	e := workspace(t, memory(t), Options{Measure: unlearned.Measure, Now: func() time.Time { return now }})
	r, err := e.Record(t.Context(), "me", ep(long+" AKIA"+"IOSFODNN7EXAMPLE zzz"))
	require.NoError(t, err)
	assert.Empty(t, r.Rejected)
	for item := range e.Items(t.Context()) {
		if item.Episode != nil {
			assert.Equal(t, long+" [redacted] zzz", item.Episode.Steps[0].Error)
		}
	}
	r, err = e.Record(t.Context(), "me", ep(long+" other"))
	require.NoError(t, err)
	assert.Len(t, r.Rejected, 1, "another text is another one")
}
