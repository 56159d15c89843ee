package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

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

func (r *rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }

// passOn lists the prompts and resources of other servers and answers for them, where the tools of these could be called too. A
// session with a tool set gets none: sets name tools.
func (m *mcpTools) passOn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		g, a := m.cfg.Upstream.Gateway, requestAccess(ctx, req.GetExtra())
		if g == nil || a.Tools != nil || a.Workspace != m.cfg.Upstream.Workspace || !a.May(request.ScopeWrite) {
			return next(ctx, method, req)
		}
		var raw json.RawMessage
		err := gateway.ErrUnknown
		switch p := req.GetParams().(type) {
		case *mcp.GetPromptParams:
			raw, err = g.Prompt(ctx, p.Name, p.Arguments)
		case *mcp.ReadResourceParams:
			raw, err = g.Resource(ctx, p.URI)
		}
		if errors.Is(err, gateway.ErrUnknown) {
			result, err := next(ctx, method, req)
			if list, ok := offerLists[method]; ok && err == nil {
				return withOffers(result, list, g.Offers(list))
			}
			return result, err
		}
		if err != nil {
			return nil, err
		}
		return complete(raw, req)
	}
}

// withOffers adds items to a list in a result.
func withOffers(result mcp.Result, list string, items []json.RawMessage) (mcp.Result, error) {
	text, err := json.Marshal(result)
	var members map[string]json.RawMessage
	var own []json.RawMessage
	if err != nil || len(items) == 0 || json.Unmarshal(text, &members) != nil || json.Unmarshal(members[list], &own) != nil {
		return result, err
	}
	if members[list], err = jsonio.Encode(append(own, items...)); err != nil {
		return nil, err
	}
	raw, err := jsonio.Encode(members)
	return &rawResult{raw: raw}, err
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
