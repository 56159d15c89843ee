package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// A server on loopback is open until there is a key. From then on every route but the public ones refuses who has no
// credential and who has a revoked one, and takes a key by its scopes, whatever the address.
func TestEveryRouteByCredential(t *testing.T) {
	for _, always := range []bool{false, true} {
		everyRoute(t, newWeb(t, func(c *Config) { c.RequireKey = always }))
	}
}

func everyRoute(t *testing.T, w web) {
	if !w.cfg.RequireKey {
		require.Equal(t, 200, w.ask("GET", "/v1/stats", "").status, "open, as there is no key")
	}
	key := func(set api.Scopes) string {
		_, text, err := w.createKey(t.Context(), "k", api.DefaultWorkspace, set, "")
		require.NoError(t, err)
		return bearerOf(text)
	}
	gone, text, err := w.createKey(t.Context(), "gone", api.DefaultWorkspace, api.AllScopes, "")
	require.NoError(t, err)
	require.NoError(t, w.keys().Delete(t.Context(), keyRow+gone.ID))
	callers := []struct {
		name, header string
		scopes       api.Scopes
	}{
		{"none", "", 0}, {"revoked", bearerOf(text), 0}, {"read", key(api.ScopeRead), api.ScopeRead},
		{"write", key(api.ScopeRead | api.ScopeWrite), api.ScopeRead | api.ScopeWrite}, {"admin", key(api.AllScopes), api.AllScopes},
	}
	routes := 0
	for route, ru := range w.routes.Rules {
		method, path, _ := strings.Cut(route, " ")
		if method == "ANY" {
			method = http.MethodPost
		}
		path = strings.NewReplacer(":id", "no-such-thing", ":name", "no-such-thing").Replace(path)
		for _, c := range callers {
			if ru.Stream && method == http.MethodGet && c.scopes&ru.Scope == ru.Scope {
				continue // an answer may have no end
			}
			got, what := w.ask(method, path, "", c.header).status, fmt.Sprintf("%s by %s, RequireKey %v", route, c.name, w.cfg.RequireKey)
			switch {
			case ru.Public:
				assert.NotContains(t, []int{401, 403}, got, what)
			case c.scopes == 0:
				assert.Equal(t, 401, got, what)
			case c.scopes&ru.Scope != ru.Scope:
				assert.Equal(t, 403, got, what)
			case c.scopes != api.AllScopes:
				assert.NotContains(t, []int{401, 403}, got, what)
			default: // an operator's act is refused to every key
				assert.NotEqual(t, 401, got, what)
			}
			routes++
		}
	}
	require.Greater(t, routes, 200)
}
