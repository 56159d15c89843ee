package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func workspace(t testing.TB, store *storage.Store, opts Options) *Engine {
	t.Helper()
	w := NewWorkspaces(store, opts)
	t.Cleanup(func() { require.NoError(t, w.Close(ctx)) })
	e, err := w.Get(ctx, "default")
	require.NoError(t, err)
	return e
}

func episode(id string, tools ...string) episodic.Episode {
	e := episodic.Episode{ID: id, Intent: "do " + id}
	for _, t := range tools {
		e.Steps = append(e.Steps, episodic.Step{Tool: t})
	}
	return e
}

func record(t testing.TB, e *Engine, episodes ...episodic.Episode) RecordResult {
	t.Helper()
	r, err := e.Record(ctx, "test", episodes)
	require.NoError(t, err)
	return r
}

func after(t testing.TB, e *Engine, seq uint64, tool string) []string {
	t.Helper()
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, e.Wait(wait, seq))
	a, err := e.Model().Next(suggest.NextRequest{Context: []string{tool}})
	require.NoError(t, err)
	ids := []string{}
	for _, s := range a.Suggestions {
		ids = append(ids, s.ID)
	}
	return ids
}

// verify fails the test if a replay of the log gives another model than the running one.
func verify(t testing.TB, e *Engine) VerifyReport {
	t.Helper()
	j := finish(t, e, true)
	require.Equal(t, JobDone, j.State, j.Error)
	require.NotNil(t, j.Verify)
	require.True(t, j.Verify.Equal, "differs in %v", j.Verify.Differences)
	return *j.Verify
}

func finish(t testing.TB, e *Engine, compare bool) Job {
	t.Helper()
	j, err := e.Rebuild(compare, false)
	require.NoError(t, err)
	return finished(t, e, j.ID)
}

// fill records a few hundred random episodes and a small catalog.
func fill(t testing.TB, e *Engine, seed uint64, episodes int) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 30 {
		_, err := e.PutTools(ctx, []catalog.Tool{{ID: fmt.Sprintf("s%d:tool_%d", i%5, i), Description: fmt.Sprintf("does thing %d of kind %d", i, i%5)}}, Approver)
		require.NoError(t, err)
	}
	_, err := e.PutCapabilities(ctx, []catalog.Capability{{ID: "cap:one", Tools: []string{"s0:tool_0", "s1:tool_1"}}, {ID: "cap:two", Tools: []string{"s2:tool_2", "s1:tool_1"}}}, Approver)
	require.NoError(t, err)
	for i := range episodes {
		ep := episodic.Episode{ID: fmt.Sprint("ep", seed, "-", i), Intent: fmt.Sprint("handle kind ", r.IntN(5))}
		ep.Time = time.Date(2026, 1, 1+r.IntN(90), 0, 0, 0, 0, time.UTC)
		for range 1 + r.IntN(6) {
			k := r.IntN(30)
			s := episodic.Step{Tool: fmt.Sprintf("s%d:tool_%d", k%5, k), Outcome: []episodic.Outcome{"", episodic.Success, episodic.Failure}[r.IntN(3)]}
			ep.Steps = append(ep.Steps, s)
		}
		record(t, e, ep)
	}
}

func TestAcknowledgedEpisodesCount(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	r := record(t, e, episode("1", "a", "b"))
	assert.Equal(t, 1, r.Accepted)
	assert.Equal(t, []string{"b"}, after(t, e, r.Seq, "a"))
}

// What is wrong with one item of a request is said with its line, and a spelling that a catalog explains since is no
// other tool. What else comes again is in [TestAgainstAMap].
func TestRedelivery(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	record(t, e, episode("1", "fs.read", "b"))
	r := record(t, e, episode("1", "a", "c"), episode("", "a"), episode("2", "x", "y"))
	assert.Equal(t, 1, r.Accepted)
	require.Len(t, r.Rejected, 2)
	assert.Contains(t, r.Rejected[0].Error, "other content")
	assert.Equal(t, []int{1, 2}, []int{r.Rejected[0].Line, r.Rejected[1].Line})
	_, err := e.PutTools(ctx, []catalog.Tool{{ID: "fs:read"}}, Approver)
	require.NoError(t, err)
	assert.Equal(t, 1, record(t, e, episode("1", "fs.read", "b")).Duplicates)
}

// The running model, a replay of its log, the same after a restart, twice in a row, on any number of
// cores: equal bytes.
func TestReplayEqualsTheRunningModel(t *testing.T) {
	store := memory(t)
	hashes := map[string]bool{}
	ws := NewWorkspaces(store, Options{})
	e, err := ws.Get(ctx, "default")
	require.NoError(t, err)
	fill(t, e, 1, 40)
	_, err = e.Build(ctx)
	require.NoError(t, err)
	record(t, e, episode("late", "s0:tool_0", "s3:tool_3")) // counted, not measured
	for _, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		v := verify(t, e)
		hashes[v.ReplayHash], hashes[v.RunningHash] = true, true
		runtime.GOMAXPROCS(before)
	}
	version := e.Model().Info().Version
	require.NoError(t, ws.Close(ctx))
	e = workspace(t, store, Options{})
	hashes[verify(t, e).ReplayHash] = true
	assert.Len(t, hashes, 1)
	assert.Equal(t, version, e.Model().Info().Version)
	assert.Equal(t, JobDone, finish(t, e, false).State)
	assert.NotEqual(t, version, e.Model().Info().Version, "a rebuild measures at another place of the log")
	verify(t, e)
}

// Builds start by themselves while others write; the result is still that of a replay.
func TestConcurrentWritersAndBuilds(t *testing.T) {
	e := workspace(t, memory(t), unlearned)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() { fill(t, e, seed, 25) })
	}
	for range 50 {
		_, err := e.Model().Next(suggest.NextRequest{Context: []string{"s0:tool_0"}, Intent: "thing"})
		assert.NoError(t, err)
	}
	wg.Wait()
	_, err := e.Build(ctx)
	require.NoError(t, err)
	assert.Equal(t, 100, int(e.Model().Stats().Episodes))
	verify(t, e)
}

func TestForget(t *testing.T) {
	store := memory(t)
	with, without := workspace(t, store, unlearned), workspace(t, memory(t), unlearned)
	for i := range 20 {
		record(t, with, episode(fmt.Sprint("keep", i), "a", "b", "c"))
		record(t, without, episode(fmt.Sprint("keep", i), "a", "b", "c"))
		_, err := with.Record(ctx, "spy", []episodic.Episode{episode(fmt.Sprint("drop", i), "a", "evil")})
		require.NoError(t, err)
	}
	r, err := with.Forget(ctx, Selection{Source: "spy"})
	require.NoError(t, err)
	assert.Equal(t, 20, r.Erased)
	answer := func(e *Engine) []suggest.Suggestion {
		_, err := e.Build(ctx)
		require.NoError(t, err)
		a, err := e.Model().Next(suggest.NextRequest{Context: []string{"a"}})
		require.NoError(t, err)
		return a.Suggestions
	}
	assert.Equal(t, answer(without), answer(with), "as if it had never been recorded")
	for item, err := range with.Items(ctx) {
		require.NoError(t, err)
		assert.NotContains(t, item.Episode.ID, "drop")
	}
	verify(t, with)
	assert.Equal(t, 1, record(t, with, episode("keep0", "a", "b", "c")).Duplicates)
	_, err = with.Forget(ctx, Selection{Source: "x", Episode: "y"})
	assert.ErrorContains(t, err, "exactly one")
	_, err = with.Forget(ctx, Selection{Episode: "nobody"})
	assert.ErrorContains(t, err, "nobody")
}

func TestWorkspacesAreIsolated(t *testing.T) {
	store := memory(t)
	w := NewWorkspaces(store, unlearned)
	defer func() { require.NoError(t, w.Close(ctx)) }()
	one, err := w.Open(ctx, "one")
	require.NoError(t, err)
	two, err := w.Open(ctx, "two")
	require.NoError(t, err)
	require.NoError(t, w.Create(ctx, "two"))
	empty := two.Model().Hash()
	record(t, one, episode("1", "secret:a", "secret:b"))
	assert.Equal(t, empty, two.Model().Hash())
	names, err := w.List(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, names)
	require.NoError(t, w.Delete(ctx, "one"))
	_, err = w.Get(ctx, "one")
	require.ErrorIs(t, err, ErrNoWorkspace)
	one, err = w.Open(ctx, "one")
	require.NoError(t, err)
	assert.Zero(t, one.Model().Stats().Episodes)
	_, err = w.Get(ctx, "../etc")
	assert.ErrorContains(t, err, "workspace")
}

// Whoever asks creates nothing; whoever records does, and the default workspace is always there.
func TestQuestionsCreateNoWorkspace(t *testing.T) {
	store := memory(t)
	w := NewWorkspaces(store, unlearned)
	defer func() { require.NoError(t, w.Close(ctx)) }()
	exists := w.Exists
	_, err := w.Get(ctx, "typo")
	require.ErrorIs(t, err, ErrNoWorkspace)
	assert.ErrorContains(t, err, `"typo"`)
	names, err := w.List(ctx)
	require.NoError(t, err)
	assert.Empty(t, names)
	assert.False(t, exists("typo"))

	assert.True(t, exists(DefaultWorkspace))
	require.NoError(t, w.Delete(ctx, DefaultWorkspace), "there is nothing in it")
	_, err = w.Get(ctx, DefaultWorkspace)
	require.NoError(t, err)

	_, err = w.Open(ctx, "written")
	require.NoError(t, err)
	require.NoError(t, w.Create(ctx, "made"))
	require.NoError(t, w.Create(ctx, "made"), "again")
	require.NoError(t, w.Create(ctx, "written"))
	assert.Error(t, w.Create(ctx, "../etc"))
	for _, name := range []string{"written", "made"} {
		assert.True(t, exists(name), name)
		_, err = w.Get(ctx, name)
		assert.NoError(t, err, name)
	}
	assert.Error(t, w.Delete(ctx, "typo"))
	assert.NotContains(t, w.slots, "typo", "no name that was asked for is kept")
}

func TestIntentsCanBeKeptOut(t *testing.T) {
	e := workspace(t, memory(t), Options{DropIntents: true})
	record(t, e, episode("1", "a"))
	perform(t, e, performed("e", 1, "a"))
	for item, err := range e.Items(ctx) {
		require.NoError(t, err)
		assert.Empty(t, item.Episode.Intent)
	}
}

func TestTheFutureIsRefused(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := workspace(t, memory(t), Options{Now: func() time.Time { return now }})
	ep := episode("1", "a")
	ep.Time = now.AddDate(10, 0, 0)
	assert.Contains(t, record(t, e, ep).Rejected[0].Error, "future")
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`E{"id":"1","steps":[{"tool":"a"}]}`, `T{"id":"a"}`, `R"a"`, `B{}`, `X{"seqs":[1]}`, `F{"id":"a"}`, ``, `?`, `E[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		kind, v, err := decode(payload)
		if err != nil {
			return
		}
		again, err := encode(kind, v)
		if err != nil {
			return // a value that was never stored, such as a year of five digits
		}
		k, _, err := decode(again)
		require.NoError(t, err)
		require.Equal(t, kind, k)
	})
}

// A workspace that nobody uses is closed, and answers the same when it is asked again; one with work under way and the
// default one stay.
func TestIdleWorkspacesAreUnloaded(t *testing.T) {
	w := NewWorkspaces(memory(t), unlearned)
	defer func() { require.NoError(t, w.Close(ctx)) }()
	idle, err := w.Open(ctx, "idle")
	require.NoError(t, err)
	fill(t, idle, 1, 20)
	_, err = idle.Build(ctx)
	require.NoError(t, err)
	settled(t, idle)
	want := idle.Model().Hash()
	home, err := w.Get(ctx, DefaultWorkspace)
	require.NoError(t, err)
	soon := time.Now().Add(time.Hour)

	w.UnloadIdle(time.Now().Add(-time.Hour))
	again, err := w.Get(ctx, "idle")
	require.NoError(t, err)
	require.Same(t, idle, again, "it was used within that time")

	release := idle.Hold()
	w.UnloadIdle(soon)
	release()
	again, err = w.Get(ctx, "idle")
	require.NoError(t, err)
	require.Same(t, idle, again, "an import is under way")
	require.Eventually(t, func() bool { return !idle.busy() }, patience, time.Millisecond)

	var asked sync.WaitGroup
	for range 8 { // whoever asks meanwhile waits for another engine
		asked.Go(func() {
			e, err := w.Get(ctx, "idle")
			if assert.NoError(t, err) {
				assert.Equal(t, want, e.Model().Hash())
			}
		})
	}
	w.UnloadIdle(soon)
	asked.Wait()
	w.UnloadIdle(soon)
	_, err = idle.Record(ctx, "test", []episodic.Episode{episode("late", "a", "b")})
	require.ErrorIs(t, err, ErrClosed)
	again, err = w.Get(ctx, "idle")
	require.NoError(t, err)
	assert.NotSame(t, idle, again)
	assert.Equal(t, want, again.Model().Hash())
	record(t, again, episode("late", "a", "b"))
	same, err := w.Get(ctx, DefaultWorkspace)
	require.NoError(t, err)
	assert.Same(t, home, same)
}
