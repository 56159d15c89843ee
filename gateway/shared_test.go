package gateway

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/storage"
)

// sharedMemory is a memory that several stores use as processes use a database.
type sharedMemory struct{ storage.Engine }

func (sharedMemory) Shared() bool { return true }
func (sharedMemory) Close() error { return nil }
func (sharedMemory) Wait(ctx context.Context, _ time.Duration) {
	select {
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
	}
}

// sharing returns the options of gateways of n processes that share a table.
func sharing(t *testing.T, n int) (all []Options) {
	engine := sharedMemory{storage.MemoryEngine()}
	t.Cleanup(func() { assert.NoError(t, engine.Engine.Close()) })
	for range n {
		store, err := storage.New(t.Context(), engine, storage.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
		o := quick(t)
		o.Table, o.Catalog, o.Poll = store.Table("test"), nil, 20*time.Millisecond
		all = append(all, o)
	}
	return all
}

func becomes(t *testing.T, holds func() bool, why string) {
	t.Helper()
	require.Eventually(t, holds, 30*time.Second, 2*time.Millisecond, why)
}

// turning is a server whose tool has the description that a file has, and that file.
func turning(t *testing.T, text string) (Definition, string) {
	d := definition("turns")
	file := filepath.Join(t.TempDir(), "description")
	d.Env["TURN_FILE"] = file // the digest has the names of variables only
	require.NoError(t, storage.ReplaceFile(file, []byte(text)))
	return d, file
}

// A server that is agreed to anew with another definition ends where the old one is configured: no tool of the old one
// is approved under the new agreement. One that is removed and agreed to again ends and begins everywhere.
func TestAgreementsHoldInAllProcesses(t *testing.T) {
	o := sharing(t, 2)
	o[1].Poll, o[1].Settle, o[1].IdleStop = time.Hour, time.Hour, -1 // it lists at the start alone
	o[0].IdleStop = -1                                               // where b is the first to list, a would not start what is known
	old, file := turning(t, "Does it.")
	a, b := open(t, o[0]), open(t, o[1])
	connect(t, a, old)
	require.NoError(t, b.Connect([]Definition{old}))
	ready(t, a, "turns")
	becomes(t, func() bool { return len(b.Tools()) == 1 }, "what is agreed to elsewhere begins")

	other := definition("any")
	other.ID, other.Args = "turns", []string{"other"}
	require.NoError(t, a.Forget(t.Context(), t.TempDir(), "default", "turns"))
	becomes(t, func() bool { return server(b, "turns").State == Stopped && len(b.Tools()) == 0 }, "it ends")
	connect(t, a, other)
	ready(t, a, "turns")
	becomes(t, func() bool {
		return b.register.kept.Load().agreed(&other) && b.register.kept.Load().consent("turns").Pinned
	}, "it is known")
	assert.Equal(t, Stopped, server(b, "turns").State)
	assert.Empty(t, b.Tools())

	connect(t, a, old)
	becomes(t, func() bool { return server(b, "turns").State != Stopped }, "it begins again")
	ready(t, a, "turns") // both have listed what the server says now
	ready(t, b, "turns")
	require.NoError(t, storage.ReplaceFile(file, []byte("Does it, and sends you a copy.")))
	for _, g := range []*Gateway{a, b} {
		becomes(t, func() bool { return len(g.Withheld()) == 1 }, "it is withheld")
		assert.Empty(t, g.Tools())
	}
	require.NoError(t, a.Forget(t.Context(), t.TempDir(), "default", "turns"))
	becomes(t, func() bool { return server(b, "turns").State == Stopped }, "it ends")
	assert.Empty(t, b.Withheld(), "nothing waits of a server that was removed")
	connect(t, a, old)
	becomes(t, func() bool { return server(b, "turns").State != Stopped }, "it begins again")
	connect(t, a, other) // while the old one runs
	becomes(t, func() bool { return server(b, "turns").State == Stopped }, "it ends without being removed")
	assert.NotEqual(t, Stopped, server(a, "turns").State)
}

// A definition's list approves nothing under an agreement to another, nor without one.
func TestListsNeedTheAgreementToTheirDefinition(t *testing.T) {
	d, other := definition("any"), definition("any")
	other.Args = []string{"other"}
	for name, tt := range map[string]struct {
		agreed *Definition
		err    error
	}{"none": {nil, errNoConsent}, "to another": {&other, errNoConsent}, "to it": {&d, nil}} {
		t.Run(name, func(t *testing.T) {
			o := quick(t)
			g := open(t, o)
			if tt.agreed != nil {
				require.NoError(t, g.Agree(t.Context(), "any", tt.agreed.Digest()))
			}
			up := newUpstream(d, g.opts, g.onListed)
			g.ups["any"] = up
			before := g.register.kept.Load().consent("any")
			require.ErrorIs(t, g.onListed(t.Context(), up, map[string]*contract{"any:go": read("any", []byte(rawTool+`}`))}, nil), tt.err)
			assert.Equal(t, tt.err == nil, len(g.Tools()) == 1)
			assert.Equal(t, tt.err == nil, len(g.register.kept.Load().pins) == 1)
			assert.Equal(t, tt.err != nil, before == g.register.kept.Load().consent("any"))
		})
	}
}

// A tool that one process withholds is withheld by all, until all list the approved contract. A process that starts
// compares anew, and where another still lists a different contract, the tool is withheld again.
func TestQuarantineEndsWhenAllListTheApprovedContract(t *testing.T) {
	o := sharing(t, 3)
	d, file := turning(t, "Does it.")
	d2, _ := turning(t, "Does it.")
	a, b := open(t, o[0]), open(t, o[1])
	connect(t, a, d)
	ready(t, a, "turns")
	require.NoError(t, b.Connect([]Definition{d2}))
	becomes(t, func() bool { return len(b.Tools()) == 1 }, "it is approved")
	require.Empty(t, call(t, b, "turns:go", `{}`).Failure)

	require.NoError(t, storage.ReplaceFile(file, []byte("Does it, and sends you a copy.")))
	withheld := func(g *Gateway) func() bool {
		return func() bool { return len(g.Withheld()) == 1 && len(g.Tools()) == 0 }
	}
	released := func(g *Gateway) func() bool {
		return func() bool { return len(g.Withheld()) == 0 && len(g.Tools()) == 1 }
	}
	for _, g := range []*Gateway{a, b} {
		becomes(t, withheld(g), "it is withheld")
	}
	o[2].IdleStop = -1
	c := open(t, o[2]) // its copy has the approved contract
	require.NoError(t, c.Connect([]Definition{d2}))
	ready(t, c, "turns")
	for _, g := range []*Gateway{a, b, c} {
		becomes(t, withheld(g), "a still lists another contract")
	}
	require.NoError(t, a.Close(t.Context())) // the one that saw the change is gone
	require.NoError(t, c.Close(t.Context()))
	c = open(t, o[2])
	require.NoError(t, c.Connect([]Definition{d2}))
	for _, g := range []*Gateway{b, c} {
		becomes(t, released(g), "all list the approved contract")
		assert.Empty(t, call(t, g, "turns:go", `{}`).Failure)
	}
}

// While a change is written to the table, which may take long, calls are made and everything is listed.
func TestReadersDoNotWaitForTheTable(t *testing.T) {
	g := connected(t, quick(t), "good")
	require.NoError(t, g.Grant(t.Context(), "good:delete"))
	g.register.mu.Lock()
	defer g.register.mu.Unlock()
	read := make(chan bool)
	go func() {
		r, err := g.Call(t.Context(), run.Call{Tool: "good:delete"})
		g.mu.Lock()
		g.publish()
		g.mu.Unlock()
		ran := err == nil && r.Failure == ""
		read <- ran && server(g, "good").Agreed && len(g.Grants()) == 1 && !g.NeedsGrant("good:delete")
	}()
	select {
	case holds := <-read:
		assert.True(t, holds)
	case <-time.After(30 * time.Second):
		t.Fatal("a reader waits for the table")
	}
}
