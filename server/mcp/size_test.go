package mcpserver

import (
	"encoding/json"
	"testing"

	"waymark/catalog"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is measured is about what a host would get.
func TestDefinitionSize(t *testing.T) {
	for _, tool := range []catalog.Tool{
		{ID: "fs:read", Name: "read"},
		{ID: "fs:read", Description: "Reads a \"file\"\n\tor \\ two\x01", InputSchema: json.RawMessage(`{"type":"object","properties":{"p":{}}}`)},
	} {
		listed := map[string]any{"name": catalog.HostName(tool.ID), "inputSchema": json.RawMessage(`{"type":"object"}`)}
		if tool.Description != "" {
			listed["description"] = tool.Description
		}
		if tool.InputSchema != nil {
			listed["inputSchema"] = tool.InputSchema
		}
		text, err := json.Marshal(listed)
		require.NoError(t, err)
		assert.InDelta(t, len(text)+len(","), DefinitionSize(&tool), 20)
	}
}
