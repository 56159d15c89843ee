package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/gateway"
	"waymark/live"
	"waymark/storage"
	"waymark/storage/eventlog"
)

// controlled is a replica with control data in the shared log.
func controlled(t *testing.T, log eventlog.Log) web {
	store, err := eventlog.Share(t.Context(), storage.NewMemory(), log)
	require.NoError(t, err)
	workspaces := live.NewWorkspaces(store, live.Options{Shared: log})
	s, err := New(Config{Store: store, Workspaces: workspaces, Version: "test", Access: Access{LocalToken: "local-token", RequireKey: true}})
	require.NoError(t, err)
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		ts.Close()
		s.Close()
		require.NoError(t, workspaces.Close(context.Background()))
		store.Leave()
	})
	return web{s, t, ts.URL}
}

// becomes waits for a status: the control log is looked at every 250 ms.
func (w web) becomes(status int, method, path, body string, header ...string) {
	w.t.Helper()
	var last reply
	for range 300 {
		if last = w.ask(method, path, body, header...); last.status == status {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Equal(w.t, status, last.status, last.body)
}

// Keys, workspaces and the quarantine are those of all replicas.
func TestReplicasShareControlData(t *testing.T) {
	log := eventlog.NewLocal(storage.NewMemory())
	a, b := controlled(t, log), controlled(t, log)
	root := bearerOf("local-token")
	made := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", `{"name":"ci","workspace":"team","scopes":["read","write"]}`, root))
	key := bearerOf(made.Key)
	b.becomes(200, "GET", "/v1/stats", "", key)
	require.Contains(t, b.ask("GET", "/v1/workspaces", "", root).body, `"team"`)

	flagged := fmt.Sprintf(`[{"id":"sheets:read","server":"sheets","description":%q}]`, evilText)
	r := a.ask("PUT", "/v1/tools", flagged, key)
	require.Equal(t, 200, r.status, r.body)
	waiting := func(w web) []gateway.Withheld {
		return parse[struct{ Tools []gateway.Withheld }](t, 200, w.ask("GET", "/v1/quarantine", "", root, "Waymark-Workspace: team")).Tools
	}
	require.Eventually(t, func() bool { return len(waiting(b)) == 1 }, time.Minute, 20*time.Millisecond)
	require.NotContains(t, b.ask("GET", "/v1/tools", "", key).body, "id_rsa")
	approve := fmt.Sprintf(`{"tools":[{"id":"sheets:read","fingerprint":%q}]}`, waiting(b)[0].Fingerprint)
	require.Equal(t, 200, b.ask("POST", "/v1/quarantine/approve", approve, root, "Waymark-Workspace: team").status)
	require.Eventually(t, func() bool { return len(waiting(a)) == 0 }, time.Minute, 20*time.Millisecond)
	b.becomes(204, "DELETE", "/v1/tools/sheets:read", "", key)
	a.becomes(404, "GET", "/v1/tools/sheets:read", "", key)
	put := parse[live.PutResult](t, 200, a.ask("PUT", "/v1/tools", `[{"id":"sheets:read","server":"sheets","description":"Deletes."}]`, key))
	require.Len(t, put.Flagged, 1, "what was approved outlives its removal on every replica")
	require.True(t, put.Flagged[0].Quarantined)

	require.Equal(t, 204, b.ask("DELETE", "/v1/keys/"+made.ID, "", root).status)
	require.Equal(t, 401, b.ask("GET", "/v1/stats", "", key).status)
	a.becomes(401, "GET", "/v1/stats", "", key)
}

// A workspace that is deleted on one replica is gone from all, also from those that were not there, and one of its name
// begins anew.
func TestReplicasDeleteWorkspaces(t *testing.T) {
	log := eventlog.NewLocal(storage.NewMemory())
	a, b := controlled(t, log), controlled(t, log)
	root, team := bearerOf("local-token"), "Waymark-Workspace: team"
	for round := range 2 {
		old, made := fmt.Sprint("old", round), parse[keyMade](t, 200, a.ask("POST", "/v1/keys", `{"name":"ci","workspace":"team","scopes":["read","write"]}`, root))
		require.Equal(t, 200, a.ask("PUT", "/v1/tools", fmt.Sprintf(`[{"id":"sheets:read","description":%q}]`, evilText), bearerOf(made.Key)).status)
		require.Equal(t, 200, a.ask("POST", "/v1/episodes", fmt.Sprintf(`{"id":"e","steps":[{"tool":"x"},{"tool":%q}]}`, old), bearerOf(made.Key)).status)
		next := func(w web) string { return w.ask("POST", "/v1/next", `{"context":["x"]}`, root, team).body }
		require.Eventually(t, func() bool { return strings.Contains(next(b), old) }, time.Minute, 10*time.Millisecond)
		require.NotContains(t, next(b), fmt.Sprint("old", round-1))
		require.Contains(t, b.ask("GET", "/v1/quarantine", "", root, team).body, "sheets:read")

		require.Equal(t, 204, b.ask("DELETE", "/v1/workspaces/team", "", root).status)
		require.NotContains(t, b.ask("GET", "/v1/workspaces", "", root).body, "team")
		a.becomes(401, "GET", "/v1/stats", "", bearerOf(made.Key))
		late := controlled(t, log)
		for _, w := range []web{a, b, late} {
			require.Eventually(t, func() bool { return !strings.Contains(w.ask("GET", "/v1/workspaces", "", root).body, "team") }, time.Minute, 10*time.Millisecond)
			w.becomes(404, "GET", "/v1/stats", "", root, team)
		}
		for _, w := range []web{a, b, late} {
			names, err := w.cfg.Store.Workspaces(t.Context())
			require.NoError(t, err)
			require.NotContains(t, names, "team", "nothing is left in the store")
		}
	}
	require.Equal(t, 204, a.ask("DELETE", "/v1/workspaces/default", "", root).status)
	require.Equal(t, 200, a.ask("GET", "/v1/stats", "", root).status)
}

// A replica that is cut off from the log accepts keys for a while only: one may have been revoked. The local token goes on.
func TestReplicaWithoutTheLogRefusesKeys(t *testing.T) {
	log := eventlog.NewLocal(storage.NewMemory())
	link := &slowLink{Log: log}
	a, b := controlled(t, log), controlled(t, link)
	store := b.cfg.Store.(*eventlog.Shared)
	root := bearerOf("local-token")
	kept := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", `{"name":"kept","scopes":["read"]}`, root))
	revoked := parse[keyMade](t, 200, a.ask("POST", "/v1/keys", `{"name":"revoked","scopes":["read"]}`, root))
	b.becomes(200, "GET", "/v1/stats", "", bearerOf(revoked.Key))
	link.down.Store(true)
	require.Equal(t, 204, a.ask("DELETE", "/v1/keys/"+revoked.ID, "", root).status)
	require.Equal(t, 200, b.ask("GET", "/v1/stats", "", bearerOf(revoked.Key)).status, "within the grace")
	store.SetGrace(time.Nanosecond)
	for _, key := range []string{kept.Key, revoked.Key} {
		r := b.ask("GET", "/v1/stats", "", bearerOf(key))
		requireProblem(t, 503, "keys may have been revoked", r)
		require.NotEmpty(t, r.header.Get("Retry-After"))
	}
	require.Equal(t, 200, b.ask("GET", "/v1/stats", "", root).status)
	store.SetGrace(eventlog.DefaultGrace)
	link.down.Store(false)
	b.becomes(401, "GET", "/v1/stats", "", bearerOf(revoked.Key))
	require.Equal(t, 200, b.ask("GET", "/v1/stats", "", bearerOf(kept.Key)).status)
}
