package rubric

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/rubric.schema.json describes what Parse and New take: every definition that they take fits, and what
// does not fit they refuse.
func TestSchemaOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/rubric.schema.json")
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	fits := func(t *testing.T, def string) error {
		data := []byte(def)
		if data[0] != '{' {
			data, err = FromYAML(data)
			require.NoError(t, err)
		}
		var value any
		require.NoError(t, json.Unmarshal(data, &value))
		return resolved.Validate(value)
	}
	shipped, err := os.ReadFile("../hypothesis/hypothesis.yaml")
	require.NoError(t, err)
	for _, good := range []string{review, string(shipped), `{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`} {
		assert.NoError(t, fits(t, good))
		_, err := Load([]byte(good))
		assert.NoError(t, err)
	}
	for _, bad := range []string{
		`{"id":"X","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`,
		`{"dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`,
		`{"id":"x","dimensions":[]}`,
		`{"id":"x","colour":"red","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`,
		`{"id":"x","dimensions":[{"name":"a","weight":-1,"scale":{"min":0,"max":1}}]}`,
		`{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1001}}]}`,
		`{"id":"x","dimensions":[{"name":"a","weight":"1","scale":{"min":0,"max":1}}]}`,
		`{"id":"x","aggregate":"median","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`,
		`{"id":"x","places":5,"dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`,
	} {
		assert.Error(t, fits(t, bad), bad)
		_, err := Load([]byte(bad))
		assert.Error(t, err, bad)
	}
	// Each field that the decoder knows is in the schema.
	def := MustLoad([]byte(review)).Definition()
	def.Title, def.Description, def.Places = "t", "d", new(3)
	def.Dimensions[0].Title, def.Dimensions[0].Description = "t", "d"
	def.Dimensions[0].Anchors[0].Text, def.Dimensions[0].Anchors[0].Example = "t", "e"
	def.Gates[0].Description = "d"
	full, err := json.Marshal(def)
	require.NoError(t, err)
	assert.NoError(t, fits(t, string(full)))
}
