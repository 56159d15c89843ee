package live

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
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
	opts := Options{Now: func() time.Time { return now.Add(time.Duration(later.Load())) }}
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

// An episode grows whatever its age, from every state in which it can be recorded, and through a restart.
func TestTranscriptGrowsAtAnyAge(t *testing.T) {
	now := time.Date(2026, 8, 2, 12, 0, 0, 0, time.UTC)
	opts := Options{Now: func() time.Time { return now }}
	const source = "import:claude-code"
	key := episodic.DigestKey{1}
	whole := telling(now.AddDate(0, -3, 0), []string{"fs:read", "fs:write"}, []string{"git:diff", "git:add", "git:commit", "git:diff", "ci:run"})
	whole[1].Steps[1].Group, whole[1].Steps[2].Group = "1", "1"
	whole[1].Steps[0].Outputs = key.Digests([]byte(`{"branch":"feature-17"}`))
	whole[1].Steps[4].Inputs = key.Digests([]byte(`{"ref":"feature-17"}`))
	whole[1].Steps[3].Outcome, whole[1].Steps[3].ErrorKind = episodic.Failure, "timeout"
	whole[1].Outcome = episodic.Success
	head := func(steps int) []episodic.Episode {
		part := slices.Clone(whole)
		part[1].Steps, part[1].Outcome = part[1].Steps[:steps], ""
		return part
	}
	other := workspace(t, memory(t), opts)
	_, err := other.Record(ctx, source, whole)
	require.NoError(t, err)

	for _, parts := range [][]int{{1}, {2}, {3}, {4}, {1, 2, 3, 4}, {2, 4}} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			store := memory(t)
			ws := NewWorkspaces(store, opts)
			t.Cleanup(func() { require.NoError(t, ws.Close(ctx)) }) // the last one
			e, err := ws.Get(ctx, "default")
			require.NoError(t, err)
			_, err = e.PutCapabilities(ctx, []catalog.Capability{{ID: "commit", Tools: []string{"git:add", "git:commit"}}})
			require.NoError(t, err)
			for i, n := range parts {
				r, err := e.Record(ctx, source, head(n))
				require.NoError(t, err)
				require.Empty(t, r.Rejected)
				require.Equal(t, map[bool]int{true: 2, false: 1}[i == 0], r.Accepted)
				require.NoError(t, ws.Close(ctx)) // a restart
				ws = NewWorkspaces(store, opts)
				e, err = ws.Get(ctx, "default")
				require.NoError(t, err)
			}
			for _, want := range [][2]int{{1, 1}, {0, 2}} {
				r, err := e.Record(ctx, source, whole)
				require.NoError(t, err)
				require.Empty(t, r.Rejected)
				require.Equal(t, want, [2]int{r.Accepted, r.Duplicates})
			}
			r, err := e.Record(ctx, source, head(2)) // an older copy of the file
			require.NoError(t, err)
			require.Equal(t, 2, r.Duplicates, r.Rejected)
			require.Equal(t, exported(t, other), exported(t, e))
			require.Equal(t, 2, e.Model().Stats().Episodes)
			var all []episodic.Episode
			for it, err := range e.Items(ctx) {
				require.NoError(t, err)
				if it.Episode != nil {
					all = append(all, *it.Episode)
				}
			}
			require.Len(t, all, 2)
			require.Equal(t, whole[1].Steps[4].Inputs, all[1].Steps[4].Inputs)
			for i := range all {
				require.True(t, e.alike(e.Model(), &all[i], normal(t, source, whole[i])), all[i])
			}
			verify(t, e)

			_, err = e.Forget(ctx, Selection{Episode: "second"})
			require.NoError(t, err)
			for ev, err := range e.read(ctx, 0) {
				require.NoError(t, err)
				require.NotContains(t, string(ev.Payload), "git:diff", "nothing of it stays in the log")
			}
			r, err = e.Record(ctx, source, whole)
			require.NoError(t, err)
			require.Len(t, r.Rejected, 1)
			require.Contains(t, r.Rejected[0].Error, `episode "second" was erased`)
			verify(t, e)
		})
	}
}

// normal is an episode as it is stored.
func normal(t *testing.T, source string, ep episodic.Episode) *episodic.Episode {
	t.Helper()
	ep.Source, ep.Steps = source, slices.Clone(ep.Steps)
	require.NoError(t, ep.Normalise())
	return &ep
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
			e := workspace(t, memory(t), Options{})
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

// An episode grows also when thousands of others grew since: a state keeps only the newest ones whole.
func TestTranscriptGrowsAfterThousandsOfOthers(t *testing.T) {
	const source = "import:claude-code"
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	e := workspace(t, memory(t), Options{})
	grow := func(steps int) RecordResult {
		r, err := e.Record(ctx, source, telling(at, []string{"fs:read", "fs:write", "ci:run"}[:steps]))
		require.NoError(t, err)
		require.Empty(t, r.Rejected)
		require.Equal(t, 1, r.Accepted)
		return r
	}
	grow(1)
	grow(2)
	require.NoError(t, e.do(ctx, func(w *writer) {
		for i := range 5000 { // what a log with as many open episodes leaves behind
			w.state.Begin(&episodic.Episode{ID: fmt.Sprint("other ", i)})
		}
		require.Nil(t, w.state.Grown("first"))
	}))
	r := grow(3)
	require.Contains(t, after(t, e, r.Seq, "fs:write"), "ci:run")
	require.Equal(t, 1, e.Model().Stats().Episodes)
	verify(t, e)
}

// A process that ends after the beginning of an episode leaves it to the next import.
func TestTranscriptWithABeginningAlone(t *testing.T) {
	now := time.Date(2026, 8, 2, 12, 0, 0, 0, time.UTC)
	e := workspace(t, memory(t), Options{Now: func() time.Time { return now }})
	eps := telling(now.Add(-time.Hour), []string{"fs:read", "fs:write"})
	ep := eps[0]
	ep.Source = "import:codex"
	require.NoError(t, ep.Normalise())
	_, err := e.appendOne(ctx, func(w *writer) (entry, bool, error) {
		head := ep
		head.Steps = nil
		payload, err := encode(kindBegun, begun{head})
		return entry{kindBegun, "episode/" + ep.ID, payload, &begun{head}, nil}, true, err
	})
	require.NoError(t, err)
	r, err := e.Record(ctx, "import:codex", eps)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Accepted, r.Rejected)
	assert.Contains(t, after(t, e, r.Seq, "fs:read"), "fs:write")
}
