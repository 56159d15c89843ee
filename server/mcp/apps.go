package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/server/page"
)

// MCP Apps: hosts that support apps load the document of a tool and send it each answer of the tool.
const (
	extensionApps = "io.modelcontextprotocol/ui"
	mimeApp       = "text/html;profile=mcp-app"
	uriApps       = "ui://waymark/"
)

func addApps(srv *mcp.Server) {
	for _, app := range []struct{ screen, title, description string }{
		{"next", "Next tools", "Candidates with the terms of their scores."},
		{"plan", "Plan", "The tasks of a plan as a graph."},
	} {
		srv.AddResource(&mcp.Resource{URI: uriApps + app.screen, Name: app.screen, Title: app.title, Description: app.description, MIMEType: mimeApp},
			func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				text, err := page.App(app.screen)
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: mimeApp, Text: text,
					Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true}}}}}, err
			})
	}
}
