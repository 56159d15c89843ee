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
		{"boolean properties", `{"type":"object","properties":{"b":true,"a":false}}`, `{"type":"object","properties":{"b":{},"a":{"not":{}}}}`},
		{"additionalProperties stays", `{"type":"object","additionalProperties":false,"unevaluatedProperties":true}`, `{"type":"object","additionalProperties":false,"unevaluatedProperties":true}`},
		{"nested", `{"type":"object","properties":{"p":{"properties":{"q":true}}},"$defs":{"d":{"items":true}},"patternProperties":{"^x":false}}`,
			`{"type":"object","properties":{"p":{"properties":{"q":{}}}},"$defs":{"d":{"items":{}}},"patternProperties":{"^x":{"not":{}}}}`},
		{"lists", `{"type":"object","anyOf":[true,{"not":false}],"properties":{"a":{"items":[true,{}],"prefixItems":[false]}}}`,
			`{"type":"object","anyOf":[{},{"not":{"not":{}}}],"properties":{"a":{"items":[{},{}],"prefixItems":[{"not":{}}]}}}`},
		{"inside additionalProperties", `{"type":"object","additionalProperties":{"properties":{"a":true}}}`, `{"type":"object","additionalProperties":{"properties":{"a":{}}}}`},
		{"properties with names of keywords", `{"type":"object","properties":{"properties":true,"type":true,"required":true,"default":true}}`,
			`{"type":"object","properties":{"properties":{},"type":{},"required":{},"default":{}}}`},
		{"values are data", `{"type":"object","default":{"properties":{"a":true}},"properties":{"a":{"const":true,"enum":[true,{"items":false}],"default":false,"type":["string","null"]}}}`,
			`{"type":"object","default":{"properties":{"a":true}},"properties":{"a":{"const":true,"enum":[true,{"items":false}],"default":false,"type":["string","null"]}}}`},
		{"empty lists", `{"type":["object","null"],"properties":[],"required":null,"anyOf":[],"$defs":[]}`, `{"type":"object","properties":{},"$defs":{}}`},
		{"empty lists inside", `{"type":"object","properties":{"a":{"type":"array","items":[],"required":true},"b":{"properties":null,"enum":[]}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{}}}`},
		{"required", `{"type":"object","required":["a",null],"properties":{"a":{"required":"b"},"c":{"required":[]}}}`, `{"type":"object","required":["a"],"properties":{"a":{"required":["b"]},"c":{}}}`},
		{"numbers stay", `{"type":"object","properties":{"a":{"maximum":1e400,"minimum":12345678901234567890}}}`, `{"type":"object","properties":{"a":{"maximum":1e400,"minimum":12345678901234567890}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := HostSchema(json.RawMessage(tt.in))
			require.NoError(t, err)
			assert.Equal(t, string(Canonical(json.RawMessage(tt.want))), string(Canonical(got)))
			again, err := HostSchema(got)
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again))
		})
	}
}

func TestHostSchemaRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"boolean", `true`, "the schema is a JSON boolean"},
		{"list", `[]`, "the schema is a JSON array"},
		{"type", `{"type":"array"}`, `the type of the schema is "array"`},
		{"property", `{"type":"object","properties":{"a":"string"}}`, "/properties/a in the schema is a JSON string"},
		{"nested property", `{"type":"object","properties":{"a":{"properties":{"b":3}}}}`, "/properties/a/properties/b in the schema is a JSON number"},
		{"repeated name", `{"type":"object","properties":{"a":{},"a":{}}}`, "cannot be decoded"},
		{"cut", `{"type":"object","properties":{`, "cannot be decoded"},
		{"more", `{"type":"object"} {}`, "cannot be decoded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := HostSchema(json.RawMessage(tt.in))
			require.ErrorContains(t, err, tt.want)
		})
	}
}
