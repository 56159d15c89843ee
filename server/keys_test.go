package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest/evaluate"
)

type keyMade struct{ ID, Name, Workspace, Key string }

func bearerOf(token string) string { return "Authorization: Bearer " + token }

// A key lives from its creation to its revocation, and at no other time.
func TestLifeOfAKey(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	root := bearerOf("local-token")
	r := w.ask("POST", "/v1/keys", `{"name":"ci","workspace":"team","scopes":["read","write"]}`, root)
	made := parse[keyMade](t, 200, r)
	assert.Equal(t, "no-store", r.header.Get("Cache-Control"))
	assert.Regexp(t, `^wmk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$`, made.Key)
	assert.Equal(t, "team", made.Workspace)
	key := bearerOf(made.Key)
	assert.Equal(t, 200, w.ask("GET", "/v1/stats", "", key).status)
	assert.Equal(t, 200, w.ask("POST", "/v1/episodes", `{"id":"e","steps":[{"tool":"a"}]}`, key).status)
	assert.Equal(t, 200, w.ask("GET", "/metrics", "", key).status)

	// Of the secret only a hash is stored, and it is shown nowhere again.
	secret := made.Key[strings.LastIndexByte(made.Key[:22], '_')+1:]
	for entry, err := range w.cfg.Store.System().List(t.Context(), "") {
		require.NoError(t, err)
		assert.NotContains(t, string(entry.Value)+entry.Key, secret)
	}
	list := w.ask("GET", "/v1/keys", "", root)
	assert.Contains(t, list.body, made.ID)
	assert.NotContains(t, list.body, "sha256")

	// What is almost the key is not the key.
	flipped := []byte(made.Key)
	flipped[len(flipped)-2] ^= 1
	for _, token := range []string{
		string(flipped), made.Key[:len(made.Key)-1], made.Key + "x", strings.ToUpper(made.Key), "wmk_" + made.ID + "_", "wmk__" + secret,
		secret, made.ID, "wmk_0000000000000000_" + secret, "local-toke", "local-token2", "",
		"wmk_../../../system_" + secret,
	} {
		r := w.ask("GET", "/v1/stats", "", bearerOf(token))
		requireProblem(t, 401, "", r)
		assert.Equal(t, `Bearer realm="waymark"`, r.header.Get("WWW-Authenticate"))
	}
	requireProblem(t, 401, "", w.ask("GET", "/v1/stats", "", "Authorization: Basic "+made.Key))
	requireProblem(t, 401, "", w.ask("GET", "/v1/stats?key="+made.Key, ""))

	assert.Equal(t, 204, w.ask("DELETE", "/v1/keys/"+made.ID, "", root).status)
	requireProblem(t, 401, "revoked", w.ask("GET", "/v1/stats", "", key))
	requireProblem(t, 404, made.ID, w.ask("DELETE", "/v1/keys/"+made.ID, "", root))

	for body, mention := range map[string]string{
		`{"name":"x","scopes":[]}`:                             "scopes",
		`{"name":"x","scopes":["root"]}`:                       "scopes",
		`{"name":"","scopes":["read"]}`:                        "name",
		`{"name":"a\u001b[2Jb","scopes":["read"]}`:             "name",
		`{"name":"x","scopes":["read"],"workspace":"../x"}`:    "workspace",
		`{"name":"x","scopes":["read"],"workspace":"Default"}`: "workspace",
	} {
		requireProblem(t, 422, mention, w.ask("POST", "/v1/keys", body, root))
	}
}

// One tenant neither sees nor moves another, and cannot name a workspace other than its own.
func TestTenantsAreApart(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	tenant := func(workspace string) string {
		_, token, err := w.createKey(t.Context(), workspace, workspace, api.AllScopes, "")
		require.NoError(t, err)
		return bearerOf(token)
	}
	a, b := tenant("a"), tenant("b")
	parse[live.PutResult](t, 200, w.ask("PUT", "/v1/tools", `[{"id":"a:canary","description":"canary"}]`, a))
	made := parse[keyMade](t, 200, w.ask("POST", "/v1/keys", `{"name":"second","scopes":["read"]}`, a))
	assert.Equal(t, "a", made.Workspace)
	job := parse[live.Job](t, 202, w.ask("POST", "/v1/rebuild", `{}`, a))

	requireProblem(t, 404, "canary", w.ask("GET", "/v1/tools/a:canary", "", b))
	requireProblem(t, 404, "canary", w.ask("DELETE", "/v1/tools/a:canary", "", b))
	requireProblem(t, 404, made.ID, w.ask("DELETE", "/v1/keys/"+made.ID, "", b))
	requireProblem(t, 404, job.ID, w.ask("GET", "/v1/jobs/"+job.ID, "", b))
	for _, path := range []string{"/v1/tools", "/v1/stats", "/v1/graph", "/v1/export", "/v1/keys", "/v1/workspaces", "/metrics", "/"} {
		r := w.ask("GET", path, "", b)
		assert.Equal(t, 200, r.status, path)
		assert.NotContains(t, r.body, "canary", path)
		assert.NotContains(t, r.body, made.ID, path)
	}
	assert.JSONEq(t, `{"workspaces":["b"]}`, w.ask("GET", "/v1/workspaces", "", b).body)
	requireProblem(t, 403, "its own workspace", w.ask("POST", "/v1/keys", `{"name":"x","workspace":"a","scopes":["read"]}`, b))
	requireProblem(t, 403, "operator", w.ask("DELETE", "/v1/workspaces/a", "", b))
	requireProblem(t, 403, "operator", w.ask("GET", "/v1/backup", "", b))
	for _, header := range []string{"Waymark-Workspace: a", "Waymark-Source: somebody"} {
		requireProblem(t, 403, "local token", w.ask("GET", "/v1/stats", "", b, header))
	}
}

// The local command line chooses workspace and source; nobody else on the loopback does.
func TestLocalToken(t *testing.T) {
	w := newWeb(t)
	local := bearerOf("local-token")
	r := w.ask("POST", "/v1/episodes", `{"id":"e1","source":"x","steps":[{"tool":"a"}]}`, local, "Waymark-Workspace: other", "Waymark-Source: import:dataset")
	assert.Equal(t, 200, r.status, r.body)
	assert.Eventually(t, func() bool {
		return strings.Contains(w.ask("GET", "/v1/stats", "", local, "Waymark-Workspace: other").body, `"sources":{"import:dataset":1}`)
	}, 30*time.Second, 5*time.Millisecond)
	assert.Contains(t, w.ask("GET", "/v1/stats", "").body, `"sources":{"test":14}`, "the default workspace is untouched")
	requireProblem(t, 403, "local token", w.ask("GET", "/v1/stats", "", "Waymark-Workspace: other"))
	requireProblem(t, 400, "workspace", w.ask("GET", "/v1/stats", "", local, "Waymark-Workspace: ../x"))
	requireProblem(t, 400, "source", w.ask("GET", "/v1/stats", "", local, "Waymark-Source: a b"))
	requireProblem(t, 401, "", w.ask("GET", "/v1/stats", "", bearerOf("wrong")))
}

// A key whose row was changed on disk opens nothing.
func TestDamagedKeyOpensNothing(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	info, token, err := w.createKey(t.Context(), "k", "w", api.ScopeRead, "")
	require.NoError(t, err)
	row, err := w.storedKey(t.Context(), info.ID)
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(row), strings.TrimPrefix(token, keyPrefix+info.ID+"_"), "the secret is not stored")
	for name, change := range map[string]func(*storedKey){
		"no hash":   func(k *storedKey) { k.SHA256 = "" },
		"bad scope": func(k *storedKey) { k.Scopes = []string{"everything"} },
	} {
		damaged := row
		change(&damaged)
		value, _ := json.Marshal(damaged)
		err := w.cfg.Store.System().Put(t.Context(), keyRow+info.ID, value)
		require.NoError(t, err)
		r := w.ask("GET", "/v1/stats", "", bearerOf(token))
		assert.Contains(t, []int{401, 500}, r.status, "%s: %s", name, fmt.Sprint(r))
	}
	err = w.cfg.Store.System().Put(t.Context(), keyRow+info.ID, []byte("{"))
	require.NoError(t, err)
	assert.Equal(t, 500, w.ask("GET", "/v1/stats", "", bearerOf(token)).status)
}

// A key learns nothing of the process and of the requests of others.
func TestMetricsAreApart(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.RequireKey = true })
	a, b := w.twoKeys()
	for range 3 {
		require.Equal(t, 200, w.ask("POST", "/v1/next", `{}`, b).status)
	}
	require.Equal(t, 200, w.ask("POST", "/v1/next", `{}`, a).status)
	const next = `waymark_http_requests_total{method="POST",route="/v1/next",status="200"} `
	for key, all := range map[string]bool{a: false, b: false, bearerOf("local-token"): true} {
		body := w.ask("GET", "/metrics", "", key).body
		assert.Equal(t, all, strings.Contains(body, next+"4"))
		assert.Contains(t, body, "waymark_model_nodes")
		assert.Equal(t, all, strings.Contains(body, "go_goroutines"))
	}
	_, admin, err := w.createKey(t.Context(), "scraper", api.DefaultWorkspace, api.AllScopes, "")
	require.NoError(t, err)
	assert.Contains(t, w.ask("GET", "/metrics", "", "Authorization: Bearer "+admin).body, "go_goroutines")
	_, reader, err := w.createKey(t.Context(), "reader", api.DefaultWorkspace, api.ScopeRead, "")
	require.NoError(t, err)
	assert.NotContains(t, w.ask("GET", "/metrics", "", "Authorization: Bearer "+reader).body, "go_goroutines")
}

// A workspace of the name of a deleted one does not show its evaluation.
func TestDeletedWorkspaceLeavesNoEvaluation(t *testing.T) {
	data := t.TempDir()
	w := newWeb(t, func(c *Config) { c.Data = data })
	root := bearerOf("local-token")
	for range 2 {
		w.ask("PUT", "/v1/workspaces/a", "", root)
		requireProblem(t, 404, "waymark evaluate", w.ask("GET", "/v1/evaluation", "", root, "Waymark-Workspace: a"))
		file := evaluate.KeptFile(data, "a")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(`{"report":{"profile":"seed"}}`), 0o600))
		require.Contains(t, w.ask("GET", "/v1/evaluation", "", root, "Waymark-Workspace: a").body, `"seed"`)
		require.Equal(t, 204, w.ask("DELETE", "/v1/workspaces/a", "", root).status)
	}
}
