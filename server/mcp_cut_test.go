package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mcpserver "waymark/server/mcp"
)

// A long result is cut, and read to its last byte through its handle.
func TestLongResultsAreCut(t *testing.T) {
	const limit = 4 << 10
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "line %d: größe\n", i)
	}
	d := newFrontDesk(t)
	d.AddTool(&mcp.Tool{Name: "files", Description: "Read a file.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: long.String()}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("small")},
				&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 2*limit)},
			}}, nil
		})
	began := time.Now()
	var later atomic.Int64
	s := officeBeside(t, d, 4, func(c *Config) {
		c.Upstream.ResultLimit = limit
		c.Now = func() time.Time { return began.Add(time.Duration(later.Load())) }
	})
	client := overMemory(t, s, nil)
	r := call(t, client, "call_tool", map[string]any{"tool": "desk:files"})
	require.Len(t, r.Content, 4)
	assert.Contains(t, r.Content[1].(*mcp.TextContent).Text, "read_result")
	assert.Equal(t, []byte("small"), r.Content[2].(*mcp.ImageContent).Data)
	assert.Contains(t, r.Content[3].(*mcp.TextContent).Text, "a block of type image")
	named := r.Meta["io.waymark/result"].(map[string]any)
	handle := named["result"].(string)

	whole := r.Content[0].(*mcp.TextContent).Text
	assert.LessOrEqual(t, len(whole), limit)
	for at := len(whole); at > 0; {
		part := answerOf[mcpserver.ReadResultAnswer](t, call(t, client, "read_result", map[string]any{"result": handle, "offset": at, "length": 4000}))
		assert.LessOrEqual(t, len(part.Text), 4000)
		whole += part.Text
		at = part.Next
	}
	assert.Equal(t, long.String()+"\n", whole)
	assert.EqualValues(t, len(whole), named["bytes"])

	found := answerOf[mcpserver.ReadResultAnswer](t, call(t, client, "read_result", map[string]any{"result": handle, "find": "LINE 1999"}))
	require.Len(t, found.Found, 1)
	assert.Contains(t, found.Found[0].Text, "line 1999: größe")
	assert.Equal(t, strings.Index(whole, "line 1999"), found.Found[0].Offset)
	many := answerOf[mcpserver.ReadResultAnswer](t, call(t, client, "read_result", map[string]any{"result": handle, "find": "größe", "offset": 10}))
	assert.Len(t, many.Found, 20)
	assert.Positive(t, many.Next)
	for _, wrong := range []map[string]any{{"result": "r_none"}, {"result": handle, "offset": -1}, {"result": handle, "offset": len(whole) + 1}, {"result": handle, "length": limit + 1}, {}} {
		assert.True(t, call(t, client, "read_result", wrong).IsError, "%v", wrong)
	}

	// A structured result is cut as JSON, and its text that repeats it is dropped.
	letter := strings.Repeat("x", limit)
	r = call(t, client, "call_tool", map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": letter}})
	assert.Nil(t, r.StructuredContent)
	assert.True(t, strings.HasPrefix(r.Content[0].(*mcp.TextContent).Text, `{"letter":"xxx`))
	r = call(t, client, "call_tool", map[string]any{"tool": "desk:stamp", "arguments": map[string]any{"letter": "short"}})
	assert.NotNil(t, r.StructuredContent)

	later.Add(int64(2 * time.Hour))
	assert.True(t, call(t, client, "read_result", map[string]any{"result": handle}).IsError, "it is kept for an hour")
}
