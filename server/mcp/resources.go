package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
	"waymark/suggest"
)

const (
	uriGraph        = "waymark://graph"
	uriTools        = "waymark://tools/"
	uriCapabilities = "waymark://capabilities/"
	templateID      = "{id}" // the end of both resource templates
	mimeJSON        = "application/json"
	graphHubs       = 10
)

// graphSummary is the graph in a few lines: how much there is, and its centre.
type graphSummary struct {
	suggest.Stats
	Hubs []hub `json:"hubs"` // by PageRank
}

type hub struct {
	ID       string       `json:"id"`
	Kind     catalog.Kind `json:"kind"`
	PageRank float64      `json:"pagerank"`
	Uses     uint64       `json:"uses"`
}

func addResources(srv *mcp.Server, m *mcpTools) {
	srv.AddResource(&mcp.Resource{
		URI: uriGraph, Name: "graph", Title: "The tool graph", MIMEType: mimeJSON,
		Description: "Size, communities, clusters and the central tools of the learned graph.",
	}, m.resource(func(engine *live.Engine, _ *suggest.ToolSet, _ string) (any, bool, error) {
		s, err := summarise(engine.Model())
		return s, true, err
	}))
	one := func(kind catalog.Kind) func(*live.Engine, *suggest.ToolSet, string) (any, bool, error) {
		return func(engine *live.Engine, set *suggest.ToolSet, id string) (any, bool, error) {
			d, ok, err := describe(engine, engine.Model(), set, id)
			return d, ok && d.Kind == kind, err
		}
	}
	srv.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: uriTools + templateID, Name: "tool", Title: "A tool", MIMEType: mimeJSON,
		Description: "Everything the catalog knows about a tool.",
	}, m.resource(one(catalog.KindTool)))
	srv.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: uriCapabilities + templateID, Name: "capability", Title: "A capability", MIMEType: mimeJSON,
		Description: "Everything the catalog knows about a capability.",
	}, m.resource(one(catalog.KindCapability)))
}

// resource reads one thing out of of the caller's workspace.
func (m *mcpTools) resource(read func(engine *live.Engine, set *suggest.ToolSet, id string) (any, bool, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
		defer cancel()
		uri := req.Params.URI
		engine, err := m.engineFor(ctx, req.Extra, "reading resources")
		if err != nil {
			return nil, err
		}
		v, ok, err := read(engine, requestAccess(ctx, req.Extra).Tools, idOf(uri))
		var ambiguous *catalog.AmbiguousError
		var held *heldError
		var outside *outsideError
		switch {
		case errors.As(err, &held):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: held.Error()}
		case errors.As(err, &outside):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: outside.Error()}
		case errors.As(err, &ambiguous):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ambiguous.Error()}
		case err != nil:
			m.cfg.Logger.ErrorContext(ctx, "MCP resource failed", "uri", uri, "error", err)
			return nil, errInternal
		case !ok:
			return nil, mcp.ResourceNotFoundError(uri)
		}
		text, err := jsonio.Encode(v)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeJSON, Text: string(text)}}}, nil
	}
}

// engineFor is the caller's workspace, for an action that needs the scope read.
func (m *mcpTools) engineFor(ctx context.Context, extra *mcp.RequestExtra, action string) (*live.Engine, error) {
	a := requestAccess(ctx, extra)
	if !a.May(request.ScopeRead) {
		return nil, errors.New(action + " needs the scope read")
	}
	engine, err := m.cfg.Workspaces.Get(ctx, a.Workspace)
	switch {
	case errors.Is(err, live.ErrNoWorkspace):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	case err != nil:
		m.cfg.Logger.ErrorContext(ctx, "MCP workspace failed", "action", action, "error", err)
		return nil, errInternal
	}
	return engine, nil
}

func summarise(m *suggest.Model) (graphSummary, error) {
	whole, err := m.Export("", 0)
	if err != nil {
		return graphSummary{}, err
	}
	slices.SortFunc(whole.Nodes, func(a, b suggest.ExportNode) int {
		return cmp.Or(cmp.Compare(b.PageRank, a.PageRank), cmp.Compare(a.ID, b.ID))
	})
	s := graphSummary{Stats: m.Stats(), Hubs: []hub{}}
	for _, n := range whole.Nodes[:min(graphHubs, len(whole.Nodes))] {
		s.Hubs = append(s.Hubs, hub{n.ID, n.Kind, n.PageRank, n.Uses})
	}
	return s, nil
}

// prefixOf is the part of a resource address before the id.
func prefixOf(uri string) string {
	for _, prefix := range []string{uriTools, uriCapabilities} {
		if strings.HasPrefix(uri, prefix) {
			return prefix
		}
	}
	return ""
}

// idOf is the id in a resource address, which comes percent-encoded.
func idOf(uri string) string {
	rest := uri[len(prefixOf(uri)):]
	if id, err := url.PathUnescape(rest); err == nil {
		return id
	}
	return rest
}

// escapeIDs lets clients write waymark://tools/github:search_issues. By the letter of RFC 6570 the
// template {id} matches only waymark://tools/github%3Asearch_issues, which few people write.
func escapeIDs(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		read, ok := req.(*mcp.ReadResourceRequest)
		if !ok || read.Params == nil || prefixOf(read.Params.URI) == "" {
			return next(ctx, method, req)
		}
		asked := read.Params.URI
		params := *read.Params
		// QueryEscape escapes all but unreserved characters, and space in a way of its own.
		params.URI = prefixOf(asked) + strings.ReplaceAll(url.QueryEscape(idOf(asked)), "+", "%20")
		again := *read
		again.Params = &params
		result, err := next(ctx, method, &again)
		if contents, ok := result.(*mcp.ReadResourceResult); ok && contents != nil {
			for _, c := range contents.Contents {
				c.URI = asked
			}
		}
		return result, err
	}
}
