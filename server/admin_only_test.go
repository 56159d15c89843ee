package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/request"
)

// What overrules a check needs scope admin.
func TestOnlyAdminsOverrule(t *testing.T) {
	w := newWeb(t)
	key := func(scopes request.Scopes) string {
		_, token, err := w.createKey(t.Context(), "", request.DefaultWorkspace, scopes, "")
		require.NoError(t, err)
		return "Authorization: Bearer " + token
	}
	write, admin := key(request.ScopeRead|request.ScopeWrite), key(request.AllScopes)
	requireProblem(t, 403, "scope admin", w.ask("POST", "/v1/rebuild", `{"force":true}`, write))
	assert.Equal(t, 202, w.ask("POST", "/v1/rebuild", `{"force":true}`, admin).status)
	assert.Equal(t, 202, w.ask("POST", "/v1/rebuild", `{}`, write).status)
}

// A judgement alone neither compares nor publishes.
func TestDryRunGoesAlone(t *testing.T) {
	w := newWeb(t)
	for _, with := range []string{"verify", "force"} {
		requireProblem(t, 422, "neither verify nor force", w.ask("POST", "/v1/rebuild", `{"dry_run":true,"`+with+`":true}`))
	}
	assert.Contains(t, w.ask("POST", "/v1/rebuild", `{"dry_run":true}`).body, `"judge"`)
}
