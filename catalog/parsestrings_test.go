package catalog

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFit(t *testing.T) {
	const schema = `{"type":"object","properties":{"ids":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"},"x":{"type":"number"},
		"deep":{"type":"boolean"},"of":{"$ref":"#/$defs/of"},"text":{"type":"string"},"any":{},"maybe":{"anyOf":[{"type":"object"},{"type":"null"}]},
		"either":{"type":["string","array"]}},"$defs":{"of":{"type":"object","properties":{"n":{"type":"integer"}}}}}`
	for _, tt := range []struct{ in, want string }{
		{`{"ids":"[\"a\"]"}`, `{"ids":["a"]}`},
		{`{"ids":["a","1"],"text":"[1]","any":"{}","either":"[1]"}`, ``},
		{`{"n":"5","x":"2.5","deep":"true"}`, `{"deep":true,"n":5,"x":2.5}`},
		{`{"n":5.0}`, `{"n":5}`},
		{`{"n":5.5,"x":5.0}`, ``},
		{`{"n":"5.0"}`, `{"n":5}`},
		{`{"of":"{\"n\":\"7\"}"}`, `{"of":{"n":7}}`},
		{`{"maybe":"{\"a\":1}"}`, `{"maybe":{"a":1}}`},
		{`{"n":"five","ids":"a","deep":"yes","of":"[]"}`, ``},
		{`"{\"n\":1}"`, `{"n":1}`},
		{`{"n":12345678901234567890}`, ``},
		{`{`, ``}, {``, ``},
	} {
		if tt.want == "" {
			tt.want = tt.in
		}
		assert.Equal(t, tt.want, string(ParseStrings(json.RawMessage(tt.in), json.RawMessage(schema))), tt.in)
	}
	assert.Equal(t, `{"a":"[1]"}`, string(ParseStrings(json.RawMessage(`{"a":"[1]"}`), nil)))
}
