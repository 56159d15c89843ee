package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/gateway"
	"waymark/server/internal/api"
)

// offerLists are the lists that those of other servers are added to, by method.
var offerLists = map[string]string{
	"prompts/list": gateway.Prompts, "resources/list": gateway.Resources, "resources/templates/list": gateway.Templates,
}

// rawResult is a result with all its members, known to the SDK or not.
type rawResult struct {
	mcp.ResultBase
	members map[string]json.RawMessage
}

// rawOf is a result of the SDK, or one as it came in.
func rawOf(result any) *rawResult {
	r := &rawResult{members: map[string]json.RawMessage{}}
	_ = json.Unmarshal(encoded(result), &r.members) // what is no object has none
	return r
}

// MarshalJSON adds what the SDK says in _meta.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	if len(r.Meta) > 0 {
		meta := map[string]any{}
		_ = json.Unmarshal(r.members["_meta"], &meta)
		maps.Copy(meta, r.Meta)
		r.members["_meta"] = encoded(meta)
	}
	return api.Encode(r.members)
}

// add adds members; its own stay.
func (r *rawResult) add(more map[string]json.RawMessage) *rawResult {
	for name, value := range more {
		if _, there := r.members[name]; !there {
			r.members[name] = value
		}
	}
	return r
}

// extend adds items to a list.
func (r *rawResult) extend(list string, items []json.RawMessage) *rawResult {
	var own []json.RawMessage
	_ = json.Unmarshal(r.members[list], &own)
	r.members[list] = encoded(append(own, items...))
	return r
}

func encoded(v any) json.RawMessage {
	text, err := api.Encode(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return text
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
		may := a.Tools == nil && a.May(api.ScopeWrite)
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
			return complete(rawOf(raw), req), nil
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
			all := map[string]json.RawMessage{}
			for _, t := range r.Tools {
				all[t.Name] = encoded(t)
			}
			for _, t := range m.listed.now() {
				if a.Tools == nil || a.Tools.Has(t.id) {
					all[t.name] = t.text
				}
			}
			whole := rawOf(r)
			delete(whole.members, "tools")
			items := make([]json.RawMessage, 0, len(all))
			for _, name := range slices.Sorted(maps.Keys(all)) {
				items = append(items, all[name])
			}
			return complete(whole.extend("tools", items), req), nil
		}
		if list, ok := offerLists[method]; ok && may {
			return complete(rawOf(result).extend(list, g.Offers(list)), req), nil
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
	return rawOf(r).add(more)
}

// complete says that a result is whole, which revisions without sessions ask for.
func complete(r *rawResult, req mcp.Request) mcp.Result {
	if of, ok := req.(interface{ ProtocolVersion() string }); ok && of.ProtocolVersion() >= firstStateless {
		r.add(map[string]json.RawMessage{"resultType": json.RawMessage(`"complete"`)})
	}
	return r
}
