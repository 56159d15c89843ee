package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/request"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// ownLink is the connection of one replica to a log in memory: what fails is the log, or leases alone.
type ownLink struct {
	slowLink
	leases   eventlog.Log
	noLeases atomic.Bool
}

func (l *ownLink) Lease(ctx context.Context, name string, ttl time.Duration) (uint64, error) {
	if l.down.Load() || l.noLeases.Load() {
		return 0, context.DeadlineExceeded
	}
	return l.leases.Lease(ctx, name, ttl)
}

// calls counts the calls of each node, over all replicas.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) Call(ctx context.Context, call run.Call) (run.Result, error) {
	var a struct{ Node string }
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return run.Result{}, err
	}
	c.mu.Lock()
	c.n[call.Tool+" "+a.Node]++
	c.mu.Unlock()
	time.Sleep(5 * time.Second)
	return run.Result{Structured: fmt.Appendf(nil, `{"node":%q}`, a.Node)}, nil
}

// takenOverDAG is a chain of reads, which may be repeated, and notes, which may not.
func takenOverDAG() run.Request {
	q := run.Request{}
	for i := range 8 {
		t := catalog.Task{ID: fmt.Sprint("t", i), Tool: []string{"note:read", "note:add"}[i%2], Arguments: map[string]json.RawMessage{"node": fmt.Appendf(nil, `"t%d"`, i)}}
		if i > 0 {
			t.Arguments["before"] = fmt.Appendf(nil, `{"$from":"t%d.result.node"}`, i-1)
		}
		q.DAG.Tasks = append(q.DAG.Tasks, t)
	}
	return q
}

// A replica ends, is cut off, or only loses its lease, at any moment of a run: another takes the run over, no call that
// may do harm twice is made twice, and the run ends or asks a person.
func TestRunsAreTakenOver(t *testing.T) {
	for _, fault := range []string{"closed", "cut off", "lease lost"} {
		for at := range 4 {
			t.Run(fmt.Sprint(fault, " ", at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { takeOver(t, fault, time.Duration(at)*3700*time.Millisecond) })
			})
		}
	}
}

func takeOver(t *testing.T, fault string, after time.Duration) {
	store := storage.NewMemory()
	log, made := eventlog.NewLocal(store), &calls{n: map[string]int{}}
	var replicas []*Server
	var links []*ownLink
	for range 2 {
		l := &ownLink{slowLink: slowLink{Log: log}, leases: eventlog.NewLocal(store)}
		shared, err := eventlog.Share(t.Context(), storage.NewMemory(), l, live.Format)
		require.NoError(t, err)
		w := live.NewWorkspaces(shared, live.Options{Shared: l})
		s, err := New(Config{Store: shared, Workspaces: w, Caller: made})
		require.NoError(t, err)
		replicas, links = append(replicas, s), append(links, l)
		defer func() {
			s.Close()
			require.NoError(t, w.Close(context.Background()))
			shared.Leave()
		}()
	}
	a, b := replicas[0], replicas[1]
	e := defaultEngine(t, a)
	yes, no := true, false
	r, err := e.PutTools(t.Context(), []catalog.Tool{{ID: "note:add", Annotations: &catalog.Annotations{Destructive: &no}}, {ID: "note:read", Annotations: &catalog.Annotations{ReadOnly: &yes}}})
	require.NoError(t, err)
	for _, s := range replicas {
		require.NoError(t, defaultEngine(t, s).Wait(t.Context(), r.Seq))
		s.runs.Start(t.Context())
	}
	begun, err := a.runs.Begin(t.Context(), request.Access{Workspace: request.DefaultWorkspace, Scopes: request.AllScopes, Source: "test"}, takenOverDAG(), false, "")
	require.NoError(t, err)
	time.Sleep(after)
	switch fault {
	case "closed":
		a.runs.Close()
	case "cut off":
		links[0].down.Store(true)
	case "lease lost":
		links[0].noLeases.Store(true)
	}
	var status run.Status
	for range 60 {
		time.Sleep(2 * time.Second)
		status, err = b.runs.Status(t.Context(), request.DefaultWorkspace, begun.ID)
		require.NoError(t, err)
		if one, here := b.runs.Find(request.DefaultWorkspace, begun.ID); status.State.Over() || here && len(one.Status().Waiting) > 0 {
			break
		}
	}
	links[0].down.Store(false) // what it still wants to do it must not
	time.Sleep(time.Minute)
	require.True(t, status.State == run.Done || len(status.Waiting) > 0, "%+v", status)
	made.mu.Lock()
	defer made.mu.Unlock()
	for node, n := range made.n {
		if node[:8] == "note:add" {
			require.Equal(t, 1, n, node)
		}
	}
	t.Logf("%s, %d calls", status.State, len(made.n))
}

// answering answers every call at once.
type answering struct{}

func (answering) Call(context.Context, run.Call) (run.Result, error) {
	return run.Result{Structured: []byte(`{"done":true}`)}, nil
}

// Runs stay at the replica that began them. When another one becomes the first owner of their workspace, any replica
// still answers for them: what they are, whether they are approved or cancelled, and that they cannot be erased.
func TestRunsAreDecidedOnAnyReplica(t *testing.T) {
	_, start := fleetOn(t, 1, func(cfg *Config) { cfg.Caller = answering{} })
	began := start()
	agree(t, began)
	made := parse[keyMade](t, 200, began.ask("POST", "/v1/keys", `{"name":"ops","scopes":["read","write","admin"]}`, began.root()))
	key := bearerOf(made.Key)
	require.Equal(t, 200, began.ask("PUT", "/v1/tools", `[{"id":"note:add","description":"adds a note"}]`, key).status)
	begin := func() run.Status {
		r := began.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"t1","tool":"note:add"}]}}`, key)
		require.Equal(t, 202, r.status, r.body)
		one := parse[run.Status](t, 202, r)
		require.Eventually(t, func() bool {
			return len(parse[run.Status](t, 200, began.ask("GET", "/v1/runs/"+one.ID, "", key)).Waiting) == 1
		}, time.Minute, 10*time.Millisecond)
		return one
	}
	waits := []run.Status{begin(), begin(), begin()}
	rank := func(address string) string { // of the owners of the workspace, the greatest first
		sum := sha256.Sum256([]byte(address + "\x00" + request.DefaultWorkspace))
		return string(sum[:])
	}
	first := start(func(address string) bool { return rank(address) > rank(began.url) })
	agree(t, began, first)
	last := start(func(address string) bool { return rank(address) < rank(first.url) })
	fleet := []*fleetMember{began, first, last}
	agree(t, fleet...)
	require.True(t, first.fleet.Answers(request.DefaultWorkspace))
	for _, m := range fleet {
		m.becomes(200, "GET", "/v1/stats", "", key)
	}
	at := func(id string) string { return "/v1/runs/" + id }
	for _, m := range fleet {
		for _, one := range waits {
			s := parse[run.Status](t, 200, m.ask("GET", at(one.ID), "", key))
			require.Equal(t, []string{"t1"}, s.Waiting, "%s knows what it waits for", m.url)
			requireProblem(t, 409, "cancel it first", m.ask("DELETE", at(one.ID), "", key))
		}
		require.Contains(t, m.ask("GET", "/v1/runs?state=paused", "", key).body+m.ask("GET", "/v1/runs?state=running", "", key).body, waits[0].ID)
		require.Equal(t, 404, m.ask("POST", at("run-nothing")+"/approve", `{}`, key).status)
	}
	require.Equal(t, 202, last.ask("POST", at(waits[0].ID)+"/approve", `{}`, key).status)
	require.Equal(t, 202, first.ask("POST", at(waits[1].ID)+"/approve", `{"deny":true}`, key).status)
	require.Equal(t, 202, last.ask("POST", at(waits[2].ID)+"/cancel", "", key).status)
	for i, want := range []run.State{run.Done, run.Failed, run.Canceled} {
		for _, m := range fleet {
			require.Eventually(t, func() bool {
				return parse[run.Status](t, 200, m.ask("GET", at(waits[i].ID), "", key)).State == want
			}, time.Minute, 10*time.Millisecond, "%s %s", m.url, want)
		}
	}
	require.Equal(t, 204, last.ask("DELETE", at(waits[0].ID), "", key).status)
	began.becomes(404, "GET", at(waits[0].ID), "", key)

	// The replica that has a run ends without a word: nobody can be asked until another one takes it over.
	left := parse[run.Status](t, 202, last.ask("POST", "/v1/runs", `{"dag":{"tasks":[{"id":"t1","tool":"note:add"}]}}`, key))
	first.kill()
	require.Equal(t, 503, last.ask("POST", at(left.ID)+"/approve", `{}`, key).status)
	last.becomes(202, "POST", at(left.ID)+"/approve", `{}`, key)
}
