package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

var listedName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// requireListed checks a tools/list as the types of the official TypeScript SDK do, which drop the whole list for
// one tool that does not fit, and beyond them that no schema at any depth is a boolean.
func requireListed(t *testing.T, list []byte) (names []string) {
	t.Helper()
	var answer struct {
		Result struct{ Tools []map[string]any }
	}
	require.NoError(t, json.Unmarshal(list, &answer))
	for _, tool := range answer.Result.Tools {
		name, _ := tool["name"].(string)
		names = append(names, name)
		require.Regexp(t, listedName, name)
		for _, key := range []string{"title", "description"} {
			if text, there := tool[key]; there {
				require.IsType(t, "", text, "%s: %s", name, key)
			}
		}
		hints, _ := tool["annotations"].(map[string]any)
		for key, hint := range hints {
			if key != "title" {
				require.IsType(t, true, hint, "%s: %s", name, key)
			}
		}
		requireToolSchema(t, name+" inputSchema", tool["inputSchema"])
		if out, there := tool["outputSchema"]; there {
			requireToolSchema(t, name+" outputSchema", out)
		}
	}
	return names
}

func requireToolSchema(t *testing.T, at string, schema any) {
	t.Helper()
	s, ok := schema.(map[string]any)
	require.True(t, ok, "%s is %T", at, schema)
	require.Equal(t, "object", s["type"], at)
	if required, there := s["required"]; there {
		list, ok := required.([]any)
		require.True(t, ok, "%s: required is %T", at, required)
		for _, name := range list {
			require.IsType(t, "", name, "%s: required", at)
		}
	}
	requireObjects(t, at, s)
}

// requireObjects goes through the schemas inside a schema.
func requireObjects(t *testing.T, at string, schema map[string]any) {
	t.Helper()
	one := func(at string, v any) {
		inner, ok := v.(map[string]any)
		require.True(t, ok, "%s is %T", at, v)
		requireObjects(t, at, inner)
	}
	for key, v := range schema {
		at := at + "." + key
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, ok := v.(map[string]any)
			require.True(t, ok, "%s is %T", at, v)
			for name, inner := range named {
				one(at+"."+name, inner)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for i, inner := range v.([]any) {
				one(fmt.Sprintf("%s[%d]", at, i), inner)
			}
		case "items", "contains", "not", "if", "then", "else", "propertyNames":
			one(at, v)
		case "additionalProperties":
			if _, boolean := v.(bool); !boolean {
				one(at, v)
			}
		}
	}
}

func TestPublishedSchemas(t *testing.T) {
	list := func(t *testing.T, s *Server) []byte {
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		body, header := modern("tools/list", "", "")
		resp, answer := post(t, web.Client(), web.URL+"/mcp", body, header)
		require.Equal(t, http.StatusOK, resp.StatusCode, answer)
		return []byte(answer)
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
			names := requireListed(t, list(t, s))
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
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(ts.Close)
	w := web{Server: s, t: t, url: ts.URL}
	answer := parse[struct{ Checks []check }](t, 200, w.ask("GET", "/v1/doctor", ""))
	i := slices.IndexFunc(answer.Checks, func(c check) bool { return c.Name == "tools of servers" })
	require.GreaterOrEqual(t, i, 0)
	for _, reason := range []string{
		"6 left out", "desk:boolean: input schema: the schema is a JSON boolean", `desk:list: input schema: the type of the schema is "array"`,
		"desk:property: input schema: /properties/a in the schema is a JSON string", "desk:header: ", "x-mcp-header",
		"desk:text: ", `"bad name!"`,
	} {
		assert.Contains(t, answer.Checks[i].Detail, reason)
	}
	assert.True(t, answer.Checks[i].OK, "the list works without them")
}
