package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// A sign-in link works once and for two minutes; the session it gives is that of the credential behind it.
func TestSignInLink(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w := newWeb(t, func(c *Config) { c.RequireKey, c.Now = true, func() time.Time { return now } })
	root := bearerOf("local-token")
	link := func(header ...string) string {
		r := w.ask("POST", "/v1/sign-in-links", "", header...)
		require.Equal(t, "no-store", r.header.Get("Cache-Control"))
		_, code, ok := strings.Cut(parse[struct{ Path string }](t, 200, r).Path, "/#/sign-in?code=")
		require.True(t, ok, r.body)
		return code
	}
	exchange := func(code string) reply { return w.ask("POST", "/v1/sign-in-links/exchange", `{"code":"`+code+`"}`) }
	enter := func(code string) string {
		return bearerOf(parse[struct{ Token string }](t, 200, exchange(code)).Token)
	}
	requireProblem(t, 401, "API key", w.ask("POST", "/v1/sign-in-links", ""))
	made := parse[keyMade](t, 200, w.ask("POST", "/v1/keys", `{"name":"k","workspace":"team","scopes":["read","admin"]}`, root))

	code := link(bearerOf(made.Key))
	session := enter(code)
	requireProblem(t, 410, "was used already, or has expired after two minutes; POST /v1/sign-in-links makes another", exchange(code))
	requireProblem(t, 410, "was used already", exchange("guess"))
	require.NotContains(t, session, made.Key)
	require.Equal(t, 200, w.ask("GET", "/v1/stats", "", session).status)
	reader := parse[keyMade](t, 200, w.ask("POST", "/v1/keys", `{"name":"r","workspace":"team","scopes":["read"]}`, root))
	requireProblem(t, 403, "scope admin", w.ask("POST", "/v1/sign-in-links", "", bearerOf(reader.Key)))
	requireProblem(t, 403, "local token", w.ask("GET", "/v1/stats", "", session, "Waymark-Workspace: default"))

	late := link(root)
	now = now.Add(3 * time.Minute)
	requireProblem(t, 410, "expired after two minutes", exchange(late))

	// A session made by a session ends with the same key.
	second := enter(link(session))
	require.Equal(t, 204, w.ask("DELETE", "/v1/keys/"+made.ID, "", root).status)
	requireProblem(t, 401, "revoked", w.ask("GET", "/v1/stats", "", session))
	requireProblem(t, 401, "revoked", w.ask("GET", "/v1/stats", "", second))

	owner := enter(link(root, "Waymark-Workspace: team"))
	require.Equal(t, "team", parse[struct{ Workspace string }](t, 200, w.ask("POST", "/v1/sign-in-links/exchange", `{"code":"`+link(owner)+`"}`)).Workspace)
	require.Equal(t, 200, w.ask("GET", "/v1/keys", "", owner).status)
	now = now.Add(13 * time.Hour)
	requireProblem(t, 401, "the session has ended", w.ask("GET", "/v1/stats", "", owner))
}

// Links and sessions do not pile up: the oldest of a credential gives way.
func TestSignInLinksAreLimited(t *testing.T) {
	w := newWeb(t)
	link := func(credential string) string {
		a, err := w.signInLink(api.With(t.Context(), api.Access{Credential: credential}), nil)
		require.NoError(t, err)
		_, code, _ := strings.Cut(a.Path, "code=")
		return code
	}
	theirs := link("theirs")
	for range 10 * mostOwn {
		link("greedy")
	}
	require.Len(t, w.page.all, 1+mostOwn)
	_, ok := w.page.get(theirs, w.cfg.Now())
	require.True(t, ok)
}
