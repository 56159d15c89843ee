package server

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	"waymark/server/internal/api"
)

// An inquiry calls a tool of another server as call_tool does: for the workspace that the server belongs to, with scope
// write, within the tool set, and under the name of the caller.
func TestInquiriesCallToolsAsTheirCaller(t *testing.T) {
	var noted *noting
	s, _ := officeWithDesk(t, func(c *Config) {
		noted = &noting{Caller: c.Caller}
		c.Caller = noted
	})
	require.NoError(t, s.cfg.Upstream.Gateway.Grant(t.Context(), "desk:*"))
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(ts.Close)
	w := web{Server: s, t: t, url: ts.URL}
	key := func(workspace string, scopes api.Scopes, agent string) (source, header string) {
		k, token, err := s.createKey(t.Context(), "", workspace, scopes, agent)
		require.NoError(t, err)
		return "key:" + k.ID, "Authorization: Bearer " + token
	}
	headerOf := func(workspace string, scopes api.Scopes, agent string) string {
		_, header := key(workspace, scopes, agent)
		return header
	}
	source, own := key(api.DefaultWorkspace, api.AllScopes, "")
	const asked = `{"question":"Why?","search_tool":"desk:stamp","search_argument":"letter"}`
	for name, c := range map[string]struct {
		key    string
		status int
		says   string
	}{
		"another workspace": {headerOf("other", api.AllScopes, ""), 422, "no servers"},
		"scope read":        {headerOf(api.DefaultWorkspace, api.ScopeRead, ""), 403, "scope write"},
		"outside the set":   {headerOf(api.DefaultWorkspace, api.AllScopes, "nobody"), 403, "nobody"},
		"its own":           {own, 200, `"text":"done"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.ask("POST", "/v1/triangulations", asked, c.key)
			assert.Equal(t, c.status, r.status, r.body)
			assert.Contains(t, r.body, c.says)
		})
	}
	assert.Equal(t, []string{source}, noted.sources)
}

// noting writes down who calls.
type noting struct {
	run.Caller
	sources []string
}

func (n *noting) Call(ctx context.Context, c run.Call) (run.Result, error) {
	n.sources = append(n.sources, c.Source)
	return n.Caller.Call(ctx, c)
}
