package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/gateway"
	"waymark/live"
	"waymark/run"
	"waymark/server/internal/api"
	"waymark/suggest"
)

// The tools of upstream servers are offered to a host in one of three modes:
//
//	direct     tools/list contains all of them, as server__tool: suited to few tools
//	hybrid     tools/list contains the chosen ones, and those with most calls in the history
//	deferred   tools/list contains none: find_tool finds them, call_tool calls them
//
// Each mode has call_tool, for read-only tools, and call_changing_tool, so that a host can ask its user about the
// second alone. The list changes only when the tools do, and it is sorted: the same tools give the same bytes.
const (
	ModeAuto     = "auto" // direct for few and small tools, else hybrid if any is chosen, else deferred
	ModeDirect   = "direct"
	ModeHybrid   = "hybrid"
	ModeDeferred = "deferred"
)

// Limits of direct for ModeAuto: the cost of the tools in each prompt of a host.
const directTools, directBytes = 20, 16 << 10

// Upstream configures the upstream servers.
type Upstream struct {
	Gateway   *gateway.Gateway
	Workspace string   // the one whose callers may use them
	Mode      string   // default ModeAuto
	Chosen    []string // patterns of ids, for ModeHybrid
	Preload   int      // number of most called tools to list besides the chosen ones
	// SuggestAfter adds the tools that usually come next to the result of each call. It needs a Caller with the history
	// of a session: a recorder.
	SuggestAfter bool
	// ResultLimit is the most bytes of a result that a host gets at once; 0: no limit.
	ResultLimit int
	// Reload reads the definitions again and starts the servers that were agreed to. nil: no server is started.
	Reload func() error
}

// ToolSet returns the tool set of an agent. For an unknown agent it has no patterns, and so allows nothing.
func (u *Upstream) ToolSet(workspace, agent string) *suggest.ToolSet {
	set := &suggest.ToolSet{Name: agent}
	if u.Gateway != nil && workspace == u.Workspace {
		set.Patterns = u.Gateway.Agent(agent)
	}
	return set
}

const toolCall, toolCallChanging = "call_tool", "call_changing_tool"

const upstreamInstructions = " Tools of other servers that are not in the list of tools are found with find_tool and called with call_tool, " +
	"or with call_changing_tool if they are not annotated as reading only."

type callArguments struct {
	Tool      string     `json:"tool" doc:"Id of the tool, as returned by find_tool or suggest_next."`
	Arguments api.Object `json:"arguments,omitempty" doc:"Its arguments, by its input schema."`
}

// offerUpstream adds the tools that call upstream tools, and keeps the list that the mode adds to tools/list.
func offerUpstream(srv *mcp.Server, m *mcpTools) {
	m.offerCalls(srv)
	if m.cfg.Upstream.ResultLimit > 0 {
		m.offer(srv, api.NewTool(api.Tool{Rule: api.Rule{Scope: api.ScopeRead}, Name: toolReadResult, Title: "Read a result",
			Description: "Read on in a result of another tool that was cut, or search it. The result names its handle."},
			m.readResult, func(_ *struct{ Body readResultArguments }, a ReadResultAnswer) string { return a.message }))
	}
	if m.cfg.Upstream.Gateway == nil {
		return
	}
	m.listed.changed = func() { m.offerCalls(srv) } // adding a tool again notifies hosts of a changed list
	m.sync()
	m.cfg.Upstream.Gateway.OnChange(func() { go m.sync() })
}

func (m *mcpTools) offerCalls(srv *mcp.Server) {
	m.offerCall(srv, toolCall, "Call a tool that reads", "Call a tool of a connected server that is annotated as read-only, and get its result unchanged.", mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(true)})
	m.offerCall(srv, toolCallChanging, "Call a tool that changes something", "Like call_tool, for all tools that are not annotated as read-only. Some need a grant by the operator of Waymark.", mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)})
}

// directTool is the context key of the id of a tool that a host called by its name in the list.
type directTool struct{}

func (m *mcpTools) offerCall(srv *mcp.Server, name, title, description string, hints mcp.ToolAnnotations) {
	srv.AddTool(&mcp.Tool{
		Name: name, Title: title, Description: description, InputSchema: api.SchemaOf(reflect.TypeFor[callArguments]()), Annotations: &hints,
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if id, ok := ctx.Value(directTool{}).(string); ok {
			return m.forward(ctx, req, id, req.Params.Arguments, false), nil
		}
		var in callArguments
		if err := api.Arguments(req.Params.Arguments, &in); err != nil {
			return m.failed(ctx, name, err), nil
		}
		return m.forward(ctx, req, in.Tool, in.Arguments.RawMessage, hints.ReadOnlyHint), nil
	})
}

// DefinitionSize returns about the bytes that one tool takes in the prompt of a host: name, description and input schema.
// A host does not put output schemas into prompts.
func DefinitionSize(t *catalog.Tool) int {
	const form = `{"name":"","description":"","inputSchema":},`
	return len(form) + len(t.ID) + len(t.Description) + max(len(t.InputSchema), len(`{"type":"object"}`))
}

// listedTools are the upstream tools in tools/list. They are not registered in the SDK: [mcpTools.passOn] adds them to
// its list, and turns their calls into calls of call_changing_tool.
type listedTools struct {
	mu   sync.Mutex
	most []string // ids of the most called tools when the history first had any; fixed, as a host's list is
	all  []listedTool

	changed func()
}

// listedTool is one tool of the list. Its output schema is omitted: a host would refuse an answer that does not match
// it, although the call has already had its effect.
type listedTool struct {
	id, name string
	text     json.RawMessage
}

// sync updates the list to the tools that the gateway offers now.
func (m *mcpTools) sync() {
	u, l := m.cfg.Upstream, &m.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	tools := u.Gateway.Tools()
	if len(l.most) == 0 && u.Preload > 0 {
		l.most = m.mostCalled(tools)
	}
	var all []listedTool
	for _, t := range listedOf(u, tools, l.most) {
		shown, err := listable(t)
		if err != nil {
			continue // call_tool still calls it; doctor reports the reason
		}
		all = append(all, listedTool{t.ID, shown.Name, encoded(rawOf(shown).add(u.Gateway.Members(t.ID)))})
	}
	if !slices.EqualFunc(l.all, all, func(a, b listedTool) bool { return a.name == b.name && bytes.Equal(a.text, b.text) }) {
		l.all = all
		l.changed()
	}
}

// listable returns a tool as hosts see it, or the reason why hosts would not accept it. The SDK panics for a definition
// that the protocol does not allow; listable returns the panic as an error.
func listable(t catalog.Tool) (shown *mcp.Tool, err error) {
	schema, err := catalog.HostSchema(t.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	shown = &mcp.Tool{Name: catalog.HostName(t.ID), Description: t.Description, InputSchema: schema}
	if a := t.Annotations; a != nil {
		shown.Title = a.Title
		shown.Annotations = &mcp.ToolAnnotations{Title: a.Title, ReadOnlyHint: a.ReadOnly != nil && *a.ReadOnly, DestructiveHint: a.Destructive,
			IdempotentHint: a.Idempotent != nil && *a.Idempotent, OpenWorldHint: a.OpenWorld}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mcp.NewServer(&mcp.Implementation{Name: "waymark"}, nil).AddTool(shown, nil)
	return shown, nil
}

// now returns the list, which the caller must not change.
func (l *listedTools) now() []listedTool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// mostCalled returns the ids of the tools with most calls in the history, most calls first; nil if it cannot be read
// now.
func (m *mcpTools) mostCalled(tools []catalog.Tool) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	u := m.cfg.Upstream
	engine, err := m.cfg.Workspaces.Get(ctx, u.Workspace)
	if err != nil {
		return nil
	}
	uses, ids := map[string]int{}, []string{}
	for _, t := range tools {
		if uses[t.ID] = engine.Model().Uses(t.ID); uses[t.ID] > 0 {
			ids = append(ids, t.ID)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(uses[b]-uses[a], strings.Compare(a, b)) })
	return ids[:min(len(ids), u.Preload)]
}

// listedOf returns the tools that the mode puts into the list; most contains the ids of the most called tools.
func listedOf(u Upstream, tools []catalog.Tool, most []string) []catalog.Tool {
	mode := u.Mode
	if mode == "" || mode == ModeAuto {
		size := 0
		for i := range tools {
			size += DefinitionSize(&tools[i])
		}
		switch {
		case len(tools) <= directTools && size <= directBytes:
			mode = ModeDirect
		case len(u.Chosen) > 0:
			mode = ModeHybrid
		}
	}
	switch mode {
	case ModeDirect:
		return tools
	case ModeHybrid:
		var chosen []catalog.Tool
		for _, t := range tools {
			if run.Matches(u.Chosen, t.ID) || slices.Contains(most, t.ID) {
				chosen = append(chosen, t)
			}
		}
		return chosen
	}
	return nil
}

// Unlisted returns, sorted by id, the upstream tools that cannot be shown to any host, each with the reason.
func Unlisted(g *gateway.Gateway) []string {
	all := []string{}
	for _, w := range g.Withheld() {
		if w.Reason == gateway.ReasonInvalid {
			all = append(all, w.ID+": "+w.Detail)
		}
	}
	for _, t := range g.Tools() {
		if _, err := listable(t); err != nil {
			all = append(all, t.ID+": "+err.Error())
		}
	}
	slices.Sort(all)
	return all
}

// forward sends a call to the server that has the tool. With reads it refuses tools that are not read-only.
func (m *mcpTools) forward(ctx context.Context, req *mcp.CallToolRequest, tool string, arguments json.RawMessage, reads bool) *mcp.CallToolResult {
	a := requestAccess(ctx, req.Extra)
	if !a.May(api.ScopeWrite) {
		return refusal(fmt.Errorf("calling tools needs the scope %v, this credential has %v", api.ScopeWrite.Names(), a.Scopes.Names()))
	}
	caller := m.cfg.CallerOf(a.Workspace)
	if caller == nil {
		return refusal(errors.New("no servers are connected to this workspace"))
	}
	engine, err := m.cfg.Workspaces.Get(ctx, a.Workspace)
	if err != nil {
		return m.failed(ctx, toolCall, err)
	}
	id, err := api.Resolve(a, engine.Model(), tool)
	if err != nil {
		return refusal(err)
	}
	if reads && m.cfg.Upstream.Gateway.MayChange(id) {
		return refusal(fmt.Errorf("%s is not annotated as reading only: call it with %s", catalog.ShownID(id), toolCallChanging))
	}
	meta, err := m.metaOf(req, id)
	if err != nil {
		return refusal(err)
	}
	session := sessionOf(req, a)
	result, err := caller.Call(ctx, run.Call{
		Tool: id, Source: a.Source, Arguments: arguments, Session: session, Meta: meta, Progress: progressTo(ctx, req),
	})
	if err != nil {
		return m.failed(ctx, id, err)
	}
	if result.Repeated {
		if other, n, of := engine.Model().WorkedAfterFailure(id); n > 0 && engine.Model().Allows(a.Tools, other) {
			result.Message += fmt.Sprintf("; after %d of %d failures of %s, %s worked next", n, of, catalog.ShownID(id), catalog.ShownID(other))
		}
	}
	out, err := m.resultOf(id, result)
	if err != nil {
		return m.failed(ctx, id, err)
	}
	m.cut(a, id, result, out)
	if result.Failure == "" && len(result.NeedsInput) == 0 {
		m.suggestAfter(ctx, engine, a, session, out)
	}
	return out
}

// after contains the tools that usually come after a call; it is added to the result of the call.
type after struct {
	SuggestionID string  `json:"suggestion_id"`
	Stop         float64 `json:"stop"`
	Suggestions  []next  `json:"suggestions"`
}

type next struct {
	ID         string  `json:"id"`
	Confidence float64 `json:"confidence"`
}

// mostAfter is the most suggestions added to a result.
const mostAfter = 3

// suggestAfter adds the tools that usually come next to a result: as a member of a structured result, because hosts
// then show the model nothing else, otherwise as a line of text. It adds nothing if they are not available in time.
func (m *mcpTools) suggestAfter(ctx context.Context, engine *live.Engine, a api.Access, session string, out *mcp.CallToolResult) {
	known, ok := m.cfg.CallerOf(a.Workspace).(interface {
		Next(ctx context.Context, e *live.Engine, source, session string, limit int) (suggest.NextAnswer, bool)
	})
	if !ok || !m.cfg.Upstream.SuggestAfter {
		return
	}
	answer, ok := known.Next(ctx, engine, a.Source, session, mostAfter)
	if !ok || len(answer.Suggestions) == 0 {
		return
	}
	answer.Suggestions = slices.DeleteFunc(answer.Suggestions, func(n suggest.Suggestion) bool { return !engine.Model().Allows(a.Tools, n.ID) })
	s := after{SuggestionID: answer.SuggestionID, Stop: answer.Stop}
	words := make([]string, len(answer.Suggestions))
	for i, n := range answer.Suggestions {
		s.Suggestions = append(s.Suggestions, next{n.ID, n.Confidence})
		words[i] = fmt.Sprintf("%s (%.2f)", catalog.ShownID(n.ID), n.Confidence)
	}
	var members map[string]json.RawMessage
	structured, _ := out.StructuredContent.(json.RawMessage)
	if json.Unmarshal(structured, &members) != nil || members == nil {
		out.Content = append(out.Content, &mcp.TextContent{Text: "What usually comes next: " + strings.Join(words, ", ") + "."})
		return
	}
	members[gateway.OwnMember] = encoded(s)
	out.StructuredContent = encoded(members)
}

// metaOf returns the part of the host's request that a server receives: the trace context, the capabilities of the
// host, and its replies to an earlier question. The state of the question is signed, because it comes back from
// outside.
func (m *mcpTools) metaOf(req *mcp.CallToolRequest, id string) (map[string]any, error) {
	meta := map[string]any{}
	maps.Copy(meta, req.Params.Meta)
	meta[mcp.MetaKeyClientCapabilities] = map[string]any{}
	if caps := req.ClientCapabilities(); caps != nil {
		asked := map[string]any{}
		if caps.Elicitation != nil {
			asked["elicitation"] = caps.Elicitation
		}
		//lint:ignore SA1019 hosts of today have no other way to lend a model
		if sampling := caps.Sampling; sampling != nil {
			asked["sampling"] = sampling
		}
		meta[mcp.MetaKeyClientCapabilities] = asked
	}
	if len(req.Params.InputResponses) > 0 {
		meta[gateway.MetaInputResponses] = req.Params.InputResponses
	}
	if signed := req.Params.RequestState; signed != "" {
		state, ok := unseal(m.stateKey, []byte(id), signed)
		if !ok {
			return nil, api.WrongField("requestState", "is not one of this tool and server")
		}
		meta[gateway.MetaRequestState] = string(state)
	}
	return meta, nil
}

// The keys of _meta that describe a call beyond the protocol.
const (
	metaFailure     = "io.waymark/failure"
	metaUnvalidated = "io.waymark/unvalidated"
	metaUnrecorded  = "io.waymark/unrecorded"
	metaMembers     = "io.waymark/members" // only within this process, for [mcpTools.passOn]
)

// resultOf converts a result for the host, unchanged as far as the protocol allows it.
func (m *mcpTools) resultOf(id string, r run.Result) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{Content: []mcp.Content{}}
	if len(r.NeedsInput) > 0 {
		if err := json.Unmarshal(r.NeedsInput, &out.InputRequests); err != nil {
			return refusal(fmt.Errorf("%s asks for something this host cannot be asked: %w", id, err)), nil
		}
		out.RequestState = seal(m.stateKey, []byte(id), []byte(r.State))
		out.Content = nil
		return out, nil
	}
	var blocks []json.RawMessage
	if len(r.Content) > 0 {
		if err := json.Unmarshal(r.Content, &blocks); err != nil {
			return nil, err
		}
	}
	server, _, _ := catalog.Split(id)
	for _, b := range blocks {
		out.Content = append(out.Content, block{new(mcp.TextContent), gateway.Linked(server, b)})
	}
	if r.Misfit {
		out.Content = append([]mcp.Content{note("the result of %s is not as its tool declares it and was not used further (%s).",
			catalog.ShownID(id), r.Unvalidated)}, out.Content...)
	}
	if len(r.Structured) > 0 {
		out.StructuredContent = r.Structured
	}
	out.Meta = mcp.Meta{}
	if r.Members != nil {
		out.Meta[metaMembers] = r.Members
	}
	for key, text := range map[string]string{metaUnvalidated: r.Unvalidated, metaUnrecorded: r.Unrecorded, metaFailure: string(r.Failure)} {
		if text != "" {
			out.Meta[key] = text
		}
	}
	if r.Failure != "" {
		out.IsError = true
		if len(out.Content) == 0 {
			message := r.Message
			if !strings.HasPrefix(message, id) {
				message = id + ": " + message
			}
			out.Content = append(out.Content, &mcp.TextContent{Text: message})
		}
	}
	return out, nil
}

// block is a content block that is sent as it was received, whether or not the protocol defines it.
type block struct {
	*mcp.TextContent // makes it mcp.Content
	raw              json.RawMessage
}

func (b block) MarshalJSON() ([]byte, error) { return b.raw, nil }
