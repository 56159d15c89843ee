package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/ingest/hook"
	"waymark/live"
	"waymark/live/record"
	"waymark/storage"
)

// A backup that fails at its end does not look whole, and one that fails at once is an error.
func TestBackupThatFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		w, f := onFaulty(t)
		require.NoError(t, w.cfg.Store.Table("default").Put(t.Context(), "large", make([]byte, 200_000)))
		broken := func(read func() error) error {
			if after {
				if err := read(); err != nil {
					return err
				}
			}
			return storage.ErrNoSpace
		}
		f.view.Store(&broken)
		req, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v1/backup", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer local-token") // no key is looked for
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			if _, err = io.ReadAll(resp.Body); err == nil {
				assert.Equal(t, 507, resp.StatusCode)
				assert.False(t, after)
			}
			resp.Body.Close()
		}
		if after {
			assert.Error(t, err)
		}
		f.view.Store(nil)
	}
}

// storeOf is a store on an engine, closed at the end of the test.
func storeOf(t testing.TB, e storage.Engine) *storage.Store {
	store, err := storage.New(t.Context(), e, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

// faulty is an engine that a test breaks while it runs.
type faulty struct {
	storage.Engine
	view     atomic.Pointer[func(read func() error) error]
	writable atomic.Pointer[error]
}

func (f *faulty) View(ctx context.Context, view func(storage.Reader) error) error {
	read := func() error { return f.Engine.View(ctx, view) }
	if broken := f.view.Load(); broken != nil {
		return (*broken)(read)
	}
	return read()
}

func (f *faulty) Writable() error {
	if err := f.writable.Load(); err != nil {
		return *err
	}
	return nil
}

// onFaulty is a server on a faulty engine.
func onFaulty(t *testing.T) (web, *faulty) {
	f := &faulty{Engine: storage.MemoryEngine()}
	store := storeOf(t, f)
	return newWeb(t, func(c *Config) {
		c.Store, c.Workspaces, c.Limits.Timeout = store, live.NewWorkspaces(store, unlearned), time.Hour
	}), f
}

// A question to a workspace that does not exist is answered with what exists, and creates nothing; whatever
// records creates its workspace.
func TestNoSuchWorkspace(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RecordScores = true })
	typo := []string{bearerOf("local-token"), "Waymark-Workspace: typo"}
	for _, q := range []struct{ method, path, body string }{
		{"POST", "/v1/next", `{}`}, {"POST", "/v1/search", `{"query":"x"}`}, {"POST", "/v1/dag", `{"intent":"x"}`}, {"POST", "/v1/explain", `{"id":"x"}`},
		{"GET", "/v1/tools", ""}, {"GET", "/v1/stats", ""}, {"GET", "/v1/graph", ""}, {"GET", "/v1/export", ""}, {"GET", "/v1/doctor", ""},
		{"GET", "/v1/runs", ""}, {"GET", "/v1/scores", ""}, {"GET", "/v1/proposals", ""}, {"GET", "/v1/triangulations/x", ""}, {"GET", "/metrics", ""},
		{"DELETE", "/v1/tools/x", ""}, {"POST", "/v1/rebuild", `{}`}, {"POST", "/v1/forget", `{"episode":"x"}`}, {"POST", "/v1/runs", `{"dag":{"tasks":[]}}`}, {"POST", "/v1/proposals", `{}`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	} {
		requireProblem(t, 404, "typo", w.ask(q.method, q.path, q.body, typo...))
	}
	assert.Contains(t, w.ask("GET", "/v1/stats", "", typo...).body, "existing workspaces: default.")
	assert.JSONEq(t, `{"workspaces":["default"]}`, w.ask("GET", "/v1/workspaces", "", typo...).body)

	for name, q := range map[string]struct{ method, path, body string }{
		"tools":    {"PUT", "/v1/tools", `[{"id":"a:b"}]`},
		"episodes": {"POST", "/v1/episodes", `{"id":"e","steps":[{"tool":"a:b"}]}`},
		"import":   {"POST", "/v1/import", `{"kind":"tool","id":"a:b"}`},
		"scores":   {"POST", "/v1/score/hypothesis", `{"hypotheses":[{"id":"h","scores":{"specificity":4,"novelty":3,"connection_validity":4,"feasibility":3,"grounding":2}}]}`},
	} {
		into := []string{bearerOf("local-token"), "Waymark-Workspace: " + name}
		if name == "import" {
			into = append(into, "Content-Type: application/x-ndjson")
		}
		r := w.ask(q.method, q.path, q.body, into...)
		assert.Equal(t, 200, r.status, "%s: %s", name, r.body)
		assert.Equal(t, 200, w.ask("GET", "/v1/stats", "", into[:2]...).status, name)
	}
}

// Readiness, metrics and doctor say whether writes are accepted.
func TestReadinessIsAboutWrites(t *testing.T) {
	w, f := onFaulty(t)
	for name, c := range map[string]struct {
		writable      error
		status        int
		ready, doctor string
		gauge         int
	}{
		"well":         {nil, 200, `{"status":"ready"}`, `"ok":true,"detail":"writes are accepted"`, 1},
		"full disk":    {storage.ErrNoSpace, 503, "too little disk space: writes are refused", `"ok":false,"detail":"too little disk space"`, 0},
		"failed write": {storage.ErrReadOnly, 503, "does not accept writes", `"ok":false`, 0},
	} {
		f.writable.Store(&c.writable)
		r := w.ask("GET", "/readyz", "")
		assert.Equal(t, c.status, r.status, name)
		assert.Contains(t, r.body, c.ready, name)
		assert.Contains(t, w.ask("GET", "/v1/doctor", "").body, c.doctor, name)
		assert.Contains(t, w.ask("GET", "/metrics", "").body, fmt.Sprintf("waymark_storage_healthy %d", c.gauge), name)
	}
}

// Readiness does not wait for a workspace that is being loaded.
func TestReadinessAnswersWhileLoading(t *testing.T) {
	w, f := onFaulty(t)
	require.Equal(t, 200, w.ask("GET", "/readyz", "").status) // it is known that there is no key
	hold := make(chan struct{})
	stuck := func(read func() error) error {
		<-hold
		return read()
	}
	f.view.Store(&stuck)
	w.cfg.Workspaces = live.NewWorkspaces(w.cfg.Store, unlearned) // as after a restart
	t.Cleanup(func() { require.NoError(t, w.cfg.Workspaces.Close(context.Background())) })
	requireProblem(t, 503, "the model is not loaded", w.ask("GET", "/readyz", ""))
	close(hold)
	require.Eventually(t, func() bool { return w.ask("GET", "/readyz", "").status == 200 }, 30*time.Second, 10*time.Millisecond)
}

// A write that is refused leaves no workspace behind: its name may be misspelt.
func TestRefusedWritesCreateNoWorkspace(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.Traces = record.NewFeed(hook.SpoolOf(t.TempDir()), c.Store, c.Workspaces.Open, time.Now, c.Logger).Collect
	})
	in := func(name string, more ...string) []string {
		return append([]string{bearerOf("local-token"), "Waymark-Workspace: " + name}, more...)
	}
	lines := "Content-Type: application/x-ndjson"
	for _, q := range []struct {
		method, path, body string
		header             []string
	}{
		{"POST", "/v1/episodes", `{"id":"x"}`, nil},
		{"POST", "/v1/episodes", `[{"id":"x","steps":[]}]`, nil},
		{"POST", "/v1/episodes", "{bad\n", []string{lines}},
		{"POST", "/v1/import", "{bad\n", []string{lines}},
		{"PUT", "/v1/tools", `[{"id":""}]`, nil},
		{"PUT", "/v1/capabilities", `[{"id":""}]`, nil},
		{"POST", "/v1/traces", `{}`, nil},
		{"POST", "/v1/traces", `{"resourceSpans":[{"scopeSpans":[]}]}`, nil},
		{"POST", "/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"zz"}]}]}]}`, nil},
	} {
		w.ask(q.method, q.path, q.body, in("misspelt", q.header...)...)
		assert.Equal(t, 404, w.ask("GET", "/v1/tools", "", in("misspelt")...).status, "%s %s %s", q.method, q.path, q.body)
	}
	assert.NotContains(t, w.ask("GET", "/v1/workspaces", "", in("default")...).body, "misspelt")

	require.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"x","steps":[{"tool":"a"}]}`, in("new")...).status)
	w.ask("POST", "/v1/episodes", `{"id":"x"}`, in("new")...)
	assert.Equal(t, 200, w.ask("GET", "/v1/tools", "", in("new")...).status)
	require.Less(t, w.ask("PUT", "/v1/workspaces/made", "", in("default")...).status, 300)
	w.ask("POST", "/v1/episodes", `{"id":"x"}`, in("made")...)
	assert.Equal(t, 200, w.ask("GET", "/v1/tools", "", in("made")...).status, "somebody created it")
}
