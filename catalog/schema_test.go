package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stretchr/testify/assert"
)

// The rows follow JSON Schema 2020-12 by hand; the compact form is that of the public tool data sets.
func TestProperties(t *testing.T) {
	for _, tt := range []struct {
		why, schema string
		want        []Property
	}{
		{"nothing", ``, nil},
		{"no object", `[1]`, nil},
		{"boolean schema", `true`, nil},
		{"standard", `{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"words"},"n":{"type":"integer"}}}`,
			[]Property{{"n", "integer", "", false}, {"q", "string", "words", true}}},
		{"compact", `{"properties":{"query":"string","since":"date"}}`,
			[]Property{{"query", "string", "", false}, {"since", "any", "", false}}},
		{"null is no type of its own", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"},{"type":"string"}]}}}`,
			[]Property{{"a", "string", "", false}, {"b", "integer|string", "", false}}},
		{"values tell the type", `{"properties":{"a":{"enum":["x","y"]},"b":{"const":1.5},"c":{},"d":true}}`,
			[]Property{{"a", "string", "", false}, {"b", "number", "", false}, {"c", "any", "", false}, {"d", "any", "", false}}},
		{"one level down", `{"properties":{"o":{"type":"object","required":["i"],"properties":{"i":{"type":"object","properties":{"deep":{}}}}}}}`,
			[]Property{{"o", "object", "", false}, {"o.i", "object", "", false}}},
		{"references", `{"$ref":"#/$defs/In","$defs":{"In":{"required":["u"],"properties":{"u":{"$ref":"#/$defs/a~1b"}}},"a/b":{"type":"string"}}}`,
			[]Property{{"u", "string", "", true}}},
		{"a circle", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, []Property{{"a", "any", "", false}}},
		{"itself", `{"$ref":"#/"}`, nil},
		{"joined", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			[]Property{{"a", "string", "", false}, {"b", "string", "", true}}},
		{"nonsense", `{"properties":{"a":5,"b":[],"c":{"type":{},"description":7}},"required":"a","allOf":3}`,
			[]Property{{"a", "any", "", false}, {"b", "any", "", false}, {"c", "any", "", false}}},
		{"cut off", `{"properties":{"a":`, nil},
	} {
		assert.Equal(t, tt.want, Properties(json.RawMessage(tt.schema)), tt.why)
	}
}

// Null is allowed where OpenAPI says so in its own way.
func TestNullable(t *testing.T) {
	require.Equal(t, "null or string", ReadSchema(json.RawMessage(`{"type":"string","enum":["a"],"nullable":true}`)).Types().String())
}

func FuzzProperties(f *testing.F) {
	f.Add(contract)
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`)
	f.Add(`{"allOf":[{"$ref":"#"}],"properties":{"a":"string"}}`)
	f.Add(strings.Repeat(`{"properties":{"a":`, 50))
	f.Fuzz(func(t *testing.T, s string) {
		all := Properties(json.RawMessage(s))
		if !slices.IsSortedFunc(all, func(a, b Property) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("%s: %v is not sorted", s, all)
		}
	})
}

// References that fan out in a circle end soon: k references to itself cost k^8 without a bound.
func TestPropertiesOfAFanOfReferencesEnd(t *testing.T) {
	var refs []string
	for range 12 {
		refs = append(refs, `{"$ref":"#/$defs/a"}`)
	}
	schema := `{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[` + strings.Join(refs, ",") + `]}}}`
	done := make(chan []Property, 1)
	go func() { done <- Properties([]byte(schema)) }()
	select {
	case p := <-done:
		require.Len(t, p, 1)
	case <-time.After(10 * time.Second):
		t.Fatal("still reading after 10 s")
	}
}
