package server

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host that shows apps finds the document of a tool by its _meta, reads it, and reads the map that one of them shows.
func TestMCPApps(t *testing.T) {
	eachWay(t, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		tools, err := client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		of := map[string]any{}
		for _, tool := range tools.Tools {
			if ui, ok := tool.Meta["ui"].(map[string]any); ok {
				of[tool.Name] = ui["resourceUri"]
			}
		}
		assert.Equal(t, map[string]any{"suggest_next": "ui://waymark/next", "suggest_dag": "ui://waymark/plan"}, of)
		if capabilities := client.InitializeResult().Capabilities; capabilities != nil {
			assert.Contains(t, capabilities.Extensions, "io.modelcontextprotocol/ui")
		}
		for _, screen := range []string{"map", "next", "plan"} {
			uri := "ui://waymark/" + screen
			read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			require.NoError(t, err)
			require.Len(t, read.Contents, 1)
			assert.Equal(t, "text/html;profile=mcp-app", read.Contents[0].MIMEType)
			assert.Contains(t, read.Contents[0].Text, `data-view="`+screen+`"`)
			assert.NotRegexp(t, `(src|href)="`, read.Contents[0].Text, "nothing is loaded beside the document")
		}
		read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "waymark://map"})
		require.NoError(t, err)
		var backbone struct {
			Nodes      []struct{ ID string }
			TotalNodes int `json:"total_nodes"`
		}
		require.NoError(t, json.Unmarshal([]byte(read.Contents[0].Text), &backbone))
		assert.NotEmpty(t, backbone.Nodes)
		assert.GreaterOrEqual(t, backbone.TotalNodes, len(backbone.Nodes))
	})
}
