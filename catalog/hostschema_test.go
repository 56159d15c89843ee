package catalog

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHostSchema(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"none", ``, `{"type":"object"}`},
		{"null", `null`, `{"type":"object"}`},
		{"no type", `{"required":["a"]}`, `{"required":["a"],"type":"object"}`},
		{"several types", `{"type":["object","null"]}`, `{"type":"object"}`},
		{"boolean properties", `{"type":"object","properties":{"b":true,"a":false}}`, `{"type":"object","properties":{"b":{},"a":{"not":{}}}}`},
		{"other booleans stay", `{"type":"object","additionalProperties":false,"properties":{"a":{"items":true}}}`, `{"type":"object","additionalProperties":false,"properties":{"a":{"items":true}}}`},
		{"empty lists", `{"type":"object","properties":[],"required":null}`, `{"type":"object","properties":{}}`},
		{"below", `{"type":"object","$defs":{"a":{"items":[{"properties":{"properties":{"properties":[]}}}]}},"anyOf":[{"properties":{"b":true}}]}`,
			`{"type":"object","$defs":{"a":{"items":[{"properties":{"properties":{"properties":{}}}}]}},"anyOf":[{"properties":{"b":{}}}]}`},
		{"data", `{"type":"object","properties":{"a":{"default":{"properties":[]}}}}`, `{"type":"object","properties":{"a":{"default":{"properties":[]}}}}`},
		{"required", `{"type":"object","required":["a",null],"properties":{"required":{"required":"b"}}}`, `{"type":"object","required":["a"],"properties":{"required":{"required":"b"}}}`},
		{"numbers and order stay", `{"type":"object","properties":{"b":{},"a":{"maximum":1e400,"minimum":12345678901234567890}}}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := HostSchema(json.RawMessage(tt.in))
			require.NoError(t, err)
			if tt.want == "" {
				assert.Equal(t, tt.in, string(got))
				return
			}
			assert.JSONEq(t, tt.want, string(got))
			again, err := HostSchema(got)
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again))
		})
	}
}

func TestHostSchemaRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`true`, "the schema is not a JSON object"},
		{`[]`, "the schema is not a JSON object"},
		{`{"type":"array"}`, `the type of the schema is array`},
		{`{"type":"object","properties":{"a":"string"}}`, "the property a is not a schema"},
		{`{"type":"object","properties":{`, "the schema is not a JSON object"},
		{`{"type":"object"} {}`, "the schema is not a JSON object"},
	} {
		_, err := HostSchema(json.RawMessage(tt.in))
		require.ErrorContains(t, err, tt.want, tt.in)
	}
}
