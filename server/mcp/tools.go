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
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/limit"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
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
		define(toolFind, "Find a tool", asked, reads, findTool,
			"Find tools and capabilities by what they do. Give a few words, or an exact id or name. "+
				"Each result carries its input schema, so it can be called at once."),
		define(toolDescribe, "Describe tools", asked, reads, describeTool,
			"Give everything known about tools or capabilities by id: description, schemas, annotations, and for capabilities the tools they use."),
		showIn("next", define(toolNext, "Suggest the next tool", asked, reads, suggestNext,
			"After one or more tools have run, say which usually comes next, learned from recorded work. "+
				"Each suggestion has a confidence, the terms of its score and a reason.")),
		showIn("plan", define(toolDAG, "Suggest a plan", planning, reads, suggestDAG,
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
		define(toolRebuild, "Rebuild the model", working, adds, rebuild,
			"Replay the whole history into a fresh model and wait for it. With verify, compare it with the running one instead of replacing it."),
	}
})

// toolRule is how calls of a tool are treated.
type toolRule struct {
	scope   request.Scopes
	records bool          // needs no model, and so waits for no build
	plan    bool          // computes for long: answered in turn
	reports bool          // reports progress while it works
	timeout time.Duration // default Config.Timeout, the first replay of a workspace included
}

var (
	asked    = toolRule{scope: request.ScopeRead}
	planning = toolRule{scope: request.ScopeRead, plan: true}
	writing  = toolRule{scope: request.ScopeWrite, records: true}
	judging  = toolRule{scope: request.ScopeWrite, records: true, timeout: scoring.Timeout}
	handing  = toolRule{scope: request.ScopeRead, records: true}
	working  = toolRule{scope: request.ScopeWrite, reports: true, timeout: rebuildTimeout}
)

// mcpTool is one tool: what is published, and the function behind it.
type mcpTool struct {
	toolRule
	tool *mcp.Tool
	call func(ctx context.Context, c *mcpCall, arguments json.RawMessage) (sentence, error)
}

// sentence is an answer with a line for the model. Hosts show the model the structured answer only,
// so the line is part of it.
type sentence interface{ text() string }

// Said is embedded in every answer.
type Said struct {
	Message string `json:"message" jsonschema:"the answer in a sentence"`
}

func (s Said) text() string { return s.Message }

// define makes a tool of a function: arguments In, answer Out, both as JSON schema.
func define[In any, Out sentence](name, title string, rule toolRule, hints mcp.ToolAnnotations, f func(context.Context, *mcpCall, In) (Out, error), description string) mcpTool {
	return mcpTool{
		tool: &mcp.Tool{
			Name: name, Title: title, Description: description, Annotations: &hints,
			InputSchema: schemaOf[In](), OutputSchema: schemaOf[Out](),
		},
		toolRule: rule,
		call: func(ctx context.Context, c *mcpCall, arguments json.RawMessage) (sentence, error) {
			in, err := jsonio.DecodeArguments[In](ownNames(name, arguments))
			if err != nil {
				return nil, err
			}
			return f(ctx, c, in)
		},
	}
}

// schemaOf is the JSON schema of T as it is published. A Go slice or map is inferred as "may be
// null"; ours never are, so that is taken out again.
func schemaOf[T any]() json.RawMessage {
	if reflect.TypeFor[T]() == reflect.TypeFor[episodic.Episode]() {
		return schemaOf[recordArguments]()
	}
	outcome := &jsonschema.Schema{Type: "string", Enum: []any{string(episodic.Unknown), string(episodic.Success), string(episodic.Failure)}}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():  {},
		reflect.TypeFor[episodic.Outcome](): outcome,
		reflect.TypeFor[catalog.Kind]():     {Type: "string", Enum: []any{string(catalog.KindTool), string(catalog.KindCapability)}},
		reflect.TypeFor[time.Time]():        {Type: "string", Format: "date-time"},
		reflect.TypeFor[rubricArgument]():   rubricSchema,
		reflect.TypeFor[objectArgument]():   objectSchema,
		reflect.TypeFor[scoreAnswer]():      scoreSchema,
		reflect.TypeFor[words]():            {Types: []string{"string", "array"}, Items: &jsonschema.Schema{Type: "string"}},
	}})
	if err != nil {
		panic(err) // a type of this package that has no schema
	}
	stripNull(s)
	out, err := json.Marshal(s)
	if err == nil {
		out, err = catalog.HostSchema(out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func stripNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		stripNull(p)
	}
	stripNull(s.Items)
	stripNull(s.AdditionalProperties)
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
	timeout := cmp.Or(t.timeout, m.cfg.Timeout)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		a := requestAccess(ctx, req.Extra)
		if !a.May(t.scope) {
			return refusal(fmt.Errorf("%s needs the scope %v, this credential has %v", t.tool.Name, t.scope.Names(), a.Scopes.Names())), nil
		}
		open := m.cfg.Workspaces.Get
		if t.records {
			open = m.cfg.Workspaces.Open
		}
		engine, err := open(ctx, a.Workspace)
		if err != nil {
			return m.failed(ctx, t.tool.Name, err), nil
		}
		c := &mcpCall{mcpTools: m, access: a, engine: engine, model: engine.Model(), req: req}
		answer, err := limit.Within(ctx, m.cfg.Overdue, timeout, func() (sentence, error) {
			if t.plan || t.scope == request.ScopeRead && len(req.Params.Arguments) > limit.LongQuestion {
				leave, err := m.cfg.Turns.Enter(ctx, a.Source)
				if err != nil {
					return nil, err
				}
				defer leave()
			}
			return t.call(ctx, c, req.Params.Arguments)
		})
		if ask, ok := asInputRequired(err); ok {
			return ask, nil
		}
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
