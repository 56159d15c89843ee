package mcpserver

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/suggest"
)

// outsideError is why a session with a tool set is not told of an id.
type outsideError struct{ error }

// resolve returns the id that a spelling means. Within a set an ambiguous spelling is refused like an id outside it,
// because the error lists ids.
func resolve(m *suggest.Model, set *suggest.ToolSet, spelling string) (string, error) {
	id, err := m.Resolve(spelling)
	if set != nil && (err != nil || !m.Allows(set, id)) {
		return "", &outsideError{set.Refusal(shownID(spelling))}
	}
	return id, err
}

// bound keeps tools outside the set of a session out of tools/list.
func (m *mcpTools) bound(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		set := requestAccess(ctx, req.GetExtra()).Tools
		if set == nil {
			return next(ctx, method, req)
		}
		result, err := next(ctx, method, req)
		if all, ok := result.(*mcp.ListToolsResult); ok && all != nil {
			shown := *all
			shown.Tools = []*mcp.Tool{}
			for _, t := range all.Tools {
				if !m.others(t.Name) || m.offers(set, t.Name) {
					shown.Tools = append(shown.Tools, t)
				}
			}
			result = &shown
		}
		return result, err
	}
}

// others reports whether a name in the list is of a tool of another server.
func (m *mcpTools) others(name string) bool { return strings.Contains(name, "__") }

// offers reports whether a name in the list is of a tool in the set that can be called now.
func (m *mcpTools) offers(set *suggest.ToolSet, name string) bool {
	if m.cfg.Upstream.Gateway == nil {
		return false
	}
	for _, t := range m.cfg.Upstream.Gateway.Tools() {
		if catalog.HostName(t.ID) == name {
			return set.Has(t.ID)
		}
	}
	return false
}
