package record

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/ingest/hook"
	"waymark/live"
	"waymark/storage"
	"waymark/suggest"
)

// house is a data directory that processes come and go in.
type house struct {
	t     *testing.T
	spool hook.Spool
	store *storage.Store
	ws    *live.Workspaces
	clock atomic.Int64 // the engine looks at it from behind
	feed  *Feed
}

func (h *house) now() time.Time { return time.Unix(0, h.clock.Load()).UTC() }

func newHouse(t *testing.T) *house {
	h := &house{t: t, spool: hook.SpoolOf(t.TempDir()), store: memory(t)}
	h.clock.Store(time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC).UnixNano())
	h.ws = live.NewWorkspaces(h.store, live.Options{Now: h.now, Measure: unlearned.Measure})
	t.Cleanup(func() { require.NoError(t, h.ws.Close(context.Background())) })
	h.restart()
	return h
}

// restart is another process: what was in memory is gone.
func (h *house) restart() {
	h.feed = NewFeed(h.spool, h.store, h.ws.Open, h.now, slog.New(slog.DiscardHandler))
}

// leave leaves an event; each happens a second after the one before.
func (h *house) leave(e hook.Event) {
	h.clock.Add(int64(time.Second))
	if e.Time.IsZero() {
		e.Time = h.now()
	}
	e.Host, e.Workspace, e.Session = "claude-code", "default", "s1"
	require.NoError(h.t, h.spool.Leave(e))
}

func (h *house) asked(intent string)   { h.leave(hook.Event{Kind: hook.Asked, Intent: intent}) }
func (h *house) began(id, tool string) { h.leave(hook.Event{Kind: hook.Began, Call: id, Tool: tool}) }
func (h *house) ended(id, tool string) {
	h.leave(hook.Event{Kind: hook.Ended, Call: id, Tool: tool, Outcome: episodic.Success})
}

func (h *house) take() (steps int) {
	steps, err := h.feed.Take(context.Background())
	require.NoError(h.t, err)
	return steps
}

// waiting are the events in the spool.
func (h *house) waiting() int {
	names, err := h.spool.List(h.now().Add(time.Hour))
	require.NoError(h.t, err)
	return len(names)
}

func (h *house) engine() *live.Engine {
	e, err := h.ws.Get(context.Background(), "default")
	require.NoError(h.t, err)
	return e
}

// episodes lists what is in the log: intent, and tools with their groups.
func (h *house) episodes() (list []string) {
	for _, ep := range history(h.t, h.engine()) {
		s := ep.Intent + ":"
		episodic.NumberGroups(ep.Steps)
		for _, st := range ep.Steps {
			s += " " + st.Tool
			if st.Group != "" {
				s += "/" + st.Group
			}
		}
		list = append(list, s)
	}
	return list
}

// counting is the model of a workspace that counts all that is recorded.
func counting(t *testing.T, e *live.Engine) *suggest.Model {
	require.NoError(t, e.Wait(t.Context(), e.Counted()))
	return e.Model()
}

// play is a session of two requests, one with parallel calls.
func (h *house) play(after func()) {
	for _, do := range []func(){
		func() { h.asked("fix it") }, func() { h.began("c1", "fs:read") }, func() { h.began("c2", "git:log") }, func() { h.ended("c2", "git:log") }, func() { h.ended("c1", "fs:read") },
		func() { h.began("c3", "fs:write") }, func() { h.ended("c3", "fs:write") },
		func() { h.asked("ship it") }, func() { h.began("c4", "ci:run") }, func() { h.ended("c4", "ci:run") }, func() { h.leave(hook.Event{Kind: hook.Over}) },
	} {
		do()
		after()
	}
}

var played = []string{"fix it: fs:read/1 git:log/1 fs:write", "ship it: ci:run"}

// Whether events are taken in at once or one by one, the history is the same, and nothing stays behind.
// A process that ends between parallel calls takes with it that they were.
func TestTake(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(h *house)
		want  []string
	}{
		{"at once", func(*house) {}, played},
		{"one by one", func(h *house) { h.take() }, played},
		{"twice", func(h *house) { h.take(); h.take() }, played},
		{"each another process", func(h *house) { h.restart(); h.take() }, []string{"fix it: git:log fs:read fs:write", "ship it: ci:run"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			h.play(func() { tt.after(h) })
			h.take()
			assert.Equal(t, tt.want, h.episodes())
			assert.Zero(t, h.waiting())
		})
	}
}

// A process that ends between storing a step and removing its file has it stored twice, once.
func TestTakenTwiceCountsOnce(t *testing.T) {
	h := newHouse(t)
	h.play(func() {
		copies := map[string][]byte{}
		names, err := h.spool.List(h.now().Add(time.Hour))
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(string(h.spool), name))
			require.NoError(t, err)
			copies[name] = text
		}
		h.take()
		for name, text := range copies {
			require.NoError(t, os.WriteFile(filepath.Join(string(h.spool), name), text, 0o600))
		}
		h.restart()
		h.take()
	})
	require.Len(t, h.episodes(), 2)
	stats := counting(t, h.engine()).Stats()
	assert.Equal(t, 4, stats.Steps)
	assert.Equal(t, map[string]int{"hook:claude-code": 2}, stats.Sources)
	assert.NotNil(t, h.spool.Key("default"), "the next hooks have a key")
}

// What was refused, interrupted or never answered is no step, and leaves nothing behind.
func TestCallsThatNeverEnd(t *testing.T) {
	h := newHouse(t)
	h.asked("one")
	h.began("c1", "a")
	h.began("c2", "b")
	h.leave(hook.Event{Kind: hook.Ended, Call: "c2", Tool: "b", Outcome: episodic.Unknown, ErrorKind: "policy"})
	h.take()
	assert.Equal(t, 1, h.waiting()-1, "what the user asked and the call that has not ended")
	h.asked("two")
	h.began("c3", "c")
	h.ended("c3", "c")
	h.take()
	assert.Zero(t, h.waiting())
	assert.Equal(t, []string{"two: c"}, h.episodes())

	h.asked("three")
	h.began("c4", "d")
	h.take()
	assert.Equal(t, 2, h.waiting())
	h.clock.Add(int64(25 * time.Hour))
	h.take()
	assert.Zero(t, h.waiting(), "given up after a day")
}

// A store that refuses keeps the events where they are.
func TestStoreThatRefuses(t *testing.T) {
	h := newHouse(t)
	h.began("c1", "a")
	h.ended("c1", "a")
	require.NoError(t, h.ws.Close(t.Context()))
	_, err := h.feed.Take(t.Context())
	assert.ErrorIs(t, err, live.ErrClosed)
	assert.Equal(t, 2, h.waiting())
}

func TestRun(t *testing.T) {
	h := newHouse(t)
	h.feed.now = time.Now
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.feed.Run(ctx) }()
	for i := range 3 {
		id := fmt.Sprint("c", i)
		require.NoError(t, h.spool.Leave(hook.Event{Kind: hook.Ended, Time: time.Now(), Host: "codex", Workspace: "default", Session: "s", Call: id, Tool: "t"}))
	}
	require.Eventually(t, func() bool { names, _ := h.spool.List(time.Now()); return len(names) == 0 }, 2*time.Minute, 10*time.Millisecond)
	cancel()
	<-done
}

// The transcript of a session that hooks have told of is known, whatever the clocks said.
func TestTranscriptIsKnown(t *testing.T) {
	h := newHouse(t)
	h.play(func() {})
	h.take()
	e := h.engine()
	begun := episodic.NewSession("claude-code", "s1").Begin(episodic.Call{ID: "c1", Start: h.now()})
	transcript := []episodic.Episode{{ID: begun.Episode, Session: begun.Session, Time: begun.Time,
		Steps: []episodic.Step{{Tool: "fs:read", DurationMS: 7, Group: "1"}, {Tool: "not:hooked", Group: "1"}}}}
	r, err := e.Record(t.Context(), "import:claude-code", transcript)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 0}, []int{r.Accepted, r.Duplicates, len(r.Rejected)})
	r, err = e.Record(t.Context(), "somebody", transcript)
	require.NoError(t, err)
	assert.Len(t, r.Rejected, 1, "anybody else contradicts what is recorded")
}

// What hooks tell of a session gives its steps, and all events are taken in.
func TestTakeSteps(t *testing.T) {
	began := func(e hook.Event) hook.Event { e.Kind = hook.Began; return e }
	ended := func(e hook.Event) hook.Event { e.Kind = hook.Ended; return e }
	same := hook.Event{Call: "hash", Unnamed: true, Tool: "a", Outcome: episodic.Success}
	through := hook.Event{Call: "c1", Through: true, Tool: "forge:comment", Outcome: episodic.Success}
	lone := hook.Event{Call: "c2", Through: true, Tool: "forge:comment", Outcome: episodic.Success}
	other := hook.Event{Call: "c3", Tool: "fs:write", Outcome: episodic.Success}
	for name, tt := range map[string]struct {
		events []hook.Event
		want   string
	}{
		"calls without ids, made again": {
			[]hook.Event{began(same), ended(same), began(same), ended(same), ended(same)}, ": a a a",
		},
		"the gateway records its own": {
			[]hook.Event{began(through), ended(through), ended(lone), began(other), ended(other)}, ": fs:write",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			for _, e := range tt.events {
				h.leave(e)
			}
			h.take()
			assert.Equal(t, []string{tt.want}, h.episodes())
			assert.Zero(t, h.waiting())
		})
	}
}

// A transcript of a session is known although the user refused its first call.
func TestRefusedFirst(t *testing.T) {
	h := newHouse(t)
	h.asked("fix it")
	h.began("c1", "fs:remove")
	h.leave(hook.Event{Kind: hook.Ended, Call: "c1", Tool: "fs:remove", Outcome: episodic.Unknown, ErrorKind: "policy"})
	h.take()
	h.restart()
	h.began("c2", "fs:read")
	h.ended("c2", "fs:read")
	h.take()
	assert.Equal(t, []string{"fix it: fs:read"}, h.episodes())
	assert.Equal(t, episodic.EpisodeID("claude-code", "s1", "c2"), history(t, h.engine())[0].ID)
}

// What cannot be read or removed keeps nothing else waiting.
func TestSpoolWithRubbish(t *testing.T) {
	h := newHouse(t)
	write := func(name, text string) string {
		path := filepath.Join(string(h.spool), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	require.NoError(t, os.MkdirAll(filepath.Join(string(h.spool), "0000000000000000001-00.json", "inside"), 0o700))
	for name, text := range map[string]string{
		"0000000000000000002-00.json": "{", "0000000000000000003-00.json": "", "x.json": "\x00", "0000000000000000004-00.json": `{"kind":"asked"}`,
		"0000000000000000005-00.json": `{"kind":"ended","call":"x","tool":"b","host":"codex","session":"s","workspace":"Not a name"}`,
	} {
		write(name, text)
	}
	half := write(fmt.Sprintf(".%020d-00.json", h.now().UnixNano()), `{"kind":`)
	require.NoError(t, os.Chtimes(half, h.now(), h.now()))
	h.leave(hook.Event{Kind: "new", Call: "x"})
	h.leave(hook.Event{Kind: hook.Ended, Call: "c9"}) // of no tool
	h.began("c1", "fs:read")
	h.ended("c1", "fs:read")
	assert.Equal(t, 1, h.take())
	assert.Equal(t, []string{": fs:read"}, h.episodes())
	assert.Zero(t, h.take(), "the folder is known")
	assert.FileExists(t, half)
	h.clock.Add(int64(25 * time.Hour))
	h.take()
	assert.NoFileExists(t, half)
}
