package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/api"
)

// An inquiry calls a tool of another server as call_tool does: for the workspace that the server belongs to, with scope
// write, within the tool set, and under the name of the caller.
func TestInquiriesCallToolsAsTheirCaller(t *testing.T) {
	s, noted := officeWithCallers(t)
	require.NoError(t, s.cfg.Upstream.Gateway.Grant(t.Context(), "desk:*"))
	w := webOf(t, s)
	const asked = `{"question":"Why?","search_tool":"desk:stamp","search_argument":"letter"}`
	var source string
	for _, c := range []struct {
		name, workspace string
		scopes          api.Scopes
		agent           string
		status          int
		says            string
	}{
		{"another workspace", "other", api.AllScopes, "", 422, "no servers"},
		{"scope read", api.DefaultWorkspace, api.ScopeRead, "", 403, "scope write"},
		{"outside the set", api.DefaultWorkspace, api.AllScopes, "nobody", 403, "nobody"},
		{"its own", api.DefaultWorkspace, api.AllScopes, "", 200, `"text":"done"`},
	} {
		k, token, err := s.createKey(t.Context(), "", c.workspace, c.scopes, c.agent)
		require.NoError(t, err)
		source = "key:" + k.ID
		r := w.ask("POST", "/v1/triangulations", asked, bearerOf(token))
		assert.Equal(t, c.status, r.status, "%s: %s", c.name, r.body)
		assert.Contains(t, r.body, c.says)
	}
	assert.Equal(t, []string{source}, noted.sources)
}
