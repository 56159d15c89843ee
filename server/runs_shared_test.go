package server

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/run"
	"waymark/storage"
)

// sharing makes servers that share a store.
func sharing(t testing.TB, n int) (servers []web, benches []*bench) {
	engine := sharedMemory{storage.MemoryEngine()}
	t.Cleanup(func() { assert.NoError(t, engine.Engine.Close()) })
	stores := make([]*storage.Store, n)
	for i := range stores {
		var err error
		stores[i], err = storage.New(t.Context(), engine, storage.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, stores[i].Close()) })
	}
	first, d := newBench(t, func(c *Config) {
		c.Store, c.Workspaces, c.Drain = stores[0], live.NewWorkspaces(stores[0], live.Options{}), 20*time.Millisecond
	})
	servers, benches = append(servers, first), append(benches, d)
	for _, store := range stores[1:] {
		d, cfg := &bench{}, first.cfg
		cfg.Store, cfg.Workspaces, cfg.Caller = store, live.NewWorkspaces(store, live.Options{}), d
		s, err := New(cfg)
		require.NoError(t, err)
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(func() {
			ts.Close()
			s.Close()
			assert.NoError(t, cfg.Workspaces.Close(context.Background()))
		})
		servers, benches = append(servers, web{Server: s, t: t, url: ts.URL}), append(benches, d)
	}
	return servers, benches
}

// sharedMemory is a memory that several stores use as processes use a database.
type sharedMemory struct{ storage.Engine }

func (sharedMemory) Shared() bool { return true }
func (sharedMemory) Close() error { return nil }

const closeTwo = `{"dag":{"tasks":[{"id":"a","tool":"issue:close","arguments":{"issue_number":1}},{"id":"b","tool":"issue:close","arguments":{"issue_number":2}}]}}`

// becomes waits until a server says that a run stands so, with so many nodes waiting.
func (w web) becomes(id string, state run.State, waiting int) (s run.Status) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		s = parse[run.Status](w.t, 200, w.ask("GET", "/v1/runs/"+id, ""))
		return s.State == state && len(s.Waiting) == waiting
	}, time.Minute, 5*time.Millisecond, "run %s: %+v", id, &s)
	return s
}

// A server that ends leaves its runs to the others, with what was decided about them meanwhile. Only a call in flight is
// interrupted.
func TestRunsAreTakenOver(t *testing.T) {
	servers, benches := sharing(t, 3)
	a := servers[0]
	inFlight := make(chan struct{})
	benches[0].answers["issue:show"] = func(ctx context.Context, _ run.Call) (run.Result, error) {
		close(inFlight)
		<-ctx.Done()
		return run.Result{}, ctx.Err()
	}
	waits := parse[run.Status](t, 202, a.ask("POST", "/v1/runs", closeTwo))
	calls := parse[run.Status](t, 202, a.ask("POST", "/v1/runs", `{"capability":"show-first","params":{"words":"x"}}`))
	<-inFlight
	servers[1].becomes(waits.ID, run.Paused, 2)
	a.Close()
	for _, w := range servers {
		s := w.becomes(waits.ID, run.Paused, 2)
		assert.Contains(t, s.Warnings[0], "goes on when a server starts")
	}
	s := parse[run.Status](t, 202, servers[1].ask("POST", "/v1/runs/"+waits.ID+"/approve", `{"nodes":["b"]}`))
	assert.Equal(t, []string{"a"}, s.Waiting)

	for _, w := range servers[1:] {
		w.runs.Start(t.Context())
	}
	by := func(id string) int {
		return slices.IndexFunc(servers, func(w web) bool { return w.runs.GoesOn("default", id) })
	}
	require.Eventually(t, func() bool { return by(waits.ID) > 0 && by(calls.ID) > 0 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return len(slices.Concat(benches[1].tools(), benches[2].tools())) > 0 }, time.Minute, time.Millisecond)
	for _, w := range servers[1:] {
		s := w.becomes(waits.ID, run.Paused, 1)
		assert.Equal(t, run.NodeDone, s.Nodes[1].State)
		s = w.becomes(calls.ID, run.Paused, 1)
		assert.Equal(t, run.NodeInterrupted, s.Nodes[1+slices.IndexFunc(s.Nodes, func(n run.Node) bool { return n.Tool == "issue:find" })].State)
	}
	for _, id := range []string{waits.ID, calls.ID} {
		parse[run.Status](t, 202, servers[3-by(id)].ask("POST", "/v1/runs/"+id+"/approve", ""))
		for _, w := range servers {
			w.becomes(id, run.Done, 0)
		}
	}
	assert.Len(t, slices.Concat(benches[1].tools(), benches[2].tools()), 3)
	assert.Equal(t, []string{"issue:find", "issue:show"}, benches[0].tools())
}

// A server that was thought to have ended makes no further call of a run that another one has taken over.
func TestARunTakenOverIsLeft(t *testing.T) {
	servers, benches := sharing(t, 2)
	a, b := servers[0], servers[1]
	begun := parse[run.Status](t, 202, a.ask("POST", "/v1/runs", closeTwo))
	b.becomes(begun.ID, run.Paused, 2)
	rows := 0
	for row, err := range a.cfg.Store.Table("default").List(t.Context(), "runs-open/") {
		require.NoError(t, err)
		rows++
		j := live.Runs{Table: a.cfg.Store.Table("default")}
		require.NoError(t, j.SetOwner(t.Context(), begun.ID, live.RunOwner{Server: "gone", Version: row.Version}))
	}
	require.Equal(t, 1, rows)
	one, ok := a.runs.Find("default", begun.ID)
	require.True(t, ok)
	require.NoError(t, one.Decide([]string{"a"}, true)) // before it notices
	<-one.Over()
	assert.Empty(t, benches[0].tools())
	b.runs.Resume(t.Context())
	require.True(t, b.runs.GoesOn("default", begun.ID))
	b.becomes(begun.ID, run.Paused, 2)
	parse[run.Status](t, 202, b.ask("POST", "/v1/runs/"+begun.ID+"/approve", ""))
	assert.Equal(t, run.Done, b.becomes(begun.ID, run.Done, 0).State)
	assert.Len(t, benches[1].tools(), 2)

	begun = parse[run.Status](t, 202, a.ask("POST", "/v1/runs", closeTwo))
	b.becomes(begun.ID, run.Paused, 2)
	owner, err := live.Runs{Table: a.cfg.Store.Table("default")}.Owner(t.Context(), begun.ID)
	require.NoError(t, err)
	require.NoError(t, a.cfg.Store.System().Release(t.Context(), "server/"+owner.Server)) // as after a pause of the process
	b.runs.Resume(t.Context())
	require.True(t, b.runs.GoesOn("default", begun.ID))
	a.runs.Resume(t.Context())
	require.Eventually(t, func() bool { return !a.runs.GoesOn("default", begun.ID) }, time.Minute, time.Millisecond)
	b.becomes(begun.ID, run.Paused, 2)
	assert.Empty(t, benches[0].tools())
}
