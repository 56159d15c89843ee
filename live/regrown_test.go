package live

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// telling is a session as a transcript has it by now: each of its episodes with so many tools.
func telling(at time.Time, tools ...[]string) (all []episodic.Episode) {
	for i, names := range tools {
		ep := episodic.Episode{ID: []string{"first", "second"}[i], Session: "s", Intent: "ask", Time: at.Add(time.Duration(i) * time.Minute)}
		for _, name := range names {
			ep.Steps = append(ep.Steps, episodic.Step{Tool: name, Outcome: episodic.Success})
		}
		all = append(all, ep)
	}
	return all
}

// A transcript that is imported while its session goes on gives, imported again, what the whole of it gives.
func TestTranscriptThatGrows(t *testing.T) {
	now := time.Date(2026, 8, 2, 12, 0, 0, 0, time.UTC)
	var later atomic.Int64 // read by builds behind
	opts := Options{Measure: unlearned.Measure, Now: func() time.Time { return now.Add(time.Duration(later.Load())) }}
	const source = "import:claude-code"
	at := now.Add(-time.Hour)
	whole := telling(at, []string{"fs:read", "fs:write"}, []string{"git:diff", "git:add", "git:commit", "ci:run"})
	whole[1].Steps[1].Group, whole[1].Steps[2].Group = "1", "1"
	whole[1].Outcome = episodic.Success
	part := func(episodes, steps int) []episodic.Episode {
		all := append([]episodic.Episode{}, whole[:episodes]...)
		last := &all[episodes-1]
		last.Steps, last.Outcome = last.Steps[:steps], ""
		return all
	}
	e := workspace(t, memory(t), opts)
	for _, tt := range []struct {
		name                 string
		episodes             []episodic.Episode
		accepted, duplicates int
	}{
		{"in the first", part(1, 1), 1, 0},
		{"the same", part(1, 1), 0, 1},
		{"in the second", part(2, 2), 2, 0},
		{"less than before", part(2, 1), 0, 2},
		{"further", part(2, 3), 1, 1},
		{"all", whole, 1, 1},
		{"all again", whole, 0, 2},
	} {
		r, err := e.Record(ctx, source, tt.episodes)
		require.NoError(t, err)
		assert.Empty(t, r.Rejected, tt.name)
		assert.Equal(t, []int{tt.accepted, tt.duplicates}, []int{r.Accepted, r.Duplicates}, tt.name)
		require.NoError(t, e.Wait(ctx, r.Seq))
	}
	other := workspace(t, memory(t), opts)
	_, err := other.Record(ctx, "another", whole)
	require.NoError(t, err)
	assert.Equal(t, exported(t, other), exported(t, e))
	verify(t, e)

	later.Store(int64(48 * time.Hour)) // long over
	r, err := e.Record(ctx, source, whole)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Duplicates, r.Rejected)
	changed := telling(at, []string{"fs:read", "fs:list"})
	r, err = e.Record(ctx, source, changed)
	require.NoError(t, err)
	require.Len(t, r.Rejected, 1, "it goes on in another way")
	assert.Contains(t, r.Rejected[0].Error, `episode "first": the tool of step 2 is "fs:list", recorded is "fs:write"`)
}

// What is no later state of what is recorded is refused, and the error says where they differ.
func TestEpisodeThatContradictsWhatIsRecorded(t *testing.T) {
	const source = "import:codex"
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, source string
		change       func(*episodic.Episode)
		want         string
	}{
		{"another tool", source, func(e *episodic.Episode) { e.Steps[1].Tool = "fs:list" }, `the tool of step 2 is "fs:list", recorded is "fs:write"`},
		{"another outcome", source, func(e *episodic.Episode) { e.Steps[0].Outcome = episodic.Failure }, `the outcome of step 1 is "failure", recorded is "success"`},
		{"another request", source, func(e *episodic.Episode) { e.Intent = "something else" }, "the intent differs"},
		{"another time", source, func(e *episodic.Episode) { e.Time = at.Add(time.Hour) }, "its time is 2026-03-02T13:00:00Z, recorded is 2026-03-02T12:00:00Z"},
		{"another reporter", "key:ann", func(*episodic.Episode) {}, `3 steps reported by "key:ann", recorded are 2 by "import:codex"`},
		{"no session", source, func(e *episodic.Episode) { e.Session = "" }, "3 steps reported by"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := workspace(t, memory(t), unlearned)
			_, err := e.Record(ctx, source, telling(at, []string{"fs:read", "fs:write"}))
			require.NoError(t, err)
			again := telling(at, []string{"fs:read", "fs:write", "ci:run"})
			tt.change(&again[0])
			counted := e.Counted()
			r, err := e.Record(ctx, tt.source, again)
			require.NoError(t, err)
			require.Len(t, r.Rejected, 1)
			require.True(t, r.Rejected[0].Conflict)
			require.Contains(t, r.Rejected[0].Error, `episode "first": `+tt.want)
			require.Equal(t, counted, e.Counted(), "nothing is written")
		})
	}
}
