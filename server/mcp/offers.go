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

// offerLists maps the method of a list to the list of the gateway that is added to it.
var offerLists = map[string]string{
	"prompts/list": gateway.Prompts, "resources/list": gateway.Resources, "resources/templates/list": gateway.Templates,
}

// rawResult is a result with all its members, including those that the SDK does not know.
type rawResult struct {
	mcp.ResultBase
	members map[string]json.RawMessage
}

// rawOf converts a result of the SDK or of an upstream server.
func rawOf(result any) *rawResult {
	r := &rawResult{members: map[string]json.RawMessage{}}
	_ = json.Unmarshal(encoded(result), &r.members) // a value that is not an object has no members
	return r
}

// MarshalJSON merges the _meta of the SDK into the members.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	if len(r.Meta) > 0 {
		meta := map[string]any{}
		_ = json.Unmarshal(r.members["_meta"], &meta)
		maps.Copy(meta, r.Meta)
		r.members["_meta"] = encoded(meta)
	}
	return api.Encode(r.members)
}

// add adds members, and keeps those that exist.
func (r *rawResult) add(more map[string]json.RawMessage) *rawResult {
	for name, value := range more {
		if _, there := r.members[name]; !there {
			r.members[name] = value
		}
	}
	return r
}

// extend appends items to a list.
func (r *rawResult) extend(list string, items []json.RawMessage) *rawResult {
	var own []json.RawMessage
	_ = json.Unmarshal(r.members[list], &own)
	r.members[list] = encoded(append(own, items...))
	return r
}

func encoded(v any) json.RawMessage {
	text, err := api.Encode(v)
	if err != nil {
		panic(err) // v came from JSON
	}
	return text
}

// passOn adds the prompts and resources of upstream servers to the lists and answers requests for them, if the caller
// may also call the tools of these servers. It adds to tools and results the members that the SDK does not know. A
// session with a tool set gets no prompts and resources, because sets name only tools.
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
			if left := g.NotReady(); len(left) > 0 && slices.Contains(askingTools, call.Name) {
				text := "Not ready yet, so their tools may be missing here: servers " + api.ShownIDs(left) + ". Ask again later."
				r.Content = append(r.Content, &mcp.TextContent{Text: text})
			}
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

// withMembers adds the members of an upstream result that the SDK does not know.
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
		if !strings.HasPrefix(key, "io.waymark/") && !strings.HasPrefix(key, "io.modelcontextprotocol/") { // of this server, or of one connection
			r.Meta[key] = value
		}
	}
	return rawOf(r).add(more)
}

// complete adds the members that revisions without sessions require and that a server of an earlier one does not send.
func complete(r *rawResult, req mcp.Request) mcp.Result {
	of, ok := req.(interface{ ProtocolVersion() string })
	if !ok || of.ProtocolVersion() < firstStateless {
		return r
	}
	required := map[string]json.RawMessage{"resultType": json.RawMessage(`"complete"`)}
	if _, reads := req.GetParams().(*mcp.ReadResourceParams); reads {
		required["ttlMs"], required["cacheScope"] = json.RawMessage("0"), json.RawMessage(`"private"`)
	}
	return r.add(required)
}
