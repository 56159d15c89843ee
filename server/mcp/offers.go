package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/gateway"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
)

// offerLists are the lists that those of other servers are added to, by method.
var offerLists = map[string]string{
	"prompts/list": gateway.Prompts, "resources/list": gateway.Resources, "resources/templates/list": gateway.Templates,
}

// rawResult is a result that goes out as it came in.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// MarshalJSON adds what the SDK says in _meta.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	var members map[string]json.RawMessage
	var meta map[string]any
	if len(r.Meta) == 0 || json.Unmarshal(r.raw, &members) != nil {
		return r.raw, nil
	}
	_ = json.Unmarshal(members["_meta"], &meta)
	if meta == nil {
		meta = map[string]any{}
	}
	maps.Copy(meta, r.Meta)
	members["_meta"] = withMore(meta, nil)
	return withMore(members, nil), nil
}

// passOn lists the prompts and resources of other servers and answers for them, where the tools of these could be called too,
// and adds to tools and results what the SDK does not know. A session with a tool set gets no prompts and resources: sets name
// tools.
func (m *mcpTools) passOn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		g, a := m.cfg.Upstream.Gateway, requestAccess(ctx, req.GetExtra())
		if g == nil || a.Workspace != m.cfg.Upstream.Workspace {
			return next(ctx, method, req)
		}
		call, calls := req.GetParams().(*mcp.CallToolParamsRaw)
		direct := calls && strings.Contains(call.Name, "__")
		if (method == "tools/list" || direct || calls && call.Name == "run_dag") && g.Started(ctx) {
			m.sync()
		}
		if direct {
			for _, t := range m.listed.now() {
				if t.name == call.Name {
					ctx, call.Name = context.WithValue(ctx, directTool{}, t.id), toolCallChanging
				}
			}
		}
		var raw json.RawMessage
		err := gateway.ErrUnknown
		may := a.Tools == nil && a.May(request.ScopeWrite)
		switch p := req.GetParams().(type) {
		case *mcp.GetPromptParams:
			if may {
				raw, err = g.Prompt(ctx, p.Name, p.Arguments)
			}
		case *mcp.ReadResourceParams:
			if may {
				raw, err = g.Resource(ctx, p.URI)
			}
		}
		if err == nil {
			return complete(raw, req)
		} else if !errors.Is(err, gateway.ErrUnknown) {
			return nil, err
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		switch r := result.(type) {
		case *mcp.CallToolResult:
			return withMembers(r), nil
		case *mcp.ListToolsResult:
			var items []json.RawMessage
			for _, t := range m.listed.now() {
				if a.Tools == nil || a.Tools.Has(t.id) {
					items = append(items, t.text)
				}
			}
			return extended(r, "tools", items), nil
		}
		if list, ok := offerLists[method]; ok && may {
			return extended(result, list, g.Offers(list)), nil
		}
		return result, nil
	}
}

// withMembers adds those members of a result of another server that the SDK does not know.
func withMembers(r *mcp.CallToolResult) mcp.Result {
	more, ok := r.Meta[metaMembers].(map[string]json.RawMessage)
	if !ok {
		return r
	}
	delete(r.Meta, metaMembers)
	var theirs map[string]json.RawMessage
	_ = json.Unmarshal(more["_meta"], &theirs)
	delete(more, "_meta")
	for key, value := range theirs {
		if !strings.HasPrefix(key, "io.waymark/") && !strings.HasPrefix(key, "io.modelcontextprotocol/") { // of this end, and of one connection
			r.Meta[key] = value
		}
	}
	return joined(r, more)
}

// joined is a result with more members; its own stay.
func joined(r mcp.Result, more map[string]json.RawMessage) mcp.Result {
	return &rawResult{raw: withMore(r, more)}
}

// extended adds items to a list in a result.
func extended(r mcp.Result, list string, items []json.RawMessage) mcp.Result {
	var members map[string]json.RawMessage
	var own []json.RawMessage
	text := withMore(r, nil)
	if len(items) == 0 || json.Unmarshal(text, &members) != nil || json.Unmarshal(members[list], &own) != nil {
		return r
	}
	members[list] = withMore(append(own, items...), nil)
	return &rawResult{raw: withMore(members, nil)}
}

// withMore is a value of the SDK in JSON, with members that it does not have itself.
func withMore(v any, more map[string]json.RawMessage) json.RawMessage {
	text, err := jsonio.Encode(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	var own map[string]json.RawMessage
	if len(more) == 0 || json.Unmarshal(text, &own) != nil {
		return text
	}
	for name, value := range more {
		if _, there := own[name]; !there {
			own[name] = value
		}
	}
	return withMore(own, nil)
}

// complete says that a result is whole, which revisions without sessions ask for.
func complete(raw json.RawMessage, req mcp.Request) (mcp.Result, error) {
	var members map[string]json.RawMessage
	if of, ok := req.(interface{ ProtocolVersion() string }); ok && of.ProtocolVersion() >= firstStateless && json.Unmarshal(raw, &members) == nil && members["resultType"] == nil {
		members["resultType"] = json.RawMessage(`"complete"`)
		var err error
		if raw, err = jsonio.Encode(members); err != nil {
			return nil, err
		}
	}
	return &rawResult{raw: raw}, nil
}
