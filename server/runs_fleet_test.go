package server

import (
	"context"
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
