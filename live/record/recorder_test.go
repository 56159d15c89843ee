package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/live"
	"waymark/run"
	"waymark/storage"
	"waymark/suggest"
)

// callerFunc does what it is told.
type callerFunc func(ctx context.Context, c run.Call) (run.Result, error)

func (f callerFunc) Call(ctx context.Context, c run.Call) (run.Result, error) { return f(ctx, c) }

func works(context.Context, run.Call) (run.Result, error) {
	return run.Result{Structured: json.RawMessage(`{"id":"item-17"}`)}, nil
}

// opened is a store that is open.
func opened(s Store) func(context.Context) (Store, error) {
	return func(context.Context) (Store, error) { return s, nil }
}

// unlearned are options without profile learned, the fits of which take most of the time of a build.
var unlearned = live.Options{Measure: suggest.MeasureOptions{WithoutLearned: true}}

func workspace(t testing.TB, store *storage.Store) *live.Engine {
	t.Helper()
	w := live.NewWorkspaces(store, unlearned)
	t.Cleanup(func() { require.NoError(t, w.Close(context.Background())) })
	e, err := w.Get(t.Context(), "default")
	require.NoError(t, err)
	return e
}

func history(t testing.TB, e *live.Engine) (all []episodic.Episode) {
	t.Helper()
	for it, err := range e.Items(context.Background()) {
		require.NoError(t, err)
		if it.Episode != nil {
			all = append(all, *it.Episode)
		}
	}
	return all
}

func TestWhatIsKeptOfACall(t *testing.T) {
	for _, tt := range []struct {
		name    string
		result  run.Result
		err     error
		made    bool
		outcome episodic.Outcome
		kind    string
	}{
		{"it worked", run.Result{}, nil, true, episodic.Success, ""},
		{"the tool failed", run.Result{Failure: run.FailedTool, Message: "no such file"}, nil, true, episodic.Failure, "tool"},
		{"called wrongly", run.Result{Failure: run.FailedArgument}, nil, true, episodic.Failure, "argument"},
		{"no answer in time", run.Result{Failure: run.FailedTimeout}, nil, true, episodic.Failure, "timeout"},
		{"may not", run.Result{Failure: run.FailedAuth}, nil, true, episodic.Unknown, "auth"},
		{"server down", run.Result{Failure: run.FailedUnavailable}, nil, true, episodic.Unknown, "unavailable"},
		{"refused by us", run.Result{Failure: run.FailedPolicy}, nil, false, "", ""},
		{"of no tool", run.Result{Failure: run.FailedUnknown}, nil, false, "", ""},
		{"asks first", run.Result{NeedsInput: json.RawMessage(`{}`)}, nil, false, "", ""},
		{"nobody knows", run.Result{}, errors.New("connection reset"), true, episodic.Unknown, "unknown"},
		{"the caller gave up", run.Result{}, context.Canceled, true, episodic.Unknown, "canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := workspace(t, memory(t))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := New(opened(e), callerFunc(func(context.Context, run.Call) (run.Result, error) {
				if errors.Is(tt.err, context.Canceled) {
					cancel() // it is recorded all the same
				}
				return tt.result, tt.err
			}), Options{})
			got, err := r.Call(ctx, run.Call{Tool: "fs:read", Arguments: json.RawMessage(`{"path":"a.go"}`), Session: "s", Intent: "look", Source: "ann"})
			require.Equal(t, tt.err, err)
			require.Equal(t, tt.result, got)
			all := history(t, e)
			if !tt.made {
				require.Empty(t, all)
				return
			}
			require.Len(t, all, 1)
			assert.Equal(t, []string{"ann", "s", "look"}, []string{all[0].Source, all[0].Session, all[0].Intent})
			step := all[0].Steps[0]
			assert.Equal(t, "fs:read", step.Tool)
			assert.Equal(t, tt.outcome, step.Outcome)
			assert.Equal(t, tt.kind, step.ErrorKind)
			assert.Equal(t, "{path:string}", step.Shape)
			assert.Len(t, step.Inputs["path"], 1)
			text, err := json.Marshal(all[0])
			require.NoError(t, err)
			assert.NotContains(t, string(text), "a.go", "no value is kept")
		})
	}
}

// Calls that overlap are parallel, whichever ends first; the graph is that of the whole episode.
func TestOverlappingCallsAreParallel(t *testing.T) {
	e := workspace(t, memory(t))
	end := map[string]chan struct{}{}
	began := make(chan string)
	for _, tool := range []string{"a", "b", "c", "d"} {
		end[tool] = make(chan struct{})
	}
	r := New(opened(e), callerFunc(func(ctx context.Context, c run.Call) (run.Result, error) {
		began <- c.Tool
		<-end[c.Tool]
		return run.Result{}, nil
	}), Options{})
	var calls sync.WaitGroup
	over := map[string]chan struct{}{}
	begin := func(tool string) {
		over[tool] = make(chan struct{})
		calls.Go(func() {
			defer close(over[tool])
			_, err := r.Call(context.Background(), run.Call{Tool: tool, Session: "s"})
			assert.NoError(t, err)
		})
		require.Equal(t, tool, <-began)
	}
	stop := func(tool string) { close(end[tool]); <-over[tool] }
	begin("a")
	begin("b")
	stop("b")
	begin("c") // it may know what b returned
	stop("c")
	stop("a")
	begin("d")
	stop("d")
	calls.Wait()
	got := history(t, e)
	require.Len(t, got, 1)
	tools, groups := []string{}, []string{}
	for _, s := range got[0].Steps {
		tools, groups = append(tools, s.Tool), append(groups, s.Group)
	}
	assert.Equal(t, []string{"a", "b", "c", "d"}, tools)
	assert.Equal(t, []string{"1", "1", "2", "3"}, groups)
	assert.ElementsMatch(t, []string{"a c", "b c", "c d"}, sameAsWhole(t, e))
}

func graph(t testing.TB, e *live.Engine) []suggest.ExportEdge {
	t.Helper()
	require.NoError(t, e.Wait(context.Background(), e.Counted()))
	x, err := e.Model().Export("", 0)
	require.NoError(t, err)
	return x.Edges
}

// sameAsWhole imports the episodes of a workspace whole into another: the graphs are equal. It returns
// their edges.
func sameAsWhole(t testing.TB, e *live.Engine) (pairs []string) {
	t.Helper()
	other := workspace(t, memory(t))
	all := history(t, e)
	r, err := other.Record(context.Background(), "import", all)
	require.NoError(t, err)
	require.Equal(t, len(all), r.Accepted)
	assert.ElementsMatch(t, graph(t, other), graph(t, e))
	for _, x := range graph(t, e) {
		pairs = append(pairs, x.From+" "+x.To)
	}
	return pairs
}

// The calls of a run say what they came after; a task that is tried again is a step of its own.
func TestCallsOfARun(t *testing.T) {
	e := workspace(t, memory(t))
	fail := true
	r := New(opened(e), callerFunc(func(_ context.Context, c run.Call) (run.Result, error) {
		if c.ID == "t2" && fail {
			fail = false
			return run.Result{Failure: run.FailedTimeout}, nil
		}
		if c.ID == "t4" {
			return run.Result{Failure: run.FailedPolicy}, nil
		}
		return run.Result{}, nil
	}), Options{})
	call := func(id, tool string, after ...string) {
		if after == nil {
			after = []string{}
		}
		_, err := r.Call(t.Context(), run.Call{Tool: tool, ID: id, After: after, Session: "run-1", Intent: "deploy", Source: "run"})
		require.NoError(t, err)
	}
	call("t1", "build")
	call("t2", "test", "t1")
	call("t2", "test", "t1")
	call("t3", "lint")
	call("t4", "ask", "t3")
	call("t5", "push", "t2", "t3", "t4")
	require.NoError(t, r.Ended(t.Context(), "run", "run-1", episodic.Success))
	ep := history(t, e)[0]
	assert.Equal(t, episodic.Success, ep.Outcome)
	var steps []string
	for _, s := range ep.Steps {
		steps = append(steps, fmt.Sprint(s.ID, " ", s.Tool, " ", s.DependsOn))
	}
	assert.Equal(t, []string{"t1 build []", "t2 test [t1]", "t2#2 test [t1]", "t3 lint []", "t5 push [t2#2 t3]"}, steps)
	assert.ElementsMatch(t, []string{"build test", "test push", "lint push"}, sameAsWhole(t, e))

	// Another process goes on with the run.
	again := New(opened(e), callerFunc(works), Options{})
	_, err := again.Call(t.Context(), run.Call{Tool: "test", ID: "t2", After: []string{"t5"}, Session: "run-1", Intent: "deploy", Source: "run"})
	require.NoError(t, err)
	all := history(t, e)
	require.Len(t, all, 1)
	last := all[0].Steps[5]
	assert.Equal(t, "t2#3", last.ID)
	assert.Equal(t, []string{"t5"}, last.DependsOn)
	assert.Len(t, all[0].Steps, 6)
}

// A session that rests, or turns to another intent, begins an episode; sessions that rest are forgotten.
func TestSessionsAreCut(t *testing.T) {
	e := workspace(t, memory(t))
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	r := New(opened(e), callerFunc(works), Options{Now: func() time.Time { return now }})
	call := func(session, intent string) {
		_, err := r.Call(t.Context(), run.Call{Tool: "t", Session: session, Intent: intent})
		require.NoError(t, err)
	}
	call("s", "x")
	call("s", "x")
	call("s", "y")
	now = now.Add(episodic.IdleGap + time.Second)
	call("s", "y")
	call("other", "y")
	call("", "")
	lengths := []int{}
	for _, ep := range history(t, e) {
		lengths = append(lengths, len(ep.Steps))
	}
	assert.Equal(t, []int{2, 1, 1, 1, 1}, lengths)

	now = now.Add(episodic.IdleGap + time.Second)
	for i := range 300 {
		call(fmt.Sprint("new", i%2), "")
	}
	assert.NotContains(t, r.sessions, [2]string{"gateway", "s"})
	assert.Len(t, r.sessions[[2]string{"gateway", "new1"}].episode.tools, contextLength)
}

// fullStore has no space left.
type fullStore struct{ Store }

func (fullStore) Perform(context.Context, string, live.Performed) (uint64, error) {
	return 0, storage.ErrNoSpace
}

// What a tool has done is told even if it cannot be stored.
func TestTheAnswerSurvivesTheStore(t *testing.T) {
	e := workspace(t, memory(t))
	r := New(opened(fullStore{e}), callerFunc(works), Options{})
	result, err := r.Call(t.Context(), run.Call{Tool: "t"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"item-17"}`, string(result.Structured))
	assert.Contains(t, result.Unrecorded, storage.ErrNoSpace.Error())
	assert.Empty(t, history(t, e))
}

// Random sessions side by side, with failures of all kinds: the graph is that of the whole episodes, and a
// replay of the log gives the same model.
func TestRandomCalls(t *testing.T) {
	e := workspace(t, memory(t))
	failures := []run.Failure{"", "", "", run.FailedTool, run.FailedAuth, run.FailedPolicy, run.FailedTimeout}
	r := New(opened(e), callerFunc(func(_ context.Context, c run.Call) (run.Result, error) {
		var n int
		if err := json.Unmarshal(c.Arguments, &n); err != nil {
			return run.Result{}, err
		}
		time.Sleep(time.Duration(n%5) * 100 * time.Microsecond)
		return run.Result{Failure: failures[n%len(failures)]}, nil
	}), Options{})
	var sessions sync.WaitGroup
	for s := range 8 {
		sessions.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(s), 7))
			for range 10 {
				var layer sync.WaitGroup
				for range 1 + rng.IntN(3) {
					c := run.Call{
						Tool: fmt.Sprint("t:", rng.IntN(9)), Session: fmt.Sprint("s", s),
						Intent: fmt.Sprint("intent ", rng.IntN(20)/19), Arguments: json.RawMessage(fmt.Sprint(rng.IntN(1000))),
					}
					layer.Go(func() {
						if result, err := r.Call(context.Background(), c); err != nil || result.Unrecorded != "" {
							t.Error(err, result.Unrecorded)
						}
					})
				}
				layer.Wait()
			}
		})
	}
	sessions.Wait()
	sameAsWhole(t, e)
}

// memory is an empty store, closed at the end of the test.
func memory(t testing.TB) *storage.Store {
	store := storage.NewMemory()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
