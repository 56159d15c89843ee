package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

// What one server wrote that is no clean JSON costs that item, and no list and no other item.
func TestOneBadItemOfAList(t *testing.T) {
	for _, bad := range []string{`{"name":"a","x":{"y":1,"y":2}}`, "{\"name\":\"a\",\"x\":\"\xff\"}", `{"name":"a","x":"\ud800"}`} {
		out := encoded(rawOf(&mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}}).extend("prompts", []json.RawMessage{json.RawMessage(bad), json.RawMessage(`{"name":"good"}`)}))
		assert.Contains(t, string(out), `"good"`, bad)
		assert.True(t, json.Valid(out))
		tool := encoded(rawOf(&mcp.Tool{Name: "t"}).add(map[string]json.RawMessage{"icons": json.RawMessage(bad)}))
		assert.Contains(t, string(tool), `"t"`, bad)
	}
}
