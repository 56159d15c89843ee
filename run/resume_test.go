package run

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Memory is a journal that ends with the process.
type Memory struct {
	mu   sync.Mutex
	runs map[string]*Past
	over map[string]Status
}

func (m *Memory) Start(_ context.Context, r Record, _ Status) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs, m.over = map[string]*Past{}, map[string]Status{}
	}
	m.runs[r.ID] = &Past{r, map[string]Node{}, nil}
	return nil
}

func (m *Memory) Began(_ context.Context, run string, n Node) error { return m.note(run, n) }
func (m *Memory) Ended(_ context.Context, run string, n Node) error { return m.note(run, n) }

func (m *Memory) note(run string, n Node) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[run].Nodes[n.ID] = n
	return nil
}

func (m *Memory) Leave(_ context.Context, s Status) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over[s.ID] = s
	return nil
}

// Past is what is kept of a run.
func (m *Memory) Past(run string) Past {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := *m.runs[run]
	p.Nodes = maps.Clone(p.Nodes)
	return p
}

func TestApproval(t *testing.T) {
	q := dag(task("w", "disk:wipe", `{"disk":{"$from":"params.repo"}}`), task("m", "mail:send", `{"to":"a","text":"b"}`), task("after", "fs:echo", "", "m"))
	server := &callee{}
	journal := &Memory{}
	r, s := perform(t, q, server, func(o *Options) { o.Journal = journal })
	require.Equal(t, Paused, s.State)
	assert.Equal(t, []string{"w", "m"}, s.Waiting)
	assert.Empty(t, server.tools(), "nothing is called before a person says so")
	assert.JSONEq(t, `{"disk":"waymark"}`, string(nodeOf(s, "w").Arguments), "who decides sees what about")
	assert.ErrorIs(t, r.Decide(nil, true), ErrParked)
	assert.ErrorIs(t, r.Cancel(), ErrParked)
	p, err := Check(q, Rules{Catalog: office()})
	require.NoError(t, err)
	r = Resume(t.Context(), journal.Past("run-1"), p, Options{Caller: server, Journal: journal}, func(r *Run) {
		assert.ErrorIs(t, r.Decide([]string{"after"}, true), ErrNotWaiting)
		require.NoError(t, r.Decide([]string{"w"}, false))
		require.NoError(t, r.Decide(nil, true))
	})
	<-r.Over()
	s = r.Status()
	assert.Equal(t, Failed, s.State)
	assert.Equal(t, map[string]NodeState{"w": NodeFailed, "m": NodeDone, "after": NodeDone}, states(s))
	assert.Equal(t, FailedPolicy, nodeOf(s, "w").ErrorKind)
	assert.Equal(t, []string{"mail:send", "fs:echo"}, server.tools())
	assert.Equal(t, NodeFailed, journal.Past("run-1").Nodes["w"].State, "a refusal is kept")
	assert.ErrorIs(t, r.Decide(nil, true), ErrNotWaiting)
	assert.Equal(t, s, r.Status(), "what has ended stays so")
}

func TestCancel(t *testing.T) {
	begun := make(chan struct{})
	server := &callee{answers: map[string]answer{"fs:nap": func(ctx context.Context, c Call) (Result, error) {
		close(begun)
		return hangs(ctx, c)
	}}}
	p, err := Check(dag(task("a", "fs:nap", ""), task("b", "fs:echo", "", "a")), Rules{Catalog: office()})
	require.NoError(t, err)
	journal := &Memory{}
	r, err := Start(t.Context(), "run-1", p, Options{Caller: server, Journal: journal})
	require.NoError(t, err)
	<-begun
	require.NoError(t, r.Cancel())
	<-r.Over()
	assert.Equal(t, Canceled, r.Status().State)
	assert.Equal(t, map[string]NodeState{"a": nodeCanceled, "b": nodeNotRun}, states(r.Status()))
	assert.Equal(t, Canceled, journal.over["run-1"].State)
}

// A process that ends leaves its runs to the next one: what ended is not done again, what began waits
// for a person to say whether it is done again.
func TestShutdownAndResume(t *testing.T) {
	q := dag(
		task("first", "note:add", ""),
		task("again", "fs:nap", "", "first"),
		task("once", "mail:send", `{"to":"a","text":"b"}`, "first"),
		task("last", "fs:echo", `{"x":{"$from":"again.result"},"y":{"$from":"once.result"}}`),
		task("total", "sum", `{"a":1}`),
	)
	q.Approve = []string{"mail:*"}
	for _, sayYes := range []bool{true, false} {
		server := &callee{answers: map[string]answer{"fs:nap": hangs, "mail:send": hangs}}
		p, err := Check(q, Rules{Catalog: office()})
		require.NoError(t, err)
		journal := &Memory{}
		ctx, stop := context.WithCancel(t.Context())
		r, err := Start(ctx, "run-1", p, Options{Caller: server, Journal: journal, Grace: time.Millisecond})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(server.tools()) == 3 }, 2*time.Minute, time.Millisecond)
		stop()
		<-r.Over()
		require.Empty(t, journal.over, "it is left to be resumed")

		past := journal.Past("run-1")
		without := office()
		delete(without.caps, "sum") // what has gone since is remembered
		p, err = Check(past.Request, past.Rules(Rules{Catalog: without}))
		require.NoError(t, err)
		next := &callee{}
		r = Resume(t.Context(), past, p, Options{Caller: next, Journal: journal}, nil)
		<-r.Over()
		s := r.Status()
		require.Equal(t, Paused, s.State)
		assert.Equal(t, map[string]NodeState{"first": NodeDone, "again": NodeInterrupted, "once": NodeInterrupted, "last": NodeWaiting, "total": NodeDone}, states(s))
		assert.Equal(t, []string{"again", "once"}, s.Waiting)
		assert.Contains(t, nodeOf(s, "once").Reason, "may have happened")
		assert.JSONEq(t, `{"to":"a","text":"b"}`, string(nodeOf(s, "once").Arguments))
		assert.Empty(t, next.tools())
		r = Resume(t.Context(), journal.Past("run-1"), p, Options{Caller: next, Journal: journal}, func(r *Run) {
			require.NoError(t, r.Decide([]string{"again"}, true))
			require.NoError(t, r.Decide([]string{"once"}, sayYes))
		})
		<-r.Over()
		if sayYes {
			assert.Equal(t, Done, r.Status().State)
			assert.ElementsMatch(t, []string{"fs:nap", "mail:send", "fs:echo"}, next.tools())
		} else {
			assert.Equal(t, Failed, r.Status().State)
			assert.Equal(t, []string{"fs:nap"}, next.tools())
		}
	}
}

// What waited for a decision is decided, though it would not have to be asked for any more.
func TestAGrantIsNoDecision(t *testing.T) {
	p, err := Check(dag(task("a", "mail:send", `{"to":"a","text":"b"}`)), Rules{Catalog: office()})
	require.NoError(t, err)
	journal, server := &Memory{}, &callee{}
	require.NoError(t, journal.Start(t.Context(), Record{ID: "run-1", Request: p.request}, Status{}))
	past := journal.Past("run-1")
	past.Waiting = []string{"a"}
	r := Resume(t.Context(), past, p, Options{Caller: server, Journal: journal}, func(r *Run) { require.NoError(t, r.Decide(nil, false)) })
	<-r.Over()
	assert.Equal(t, Failed, r.Status().State)
	assert.Empty(t, server.tools())
}

// brokenJournal takes so many entries.
type brokenJournal struct {
	Memory
	left int
}

func (b *brokenJournal) Began(ctx context.Context, run string, n Node) error {
	if b.left--; b.left < 0 {
		return errors.New("disk full")
	}
	return b.Memory.Began(ctx, run, n)
}

func TestNothingIsCalledThatIsNotKept(t *testing.T) {
	server := &callee{}
	_, s := perform(t, dag(task("a", "fs:echo", ""), task("b", "fs:echo", "", "a")), server, func(o *Options) { o.Journal = &brokenJournal{left: 1} })
	assert.Equal(t, Failed, s.State)
	assert.Contains(t, s.Error, "disk full")
	assert.Equal(t, []string{"fs:echo"}, server.tools())
}
