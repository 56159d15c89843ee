package server

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/runs"
	"waymark/storage"
)

// sharing makes servers that share a store.
func sharing(t testing.TB, n int) (servers []web, benches []*bench) {
	engine := sharedMemory{storage.MemoryEngine()}
	t.Cleanup(func() { assert.NoError(t, engine.Engine.Close()) })
	stores := make([]*storage.Store, n)
	for i := range stores {
		stores[i] = storeOf(t, engine)
	}
	first, d := newBench(t, func(c *Config) {
		c.Store, c.Workspaces, c.Drain = stores[0], live.NewWorkspaces(stores[0], unlearned), 20*time.Millisecond
	})
	servers, benches = append(servers, first), append(benches, d)
	for _, store := range stores[1:] {
		d, cfg := &bench{}, first.cfg
		cfg.Store, cfg.Workspaces, cfg.Caller = store, live.NewWorkspaces(store, unlearned), d
		s, err := New(cfg)
		require.NoError(t, err)
		t.Cleanup(func() {
			s.Close()
			assert.NoError(t, cfg.Workspaces.Close(context.Background()))
		})
		servers, benches = append(servers, webOf(t, s)), append(benches, d)
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

// takenOver lets a server resume runs until it has taken over one whose server has ended: it reads only a few times a second
// what others wrote.
func takenOver(t *testing.T, w web, id, from string) {
	require.Eventually(t, func() bool {
		w.runs.Resume(t.Context())
		return ownerOf(t, w, id) != from
	}, time.Minute, 20*time.Millisecond)
}

func ownerOf(t *testing.T, w web, id string) string {
	o, err := runs.Journal{Table: w.cfg.Store.Table("default")}.Owner(t.Context(), id)
	require.NoError(t, err)
	return o.Server
}

// A run that waits is approved at any server, which goes on with it. One that is carried out is taken over when its server
// ends: only a call in flight is interrupted.
func TestRunsGoOnAnywhere(t *testing.T) {
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
	for _, w := range servers {
		s := w.becomes(waits.ID, run.Paused, 2)
		assert.JSONEq(t, `{"issue_number":1}`, string(s.Nodes[0].Arguments), "who decides sees what about")
	}
	s := servers[1].becomes(calls.ID, run.Running, 0)
	assert.Contains(t, s.Warnings[0], "another server")
	requireProblem(t, 409, "carried out by another server", servers[1].ask("POST", "/v1/runs/"+calls.ID+"/approve", ""))
	parse[run.Status](t, 202, servers[1].ask("POST", "/v1/runs/"+waits.ID+"/approve", `{"nodes":["b"]}`))
	for _, w := range servers {
		s := w.becomes(waits.ID, run.Paused, 1)
		assert.Equal(t, run.NodeDone, s.Nodes[1].State)
	}
	owner := ownerOf(t, a, calls.ID)
	a.Close()
	assert.Contains(t, servers[2].becomes(calls.ID, run.Paused, 0).Warnings[0], "goes on when a server starts")
	takenOver(t, servers[2], calls.ID, owner)
	s = servers[1].becomes(calls.ID, run.Paused, 1)
	assert.Equal(t, run.NodeInterrupted, s.Nodes[1+slices.IndexFunc(s.Nodes, func(n run.Node) bool { return n.Tool == "issue:find" })].State)
	for i, id := range []string{waits.ID, calls.ID} {
		parse[run.Status](t, 202, servers[1+i].ask("POST", "/v1/runs/"+id+"/approve", ""))
		for _, w := range servers {
			w.becomes(id, run.Done, 0)
		}
	}
	assert.Len(t, slices.Concat(benches[1].tools(), benches[2].tools()), 3)
	assert.Equal(t, []string{"issue:find", "issue:show"}, benches[0].tools())
}

// A server that was thought to have ended keeps nothing of a run that another one has taken over; a run is cancelled at any
// server.
func TestARunTakenOverIsLeft(t *testing.T) {
	servers, benches := sharing(t, 2)
	a, b := servers[0], servers[1]
	inFlight, release := make(chan struct{}), make(chan struct{})
	benches[0].answers["issue:show"] = func(context.Context, run.Call) (run.Result, error) {
		inFlight <- struct{}{}
		<-release
		return run.Result{}, nil
	}
	const two = `{"dag":{"tasks":[{"id":"a","tool":"issue:show","arguments":{"issue_number":1}},{"id":"b","tool":"issue:find","arguments":{"query":"x"},"depends_on":["a"]}]}}`
	begun := parse[run.Status](t, 202, a.ask("POST", "/v1/runs", two))
	<-inFlight
	owner := ownerOf(t, a, begun.ID)
	require.NoError(t, a.cfg.Store.System().Release(t.Context(), "server/"+owner)) // as after a pause of the process
	takenOver(t, b, begun.ID, owner)
	b.becomes(begun.ID, run.Paused, 1)
	release <- struct{}{}
	require.Eventually(t, func() bool { return !a.runs.GoesOn("default", begun.ID) }, time.Minute, time.Millisecond)
	assert.Equal(t, []string{"issue:show"}, benches[0].tools())
	a.becomes(begun.ID, run.Paused, 1) // it reads what the other one wrote a little later
	parse[run.Status](t, 202, a.ask("POST", "/v1/runs/"+begun.ID+"/approve", ""))
	<-inFlight
	s := parse[run.Status](t, 202, b.ask("POST", "/v1/runs/"+begun.ID+"/cancel", ""))
	assert.Empty(t, s.Output)
	b.becomes(begun.ID, run.Canceled, 0)
	release <- struct{}{}
	assert.Equal(t, []string{"issue:show", "issue:show"}, benches[0].tools())
	assert.Empty(t, benches[1].tools())
	require.Eventually(t, func() bool { return !a.runs.GoesOn("default", begun.ID) }, time.Minute, time.Millisecond)
	a.becomes(begun.ID, run.Canceled, 0)
}
