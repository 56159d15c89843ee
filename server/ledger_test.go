package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/server/internal/request"
	"waymark/server/ledger"
	mcpserver "waymark/server/mcp"
)

// Every call that looks for tools is on the account of its conversation, with what was really sent.
func TestLedger(t *testing.T) {
	eachWay(t, nil, func(t *testing.T, s *Server, client *mcp.ClientSession) {
		listed := 0
		tools, err := client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		for _, tool := range tools.Tools {
			text, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description, "inputSchema": tool.InputSchema})
			require.NoError(t, err)
			listed += len(text)
		}
		book := func() ledger.Totals { return s.books.Of(request.DefaultWorkspace).Totals() }
		require.Zero(t, book().Turns)

		first := answerOf[mcpserver.FindAnswer](t, call(t, client, "find_tool", map[string]any{"query": "read a file"})).TokenMetrics
		assert.Equal(t, 1, first.Turns)
		assert.InDelta(t, first.BaselineTokens-ledger.Tokens(listed), first.Gross, 4)
		assert.Equal(t, first.Gross-first.Spent, first.Net)
		assert.Greater(t, first.Spent, first.ReturnedTokens)

		call(t, client, "describe_tool", map[string]any{"ids": []string{"fs:read_file"}})
		second := answerOf[mcpserver.FindAnswer](t, call(t, client, "find_tool", map[string]any{"query": "parse"})).TokenMetrics
		assert.Equal(t, 3, second.Turns)
		assert.Equal(t, first.Gross, second.Gross, "definitions are avoided once a conversation")
		assert.Greater(t, second.Spent, first.Spent+second.ReturnedTokens)

		assert.Equal(t, ledger.Totals{Conversations: 1, Balance: second.Balance, Estimate: true}, book())
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		resp, err := http.Get(web.URL + "/v1/stats")
		require.NoError(t, err)
		defer resp.Body.Close()
		var stats struct {
			Ledger ledger.Totals `json:"token_ledger"`
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&stats))
		assert.Equal(t, book(), stats.Ledger)

		s.Close()
		next, err := New(Config{Store: s.cfg.Store, Workspaces: s.cfg.Workspaces})
		require.NoError(t, err)
		defer next.Close()
		assert.Equal(t, book(), next.books.Of(request.DefaultWorkspace).Totals(), "a restart keeps the account")
	})
}
