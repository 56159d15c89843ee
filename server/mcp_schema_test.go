package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/run"
	mcpserver "waymark/server/mcp"
)

// nasty makes a desk list tools that are hard to publish: schemas of JSON Schema that not every host reads, and
// definitions that no host can use.
func nasty(d *frontDesk) {
	offer := func(name string, schema any) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: name, InputSchema: schema}
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	more := []*mcp.Tool{
		offer("loose", raw(`{"type":"object","properties":{"any":true,"never":false,"deep":{"type":"object","properties":{"x":true},"patternProperties":{"^y":false},"items":true}},
			"$defs":{"d":true},"anyOf":[true,{"properties":{"z":false}}],"additionalProperties":false}`)),
		offer("untyped", raw(`{"properties":{"a":{"type":"string"}}}`)),
		offer("nothing", nil),
		offer("boolean", true),
		offer("text", "a schema"),
		offer("list", raw(`{"type":"array"}`)),
		offer("property", raw(`{"type":"object","properties":{"a":"string"}}`)),
		offer("required", raw(`{"type":"object","required":"a"}`)),
		offer("header", raw(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`)),
		offer("bad name!", raw(`{"type":"object"}`)),
	}
	d.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok {
				list.Tools = append(slices.Clone(list.Tools), more...)
			}
			return result, err
		}
	})
}

const nastyTools = 3 + 8 // those that can be called; text and bad name! cannot

// listSchema is what the types of the official TypeScript SDK demand of the tools of a list, which drop the whole list
// for one tool that does not fit.
const listSchema = `{"type":"array","items":{"type":"object","required":["name","inputSchema"],"properties":{
	"name":{"type":"string","pattern":"^[A-Za-z0-9_-]{1,64}$"},"title":{"type":"string"},"description":{"type":"string"},
	"annotations":{"type":"object","properties":{"title":{"type":"string"}},"additionalProperties":{"type":"boolean"}},
	"inputSchema":{"$ref":"#/$defs/top"},"outputSchema":{"$ref":"#/$defs/top"}}},
	"$defs":{"top":{"required":["type"],"properties":{"type":{"const":"object"},"required":{"type":"array","items":{"type":"string"}},
	"properties":{"type":"object","additionalProperties":{"type":"object"}}}}}}`

// requireListed checks a tools/list and returns the names of its tools.
func requireListed(t *testing.T, list []byte) (names []string) {
	t.Helper()
	var answer struct {
		Result struct{ Tools json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(list, &answer))
	validator, err := run.NewValidator(json.RawMessage(listSchema))
	require.NoError(t, err)
	wrong, err := validator.Check(answer.Result.Tools)
	require.NoError(t, err)
	require.Empty(t, wrong)
	var tools []struct{ Name string }
	require.NoError(t, json.Unmarshal(answer.Result.Tools, &tools))
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestPublishedSchemas(t *testing.T) {
	list := func(t *testing.T, s *Server) []byte {
		body, header := modern("tools/list", "", "")
		r := webOf(t, s).mcp(body, header...)
		require.Equal(t, 200, r.status, r.body)
		return []byte(r.body)
	}
	t.Run("plain", func(t *testing.T) {
		assert.Len(t, requireListed(t, list(t, newOffice(t))), 8)
	})
	// Hosts get the tools that they can use, whatever other tools their server has.
	usable := []string{"desk__loose", "desk__nothing", "desk__required", "desk__shred", "desk__sign", "desk__stamp", "desk__untyped"}
	for _, tt := range []struct {
		mode string
		want []string
	}{
		{mcpserver.ModeAuto, usable}, {mcpserver.ModeDirect, usable}, {mcpserver.ModeHybrid, []string{"desk__loose"}}, {mcpserver.ModeDeferred, []string{}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			d := newFrontDesk(t)
			nasty(d)
			s := officeBeside(t, d, nastyTools, func(c *Config) { c.Upstream.Mode, c.Upstream.Chosen = tt.mode, []string{"desk:l*"} })
			listed := list(t, s)
			if tt.mode == mcpserver.ModeDeferred {
				assert.LessOrEqual(t, len(listed), 12_000, "every session pays for the list")
			}
			names := requireListed(t, listed)
			own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "desk__") })
			assert.Len(t, own, 11)
			assert.ElementsMatch(t, tt.want, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(own, name) }))
		})
	}
}

// What is left out of the list is said, with the reason, to whoever looks after the server.
func TestDoctorNamesUnusableTools(t *testing.T) {
	d := newFrontDesk(t)
	nasty(d)
	s := officeBeside(t, d, nastyTools, func(*Config) {})
	w := webOf(t, s)
	answer := parse[struct{ Checks []check }](t, 200, w.ask("GET", "/v1/doctor", ""))
	i := slices.IndexFunc(answer.Checks, func(c check) bool { return c.Name == "tools of servers" })
	require.GreaterOrEqual(t, i, 0)
	for _, reason := range []string{
		"6 left out", "desk:boolean: input schema: the schema is not a JSON object", `desk:list: input schema: the type of the schema is array`,
		"desk:property: input schema: the property a is not a schema", "desk:header: ", "x-mcp-header",
		"desk:text: ", `"bad name!"`,
	} {
		assert.Contains(t, answer.Checks[i].Detail, reason)
	}
	assert.True(t, answer.Checks[i].OK, "the list works without them")
}
