package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/live"
	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/limit"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/server/internal/scoring"
	"waymark/storage"
	"waymark/suggest"
)

// firstStructured is the revision that brought structured answers; older clients read the text only.
const firstStructured = "2025-06-18"

// The names of the tools.
const (
	toolFind     = "find_tool"
	toolDescribe = "describe_tool"
	toolNext     = "suggest_next"
	toolDAG      = "suggest_dag"
	toolRecord   = "record_episode"
	toolRebuild  = "rebuild"

	toolScore       = "score"
	toolTriangulate = "triangulate"
)

// mcpToolset is what tools/list shows, built once: the same bytes for every workspace and session.
var mcpToolset = sync.OnceValue(func() []mcpTool {
	reads := mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)}
	adds := mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
	asks := mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(true)} // adds; a model may judge
	return []mcpTool{
		operation(toolFind, "Find a tool", reads, findTool,
			"Find tools and capabilities by what they do. Give a few words, or an exact id or name. "+
				"Each result carries its input schema, so it can be called at once."),
		define(toolDescribe, "Describe tools", asked, reads, describeTool,
			"Give everything known about tools or capabilities by id: description, schemas, annotations, and for capabilities the tools they use."),
		showIn("next", operation(toolNext, "Suggest the next tool", reads, func(_ *mcpCall, q question, a suggest.NextAnswer) (NextAnswer, error) {
			return NextAnswer{Said{nextMessage(a, q.last()) + noted(a.Waiting) + corrected(a.Foremost(), q.last(), q.Intent)}, a}, nil
		},
			"After one or more tools have run, say which usually comes next, learned from recorded work. "+
				"Each suggestion has a confidence, the terms of its score and a reason.")),
		showIn("plan", operation(toolDAG, "Suggest a plan", reads, func(_ *mcpCall, q question, a suggest.DAGAnswer) (DAGAnswer, error) {
			return DAGAnswer{Said{dagMessage(a) + noted(a.Waiting) + corrected(a.Foremost(), "", q.Intent)}, a}, nil
		},
			"Plan a task: which tools, in which order, and which output feeds which input, as a graph without cycles.")),
		define(toolRecord, "Record an episode", writing, adds, recordEpisode,
			"Record a finished task: its intent, the tools used in order, and how they went. Call it once a task; repeating it with the same id changes nothing. "+
				"Do not put argument values or results into it."),
		define(toolScore, "Score by a rubric", judging, asks, scoreTool,
			"Score and rank things by a rubric: research hypotheses, competing answers with the reviews of their peers (council), contributions to a research session, or anything by a rubric of your own. "+
				"Totals, verdicts and ranks are computed from the scores of the dimensions. Without scores, input.judge asks a model for them."),
		define(toolTriangulate, "Weigh hypotheses by evidence", judging, asks, triangulate,
			"Weigh competing answers to a question by snippets of text, round by round. Each answer says which answer leads, how sure that is, whether to stop, and what to search next. "+
				"Call it again with all rounds so far and one more."),
		define(toolRebuild, "Rebuild the model", ruling, adds, rebuild,
			"Replay the whole history into a fresh model and wait for it. With verify, compare it with the running one instead of replacing it."),
	}
})

var (
	asked   = route.Rule{Scope: request.ScopeRead}
	writing = route.Rule{Scope: request.ScopeWrite, Creates: true}
	judging = route.Rule{Scope: request.ScopeWrite, Creates: true, Timeout: scoring.Timeout}
	working = route.Rule{Scope: request.ScopeWrite, Timeout: rebuildTimeout}
	ruling  = route.Rule{Scope: request.ScopeAdmin, Timeout: rebuildTimeout}
)

// mcpTool is one tool: what is published, and the function behind it. Without a rule it is the operation that names it.
type mcpTool struct {
	route.Rule
	tool *mcp.Tool
	in   reflect.Type
	call func(ctx context.Context, c *mcpCall, arguments json.RawMessage) (sentence, error)
}

// sentence is an answer with a line for the model. Hosts show the model the structured answer only,
// so the line is part of it.
type sentence interface{ text() string }

// Said is embedded in every answer.
type Said struct {
	Message string `json:"message" doc:"The answer in a sentence."`
}

func (s Said) text() string { return s.Message }

// define makes a tool of a function.
func define[In any, Out sentence](
	name, title string, rule route.Rule, hints mcp.ToolAnnotations, f func(context.Context, *mcpCall, In) (Out, error), description string,
) mcpTool {
	return mcpTool{
		tool: &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &hints}, Rule: rule, in: reflect.TypeFor[In](),
		call: func(ctx context.Context, c *mcpCall, arguments json.RawMessage) (sentence, error) {
			var in In
			if err := route.Arguments(arguments, &in); err != nil {
				return nil, err
			}
			return f(ctx, c, in)
		},
	}
}

// question is the part of a request that a sentence repeats.
type question struct {
	Context       []string
	Intent, Query string
}

// last is the last step of the context; empty if there is none.
func (q question) last() string {
	if len(q.Context) == 0 {
		return ""
	}
	return q.Context[len(q.Context)-1]
}

// operation makes a tool of the operation that names it, with a sentence to its answer.
func operation[A any, Out sentence](name, title string, hints mcp.ToolAnnotations, say func(*mcpCall, question, A) (Out, error), description string) mcpTool {
	return mcpTool{
		tool: &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &hints},
		call: func(ctx context.Context, c *mcpCall, arguments json.RawMessage) (sentence, error) {
			answer, err := c.cfg.Calls[name].Do(request.With(ctx, c.access), arguments)
			if err != nil {
				return nil, err
			}
			var q question
			_ = json.Unmarshal(arguments, &q) // they were read before
			return say(c, q, answer.(A))
		},
	}
}

// offer adds a tool to a server.
func (m *mcpTools) offer(srv *mcp.Server, t mcpTool) {
	if t.in == nil {
		of := m.cfg.Calls[t.tool.Name]
		t.Rule, t.in = of.Rule, of.Body
	}
	shown := *t.tool
	shown.InputSchema = route.SchemaOf(t.in)
	srv.AddTool(&shown, m.handler(t))
}

// mcpTools answers the calls of one server.
type mcpTools struct {
	cfg      Config
	stateKey []byte // signs what a host brings back
	baseline atomic.Pointer[baseline]
	results  keptResults
}

// mcpCall is one call under way.
type mcpCall struct {
	*mcpTools
	access request.Access
	engine *live.Engine
	model  *suggest.Model
	req    *mcp.CallToolRequest
}

// handler runs one tool: who asks, may they, in which workspace, for how long.
func (m *mcpTools) handler(t mcpTool) mcp.ToolHandler {
	timeout := cmp.Or(t.Timeout, m.cfg.Timeout)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		a := requestAccess(ctx, req.Extra)
		if !a.May(t.Scope) {
			return refusal(fmt.Errorf("%s needs the scope %v, this credential has %v", t.tool.Name, t.Scope.Names(), a.Scopes.Names())), nil
		}
		open := m.cfg.Workspaces.Get
		if t.Creates {
			open = m.cfg.Workspaces.Open
		}
		engine, err := open(ctx, a.Workspace)
		if err != nil {
			return m.failed(ctx, t.tool.Name, err), nil
		}
		c := &mcpCall{mcpTools: m, access: a, engine: engine, model: engine.Model(), req: req}
		answer, err := limit.Within(ctx, m.cfg.Overdue, timeout, func() (sentence, error) {
			if t.Long || t.Scope == request.ScopeRead && len(req.Params.Arguments) > limit.LongQuestion {
				leave, err := m.cfg.Turns.Enter(ctx, a.Source)
				if err != nil {
					return nil, err
				}
				defer leave()
			}
			return t.call(ctx, c, req.Params.Arguments)
		})
		if err != nil {
			return m.failed(ctx, t.tool.Name, err), nil
		}
		structured, err := jsonio.Encode(answer)
		if err != nil {
			return m.failed(ctx, t.tool.Name, err), nil
		}
		text := answer.text()
		if req.ProtocolVersion() < firstStructured {
			text = string(structured)
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: text}},
			StructuredContent: json.RawMessage(structured),
		}, nil
	}
}

// requestAccess is the access of one request: of the HTTP request that carried it, else (stdio, one
// user from start to end) of the connection.
func requestAccess(ctx context.Context, extra *mcp.RequestExtra) request.Access {
	if extra != nil && extra.TokenInfo != nil {
		a, _ := extra.TokenInfo.Extra[accessInfo].(request.Access)
		return a
	}
	return request.From(ctx)
}

// refusal is a result that says what is wrong in words the model can act on.
func refusal(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// failed words an error for the model as HTTP words it. The log has what the caller is not told.
func (m *mcpTools) failed(ctx context.Context, tool string, err error) *mcp.CallToolResult {
	if dag, ok := errors.AsType[*run.CheckError](err); ok {
		return refusedDAG(dag)
	}
	if outside, ok := errors.AsType[*outsideError](err); ok {
		return refusal(outside)
	}
	p := problem.Of(err)
	switch {
	case p == problem.Internal, errors.Is(err, storage.ErrReadOnly):
		m.cfg.Logger.ErrorContext(ctx, "MCP tool failed", "tool", tool, "error", err)
	case errors.Is(err, storage.ErrUnavailable):
		m.cfg.Logger.WarnContext(ctx, "MCP tool failed", "tool", tool, "error", err)
	}
	return refusal(p)
}
