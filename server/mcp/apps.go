package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/live"
	"waymark/server/page"
	"waymark/suggest"
)

// MCP Apps: hosts that show apps find the document beside the tool and send it each answer of the tool.
const (
	extensionApps = "io.modelcontextprotocol/ui"
	mimeApp       = "text/html;profile=mcp-app"
	uriApps       = "ui://waymark/"
	uriMap        = "waymark://map"
	mapNodes      = 300
	mapEdges      = 900
)

// showIn tells hosts in which app the answers of a tool are shown.
func showIn(screen string, t mcpTool) mcpTool {
	t.tool.Meta = mcp.Meta{"ui": map[string]any{"resourceUri": uriApps + screen}}
	return t
}

func addApps(srv *mcp.Server, m *mcpTools) {
	for _, app := range []struct{ screen, title, description string }{
		{"map", "Map of the tools", "The most important tools and the strongest transitions between them."},
		{"next", "What comes next", "Candidates with the terms of their scores."},
		{"plan", "Plan", "The tasks of a plan as a graph."},
	} {
		srv.AddResource(&mcp.Resource{URI: uriApps + app.screen, Name: app.screen, Title: app.title, Description: app.description, MIMEType: mimeApp},
			func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				text, err := page.App(app.screen)
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mimeApp, Text: text,
					Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true}}}}}, err
			})
	}
	srv.AddResource(&mcp.Resource{URI: uriMap, Name: "map", Title: "The map of the tools", MIMEType: mimeJSON,
		Description: "The backbone of the learned graph with a place for each node."},
		m.resource(func(engine *live.Engine, _ *suggest.ToolSet, _ string) (any, bool, error) {
			return backbone(engine.Model().Map(nil)), true, nil
		}))
}

type appMap struct {
	Nodes      []suggest.MapNode    `json:"nodes"`
	Edges      []suggest.ExportEdge `json:"edges"`
	TotalNodes int                  `json:"total_nodes"`
	TotalEdges int                  `json:"total_edges"`
}

// backbone keeps the ends of the strongest transitions, and the transitions between them.
func backbone(m *suggest.Map) appMap {
	out := appMap{Nodes: []suggest.MapNode{}, Edges: []suggest.ExportEdge{}, TotalNodes: len(m.Nodes), TotalEdges: len(m.Edges)}
	in := m.Backbone(mapNodes)
	for _, n := range m.Nodes {
		if in[n.ID] {
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, l := range m.Edges {
		if len(out.Edges) < mapEdges && in[l.From] && in[l.To] {
			out.Edges = append(out.Edges, l)
		}
	}
	return out
}
