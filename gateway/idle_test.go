package gateway

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/storage"
)

// Servers that are known from before are offered without a process; the one that is called starts alone.
func TestServersStartOnFirstUse(t *testing.T) {
	o := quick(t)
	var defs []Definition
	for i := range 6 {
		d := definition("any")
		d.ID, d.Args = fmt.Sprint("s", i), []string{fmt.Sprint(i)}
		defs = append(defs, d)
	}
	first := open(t, o)
	connect(t, first, defs...)
	for _, d := range defs {
		ready(t, first, d.ID)
	}
	require.NoError(t, first.Close(t.Context()))

	g := open(t, o)
	require.NoError(t, g.Connect(defs))
	assert.Equal(t, first.Tools(), g.Tools())
	for _, s := range g.Servers() {
		assert.Equal(t, []any{Idle, int64(0), 1}, []any{s.State, s.Starts, s.Tools}, s.ID)
	}
	assert.Contains(t, call(t, g, "s3:go", `7`).Message, "not a JSON object", "the arguments are checked against the known schema")
	assert.Empty(t, call(t, g, "s3:go", `{}`).Failure)
	for _, s := range g.Servers() {
		assert.Equal(t, s.ID == "s3", s.Starts == 1, "%+v", s)
	}

	o.IdleStop = -1
	eager := open(t, o)
	require.NoError(t, eager.Connect(defs[:2]))
	ready(t, eager, "s0")
	ready(t, eager, "s1")
}

// A server that nothing calls is stopped, one that is called stays, and the next call starts it again.
func TestIdleServersAreStopped(t *testing.T) {
	o := quick(t)
	var now atomic.Int64
	o.Now, o.IdleStop = func() time.Time { return time.Unix(now.Load(), 0) }, 2*time.Millisecond
	g := connected(t, o, "good")
	held := make(chan run.Result)
	go func() {
		r, _ := g.Call(t.Context(), run.Call{Tool: "good:wait", Arguments: []byte(`{"ms":300}`)})
		held <- r
	}()
	require.Eventually(t, func() bool { return busy(g, "good") }, 2*time.Minute, time.Millisecond)
	now.Add(3600)
	assert.Positive(t, g.up("good").rest(), "a call is under way")
	assert.Empty(t, (<-held).Failure)
	assert.Equal(t, int64(1), server(g, "good").Starts)
	now.Add(3600)
	idle := func() bool { return server(g, "good").State == Idle }
	require.Eventually(t, idle, 2*time.Minute, time.Millisecond)
	assert.Empty(t, call(t, g, "good:echo", `{"text":"again"}`).Failure)
	assert.Equal(t, int64(2), server(g, "good").Starts)
}

// busy reports whether a call of a server is under way.
func busy(g *Gateway, id string) bool {
	up := g.up(id)
	up.mu.Lock()
	defer up.mu.Unlock()
	return up.running == 1
}

// Calls that come while the server is being stopped are not lost.
func TestNoCallIsLostToIdleness(t *testing.T) {
	o := quick(t)
	o.IdleStop = time.Millisecond
	g := open(t, o)
	connect(t, g, definition("any"))
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for k := range 10 {
				time.Sleep(time.Duration((i*7+k*3)%5) * time.Millisecond)
				r, err := g.Call(t.Context(), run.Call{Tool: "any:go"})
				assert.NoError(t, err)
				assert.Empty(t, r.Failure, r.Message)
			}
		})
	}
	calls.Wait()
	assert.Positive(t, server(g, "any").Starts)
}

// A contract that changed while its server was stopped is found before the call that starts it.
func TestContractsAreComparedWhenAnIdleServerStarts(t *testing.T) {
	o := quick(t)
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, storage.ReplaceFile(file, []byte("Does it.")))
	d := definition("turns")
	d.Env["TURN_FILE"] = file
	first := open(t, o)
	connect(t, first, d)
	ready(t, first, "turns")
	require.NoError(t, first.Close(t.Context()))

	require.NoError(t, storage.ReplaceFile(file, []byte("Does something else.")))
	g := open(t, o)
	require.NoError(t, g.Connect([]Definition{d}))
	require.Len(t, g.Tools(), 1)
	r := call(t, g, "turns:go", `{}`)
	assert.Equal(t, run.FailedPolicy, r.Failure)
	assert.Contains(t, r.Message, "its contract changed: description")
	require.NoError(t, g.Close(t.Context()))

	// Approved while no gateway runs it: it has to be seen again before it is offered.
	g = open(t, o)
	require.NoError(t, g.Connect([]Definition{d}))
	assert.Equal(t, Idle, server(g, "turns").State)
	require.NoError(t, g.Approve(t.Context(), "turns:go", ""))
	require.Len(t, g.Tools(), 1)
	assert.Empty(t, call(t, g, "turns:go", `{}`).Failure)
}
