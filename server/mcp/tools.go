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

// firstStructured is the first revision with structured answers; older clients read only the text.
const firstStructured = "2025-06-18"

const toolRecord = "record_episode"

// quickTools answer at once and can be called twice without harm: the relay repeats a call of one of them that was lost
// with its owner.
var quickTools = append([]string{toolReadResult, toolRecord}, askingTools...)

// askingTools answer from the catalog and the history.
var askingTools = []string{"find_tool", "describe_tool", "suggest_next", "suggest_dag"}

// mcpTools answers the calls of one server.
type mcpTools struct {
	cfg      Config
	stateKey []byte // signs the states that a host returns
	results  *keptResults
	listed   listedTools // upstream tools in tools/list
}

// offer adds a tool to a server.
func (m *mcpTools) offer(srv *mcp.Server, t api.Tool) {
	reads := t.Scope == api.ScopeRead
	shown := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: reads, IdempotentHint: reads, OpenWorldHint: &t.OpenWorld}}
	if !reads { // else it means nothing
		shown.Annotations.DestructiveHint = &t.Destructive
	}
	if t.Screen != "" {
		shown.Meta = mcp.Meta{"ui": map[string]any{"resourceUri": uriApps + t.Screen}}
	}
	srv.AddTool(shown, m.handler(t))
}

// handler returns the handler of one tool: it checks the caller's scope and applies the time limit.
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
		answer, err := api.Limited(ctx, m.cfg.Routes, t.Rule, int64(len(req.Params.Arguments)), func() (api.ToolAnswer, error) {
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

// requestAccess returns the access of a request: that of the HTTP request that carried it, else that of the connection
// (stdio, one user from start to end).
func requestAccess(ctx context.Context, extra *mcp.RequestExtra) api.Access {
	if extra != nil && extra.TokenInfo != nil {
		a, _ := extra.TokenInfo.Extra[accessInfo].(api.Access)
		return a
	}
	return api.From(ctx)
}

// progressTo returns a function that reports the progress of a call to its host; nil if the host did not request it.
func progressTo(ctx context.Context, req *mcp.CallToolRequest) func(done, total float64, message string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(done, total float64, message string) {
		// If the host no longer listens, the work continues.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total, Message: api.ShownText(message)})
	}
}

// refusal returns an error result, in words that the model can act on.
func refusal(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// refusedDAG is the answer for a DAG that cannot be run, with the form of the missing values.
type refusedDAG struct {
	State    run.State      `json:"state"`
	Problems []run.Problem  `json:"problems,omitempty"`
	Form     map[string]any `json:"form,omitempty"`
}

// failed converts an error to a result with the same text as over HTTP. The log has the details that it omits.
func (m *mcpTools) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	if dag, ok := errors.AsType[*run.CheckError](err); ok {
		text := dag.Error()
		for i, o := range dag.Open {
			text += map[bool]string{true: "\nCall run_dag again with values, by task, for:"}[i == 0] + "\n- " + api.ShownText(o.String())
		}
		r := refusal(errors.New(text))
		if answer, err := api.WithMessage(refusedDAG{"refused", dag.Problems, dag.Form()}, api.RefusedRun(dag)); err == nil {
			r.StructuredContent = answer.JSON
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
