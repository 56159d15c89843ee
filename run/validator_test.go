package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSchemaChecks(t *testing.T) {
	for _, tt := range []struct{ name, schema, value, wrong string }{
		{"no schema", ``, `{"a":1}`, ""},
		{"null schema", `null`, `{"a":1}`, ""},
		{"fits", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, ""},
		{"wrong type", `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"x"}`, "a: got string, want integer"},
		{"missing", `{"type":"object","required":["a"]}`, `{}`, "missing property 'a'"},
		{"property called default", `{"properties":{"default":{"type":"string"}}}`, `{"default":1}`, "default: got number, want string"},
		{"const stays", `{"properties":{"a":{"const":{"x":1}}}}`, `{"a":{"x":1}}`, ""},
		{"enum of objects stays", `{"enum":[{"format":"date"}]}`, `{"format":"date"}`, ""},
		{"formats are remarks", `{"type":"string","format":"date"}`, `"never"`, ""},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":3,"exclusiveMinimum":true}`, `3`, "exclusiveMinimum"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"null"}},"$ref":"#/definitions/n"}`, `1`, "want null"},
		{"recursive", `{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{"x":1}}}`, "next.next"},
		{"large numbers", `{"const":9007199254740993}`, `9007199254740992`, "must be 9007199254740993"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewValidator(json.RawMessage(tt.schema))
			require.NoError(t, err)
			wrong, err := s.Check(json.RawMessage(tt.value))
			require.NoError(t, err)
			if tt.wrong == "" {
				require.Empty(t, wrong)
				return
			}
			assert.Contains(t, wrong[0].String(), tt.wrong)
		})
	}
}

func TestSchemasThatCannotBeRead(t *testing.T) {
	for name, schema := range map[string]string{
		"no JSON": `{`, "remote": `{"$ref":"https://example.org/schema.json"}`, "a file": `{"$ref":"file:///etc/passwd"}`,
		"wrong keyword": `{"type":"thing"}`, "missing definition": `{"$ref":"#/$defs/none"}`,
		"too long":           `{"description":"` + strings.Repeat("x", 70_000) + `"}`,
		"regular expression": `{"pattern":"("}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewValidator(json.RawMessage(schema))
			assert.Error(t, err)
		})
	}
}

// Small schemas that ask for 2⁴⁰ visits, in each of the ways that the library takes.
func TestSchemaBombs(t *testing.T) {
	const use = `"$ref":"#/$defs/a40"}`
	chain := func(join string) string {
		var b strings.Builder
		b.WriteString(`{"$defs":{"a0":{"type":"string"}`)
		for i := range 40 {
			fmt.Fprintf(&b, `,"a%d":`+join, i+1, i, i)
		}
		b.WriteString(`},` + use)
		return b.String()
	}
	for name, schema := range map[string]string{
		"allOf":     chain(`{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`),
		"anyOf":     chain(`{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`),
		"not anyOf": strings.Replace(chain(`{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`), use, `"not":{`+use+`}`, 1),
		"oneOf":     chain(`{"oneOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`),
		"if":        chain(`{"if":{"$ref":"#/$defs/a%d"},"else":{"$ref":"#/$defs/a%d"}}`),
		"draft 7":   `{"$schema":"http://json-schema.org/draft-07/schema#",` + chain(`{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`)[1:],
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewValidator(json.RawMessage(schema))
			require.NoError(t, err)
			_, err = s.Check(json.RawMessage(`7`))
			assert.ErrorIs(t, err, errTooComplex)
		})
	}
	s, err := NewValidator(json.RawMessage(`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`))
	require.NoError(t, err)
	for value, want := range map[string]error{
		strings.Repeat(`{"x":`, 60) + `1` + strings.Repeat(`}`, 60): errTooComplex,
		`{"x":{"x":1}}`: nil, // the count starts anew
		`"` + strings.Repeat("x", checkedSize) + `"`: errTooLarge,
	} {
		_, err := s.Check(json.RawMessage(value))
		assert.ErrorIs(t, err, want)
	}
}
