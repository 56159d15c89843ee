package mcpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/run"
	"waymark/server/internal/api"
	"waymark/storage"
)

// firstStructured is the revision that brought structured answers; older clients read the text only.
const firstStructured = "2025-06-18"

const toolRecord = "record_episode"

// quickTools answer at once, and do no harm when they are called twice: the relay repeats a call of them that was lost
// with its server.
var quickTools = []string{"find_tool", "describe_tool", "suggest_next", "suggest_dag", toolReadResult, toolRecord}

// mcpTools answers the calls of one server.
type mcpTools struct {
	cfg      Config
	stateKey []byte // signs what a host brings back
	results  *keptResults
	listed   listedTools // of other servers
}

// offer adds a tool to a server.
func (m *mcpTools) offer(srv *mcp.Server, t api.Tool) {
	reads := t.Scope == api.ScopeRead
	shown := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: reads, IdempotentHint: reads, DestructiveHint: &t.Destructive, OpenWorldHint: &t.OpenWorld}}
	if t.Screen != "" {
		shown.Meta = mcp.Meta{"ui": map[string]any{"resourceUri": uriApps + t.Screen}}
	}
	srv.AddTool(shown, m.handler(t))
}

// handler runs one tool: who asks, may they, for how long.
func (m *mcpTools) handler(t api.Tool) mcp.ToolHandler {
	timeout := m.cfg.Routes.TimeLimit(t.Rule)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		a := requestAccess(ctx, req.Extra)
		if !a.May(t.Scope) {
			return refusal(fmt.Errorf("%s needs the scope %v, this credential has %v", t.Name, t.Scope.Names(), a.Scopes.Names())), nil
		}
		a.Session = episodeSession(req, a)
		ctx = api.WithExchange(api.With(ctx, a), &api.Exchange{Progress: progressTo(ctx, req)})
		answer, err := api.InTurn(ctx, m.cfg.Routes, t.Rule, int64(len(req.Params.Arguments)), func() (api.Told, error) {
			return t.Call(ctx, req.Params.Arguments)
		})
		if err != nil {
			return m.failed(ctx, t.Name, err), nil
		}
		if req.ProtocolVersion() < firstStructured {
			answer.Text = string(answer.JSON)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Text}}, StructuredContent: answer.JSON}, nil
	}
}

// requestAccess is the access of one request: of the HTTP request that carried it, else (stdio, one
// user from start to end) of the connection.
func requestAccess(ctx context.Context, extra *mcp.RequestExtra) api.Access {
	if extra != nil && extra.TokenInfo != nil {
		a, _ := extra.TokenInfo.Extra[accessInfo].(api.Access)
		return a
	}
	return api.From(ctx)
}

// progressTo reports the progress of a call to a host; nil where the host did not ask for that.
func progressTo(ctx context.Context, req *mcp.CallToolRequest) func(done, total float64, message string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(done, total float64, message string) {
		// A host that stopped listening is no reason to stop the work.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total, Message: api.ShownText(message)})
	}
}

// refusal is a result that says what is wrong in words the model can act on.
func refusal(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// refusedDAG is why a DAG cannot be run, with the form of the values that are missing.
type refusedDAG struct {
	State    run.State      `json:"state"`
	Problems []run.Problem  `json:"problems,omitempty"`
	Form     map[string]any `json:"form,omitempty"`
}

// failed words an error for the model as HTTP words it. The log has what the caller is not told.
func (m *mcpTools) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	if dag, ok := errors.AsType[*run.CheckError](err); ok {
		text := dag.Error()
		for i, o := range dag.Open {
			text += map[bool]string{true: "\nCall run_dag again with values, by task, for:"}[i == 0] + "\n- " + api.ShownText(o.String())
		}
		r := refusal(errors.New(text))
		if told, err := api.Tell(refusedDAG{"refused", dag.Problems, dag.Form()}, api.RefusedRun(dag)); err == nil {
			r.StructuredContent = told.JSON
		}
		return r
	}
	p := api.ProblemOf(err)
	switch {
	case p == api.Internal, errors.Is(err, storage.ErrReadOnly):
		m.cfg.Logger.ErrorContext(ctx, "MCP tool failed", "tool", tool, "error", err)
	case errors.Is(err, storage.ErrUnavailable):
		m.cfg.Logger.WarnContext(ctx, "MCP tool failed", "tool", tool, "error", err)
	}
	return refusal(p)
}
