package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/live"
	"waymark/live/record"
	"waymark/server/internal/api"
	mcpserver "waymark/server/mcp"
)

// outside are ids that the agent of these tests must never get to see.
var outside = []string{"fs:read_file", "fs:write_file", "json:parse", "slack:get_issue", "desk:shred", "reformat", "cap:mixed", "cap:nested", "cap:bare"}

// officeWithAgent is the office with a desk, and an agent that may use part of both.
func officeWithAgent(t *testing.T) *Server {
	s, _ := officeWithDesk(t, func(c *Config) {
		engine, err := c.Workspaces.Open(t.Context(), api.DefaultWorkspace)
		require.NoError(t, err)
		c.Upstream.Mode, c.Upstream.SuggestAfter = mcpserver.ModeDirect, true
		c.Caller = record.New(func(context.Context) (record.Store, error) { return engine, nil }, c.Caller, record.Options{})
	})
	s.cfg.Upstream.Gateway.SetAgents(map[string][]string{"mail": {"desk:s*n", "desk:stamp", "github:*"}, "typo": {"fs:*fil"}})
	_, err := defaultEngine(t, s).PutCapabilities(t.Context(), []catalog.Capability{
		{ID: "triage", Description: "Find an issue", Intent: "find the issue about a crash", Tools: []string{"github:search_issues", "github:get_issue"}},
		{ID: "cap:mixed", Description: "Save an issue", Intent: "export an issue as json", Tools: []string{"github:get_issue", "fs:write_file"}},
		{ID: "cap:nested", Description: "Save an issue again", Intent: "export an issue as json", Tools: []string{"cap:mixed"}},
		{ID: "cap:bare", Description: "An issue without tools", Intent: "find the issue"},
	}, live.Approver)
	require.NoError(t, err)
	var episodes []episodic.Episode
	for i := range 9 {
		episodes = append(episodes, episodic.Episode{ID: fmt.Sprint("mail ", i), Steps: []episodic.Step{{Tool: "desk:stamp"}, {Tool: "desk:shred"}, {Tool: "desk:stamp"}, {Tool: "desk:sign"}}})
	}
	_, err = defaultEngine(t, s).Record(t.Context(), "test", episodes)
	require.NoError(t, err)
	_, err = defaultEngine(t, s).AddRule(t.Context(), live.Rule{Kind: live.RulePin, Tool: "fs:write_file", After: "desk:stamp"})
	require.NoError(t, err)
	_, err = defaultEngine(t, s).Build(t.Context())
	require.NoError(t, err)
	return s
}

// boundSessions are the ways in which a session gets a tool set. An empty agent is a session without one.
var boundSessions = map[string]func(t *testing.T, s *Server, agent string) *mcp.ClientSession{
	"stdio": func(t *testing.T, s *Server, agent string) *mcp.ClientSession {
		return withAgent(t, s, "2025-11-25", "local-token", api.DefaultWorkspace, agent)
	},
	"key": func(t *testing.T, s *Server, agent string) *mcp.ClientSession {
		_, key, err := s.createKey(t.Context(), "k", api.DefaultWorkspace, api.AllScopes, agent)
		require.NoError(t, err)
		return withAgent(t, s, "2026-07-28", key, "", "")
	},
}

func withAgent(t *testing.T, s *Server, revision, token, workspace, agent string) *mcp.ClientSession {
	return overPipes(t, revision, nil, relayTo(webOf(t, s).url, token, workspace, agent))
}

// agentQuestions are asked of a session; their contexts name no id outside.
func agentQuestions() (all []*mcp.CallToolParams) {
	intents := []string{"reformat a file", "find the issue about a crash", "export an issue as json", "write text to disk", "destroy a letter", "read"}
	for _, after := range [][]string{nil, {"github:search_issues"}, {"github:search_issues", "github:get_issue"}, {"desk:stamp"}} {
		for _, intent := range append(intents, "") {
			all = append(all, &mcp.CallToolParams{Name: "suggest_next", Arguments: map[string]any{"context": after, "intent": intent, "limit": 100}})
			if intent != "" {
				all = append(all, &mcp.CallToolParams{Name: "suggest_dag", Arguments: map[string]any{"context": after, "intent": intent, "max_steps": 25}},
					&mcp.CallToolParams{Name: "find_tool", Arguments: map[string]any{"context": after, "query": intent, "limit": 100, "explain": true}})
			}
		}
	}
	return append(all, &mcp.CallToolParams{Name: "find_tool", Arguments: map[string]any{"query": "issue", "context": []string{"github:serach_issues", "write_fil"}, "limit": 100}})
}

// agentAnswers are all that a session is told, by the name of the tool that tells it.
func agentAnswers(t *testing.T, client *mcp.ClientSession) map[string]string {
	said := map[string]string{}
	for _, q := range agentQuestions() {
		r, err := client.CallTool(t.Context(), q)
		require.NoError(t, err)
		require.False(t, r.IsError, "%v", r.Content)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		said[q.Name] += string(text) + "\n"
	}
	return said
}

func TestAgentSeesItsToolsOnly(t *testing.T) {
	s := officeWithAgent(t)
	for tool, text := range agentAnswers(t, boundSessions["stdio"](t, s, "")) {
		assert.Contains(t, text, "fs:write_file", "%s without a set", tool)
	}
	for name, open := range boundSessions {
		t.Run(name, func(t *testing.T) {
			client := open(t, s, "mail")
			assert.Subset(t, listedNames(t, client), []string{"call_tool", "desk__sign", "desk__stamp", "find_tool"})
			assert.NotContains(t, listedNames(t, client), "desk__shred")
			said := agentAnswers(t, client)
			for tool, text := range said {
				for _, id := range outside {
					if !strings.Contains(id, ":") {
						id = `"` + id + `"`
					}
					at := strings.Index(text, id)
					assert.Negative(t, at, "%s: %.200s", tool, text[max(0, at-60):])
				}
				assert.Contains(t, text, "github:get_issue", tool)
			}
			assert.Contains(t, said["find_tool"], "desk:stamp")
			assert.Contains(t, said["find_tool"], `"triage"`, "a capability of tools inside")
		})
	}
}

func TestAgentCallsItsToolsOnly(t *testing.T) {
	for name, open := range boundSessions {
		t.Run(name, func(t *testing.T) {
			s := officeWithAgent(t)
			require.NoError(t, s.cfg.Upstream.Gateway.Grant(t.Context(), "desk:*"))
			client, letter := open(t, s, "mail"), map[string]any{"letter": "a"}
			after := func(client *mcp.ClientSession) string {
				r := call(t, client, "call_tool", map[string]any{"tool": "desk:stamp", "arguments": letter})
				assert.False(t, r.IsError)
				return textOf(t, r) + fmt.Sprint(r.StructuredContent)
			}
			assert.Contains(t, after(open(t, s, "")), "desk:shred", "without a set it usually comes next")
			said := after(client)
			assert.NotContains(t, said, "desk:shred")
			assert.NotContains(t, said, "fs:write_file")
			assert.False(t, call(t, client, "desk__stamp", letter).IsError)
			dag := func(tool string) map[string]any {
				return map[string]any{"dag": map[string]any{"tasks": []any{map[string]any{"id": "a", "tool": tool, "arguments": letter}}}}
			}
			assert.False(t, call(t, client, "run_dag", dag("desk:stamp")).IsError)
			for _, refused := range []struct {
				tool      string
				arguments any
				id        string
			}{
				{"call_tool", map[string]any{"tool": "desk:shred", "arguments": letter}, "desk:shred"},
				{"call_tool", map[string]any{"tool": "mcp__desk__shred", "arguments": letter}, "mcp__desk__shred"},
				{"desk__shred", letter, "desk:shred"},
				{"run_dag", dag("desk:shred"), "desk:shred"},
				{"run_dag", dag("cap:mixed"), "cap:mixed"},
				{"run_dag", dag("cap:nested"), "cap:nested"},
				{"describe_tool", map[string]any{"ids": []string{"desk:shred"}}, "desk:shred"},
				{"describe_tool", map[string]any{"ids": []string{"cap:mixed"}}, "cap:mixed"},
				{"describe_tool", map[string]any{"ids": []string{"get_issue"}}, "get_issue"},
			} {
				r := call(t, client, refused.tool, refused.arguments)
				assert.True(t, r.IsError, "%v", refused)
				assert.Contains(t, textOf(t, r), refused.id+` is not in the tool set of agent "mail"`)
				assert.NotContains(t, textOf(t, r), "slack")
			}
			for _, unknown := range []string{"github:write_file", "github:fs_read_file"} {
				assert.NotContains(t, textOf(t, call(t, client, "run_dag", dag(unknown))), "fs:", "unknown ids are compared with those inside")
				assert.NotContains(t, textOf(t, call(t, client, "describe_tool", map[string]any{"ids": []string{unknown}})), "fs:")
			}
			assert.NotContains(t, textOf(t, call(t, open(t, s, "typo"), "describe_tool", map[string]any{"ids": []string{"fs:write_fil"}})), "write_file", "no id outside is proposed")
			shred := map[string]any{"tool": "desk:shred", "arguments": letter}
			assert.Contains(t, textOf(t, call(t, open(t, s, ""), "call_tool", shred)), "call it with call_changing_tool")
			assert.False(t, call(t, open(t, s, ""), "call_changing_tool", shred).IsError, "granted, and no set")

			run := answerOf[struct{ ID string }](t, call(t, open(t, s, ""), "run_dag", dag("desk:shred"))).ID
			assert.Contains(t, textOf(t, call(t, client, "run_dag", map[string]any{"id": run})), "desk:shred is not in the tool set")
		})
	}
}
