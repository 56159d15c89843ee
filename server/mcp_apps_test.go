package server

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host that shows apps finds the document of a tool by its _meta and reads it. There is no other resource.
func TestMCPApps(t *testing.T) {
	client := overHTTP("2025-06-18")(t, newOffice(t), nil)
	listed, err := client.ListResources(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, listed.Resources, 2)
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, templates.ResourceTemplates)
	for _, screen := range []string{"next", "plan"} {
		uri := "ui://waymark/" + screen
		read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.NoError(t, err)
		require.Len(t, read.Contents, 1)
		assert.Equal(t, "text/html;profile=mcp-app", read.Contents[0].MIMEType)
		assert.Contains(t, read.Contents[0].Text, `data-view="`+screen+`"`)
		assert.NotRegexp(t, `(src|href)="`, read.Contents[0].Text, "nothing is loaded beside the document")
	}
}
