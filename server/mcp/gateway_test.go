package mcpserver

import (
	"encoding/json"
	"fmt"
	"testing"

	"waymark/catalog"
	"waymark/run"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A result that does not fit its schema is marked where a model reads it, and its structured content is not passed on.
func TestAMisfitIsMarked(t *testing.T) {
	out, err := new(mcpTools).resultOf("desk:count", run.Result{Content: json.RawMessage(`[{"type":"text","text":"seven"}]`), Misfit: true, Unvalidated: "n: got string, want integer"})
	require.NoError(t, err)
	require.False(t, out.IsError)
	require.Nil(t, out.StructuredContent)
	require.Len(t, out.Content, 2)
	require.Contains(t, out.Content[0].(*mcp.TextContent).Text, "n: got string, want integer")
	require.Equal(t, "n: got string, want integer", out.Meta[metaUnvalidated])
}

// Auto passes few and small tools through, and else shows those that were chosen, or none.
func TestModeAuto(t *testing.T) {
	tools := func(n, size int) (all []catalog.Tool) {
		for i := range n {
			all = append(all, catalog.Tool{ID: fmt.Sprintf("s:t%02d", i), Description: string(make([]byte, size))})
		}
		return all
	}
	assert.Len(t, listedOf(Upstream{}, tools(20, 10), nil), 20)
	assert.Empty(t, listedOf(Upstream{}, tools(21, 10), nil))
	assert.Empty(t, listedOf(Upstream{}, tools(10, 3000), nil))
	assert.Len(t, listedOf(Upstream{Chosen: []string{"s:t0*"}}, tools(21, 10), []string{"s:t01"}), 10)
	assert.Len(t, listedOf(Upstream{Mode: ModeHybrid}, tools(21, 10), []string{"s:t11", "s:t20", "s:gone"}), 2)
}
