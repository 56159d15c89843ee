package score

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadRefuses(t *testing.T) {
	const good = `{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":5}}]`
	with := func(change string) string {
		return "id: x\ndimensions:\n  - {name: a, weight: 1, scale: {min: 0, max: 5}}\n  - {name: b, weight: 1, scale: {min: 0, max: 5}}\n" + change
	}
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "not YAML"},
		{"blank", " \n", "not YAML"},
		{"prose", "hello", "does not fit"},
		{"unknown field", good + `,"colour":"red"}`, "colour: unknown field"},
		{"unknown field inside", `{"id":"x","dimensions":[{"name":"a","wieght":1}]}`, "dimensions.0.wieght: unknown field"},
		{"other case", good + `,"Title":"x"}`, "Title: unknown field"},
		{"member twice", good + `,"id":"y"}`, "duplicate"},
		{"trailing", good + `} {}`, "data after the end"},
		{"cut off", good, "ends early"},
		{"string for a number", `{"id":"x","dimensions":[{"name":"a","weight":"1"}]}`, "weight"},
		{"too fine", `{"id":"x","dimensions":[{"name":"a","weight":0.12345}]}`, "more than 4 decimal places"},
		{"YAML twice", "id: x\nid: y\n", "already defined"},
		{"YAML two documents", "id: x\n---\nid: y\n", "more than one YAML document"},
		{"YAML infinity", "weights_sum: .inf\n", "+Inf"},
		{"YAML date", "weights_sum: 2026-01-02\n", "weights_sum"},
		{"YAML number as a name", "1: x\n", "unsupported type"},
		{"deep", "a: " + strings.Repeat("[", 80) + strings.Repeat("]", 80), "levels deep"},
		{"large", strings.Repeat("#", maxSource+1), "larger than"},

		{"no id", "dimensions: [{name: a, weight: 1, scale: {min: 0, max: 5}}]", `id: "" is not a name`},
		{"no dimension", "id: x", "dimensions: there is none"},
		{"name", "id: x\ndimensions: [{name: A b, weight: 1, scale: {min: 0, max: 5}}]", `dimensions[0].name: "A b" is not a name`},
		{"twice", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 0, max: 5}}, {name: a, weight: 1, scale: {min: 0, max: 5}}]", `dimensions[1].name: "a" comes twice`},
		{"weightless", "id: x\ndimensions: [{name: a, weight: 0, scale: {min: 0, max: 5}}]", "every weight is 0"},
		{"negative", "id: x\ndimensions: [{name: a, weight: -1, scale: {min: 0, max: 5}}]", "weight: -1 is not between 0 and 1000"},
		{"scale", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 5, max: 5}}]", "min 5 is not below max 5"},
		{"scale without a maximum above 0", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: -5, max: 0}}]", "max 0 is not above 0"},
		{"scale too wide", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 0, max: 5000}}]", "max: 5000 is not between -1000 and 1000"},
		{"integer scale", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 0.5, max: 5, integer: true}}]", "whole ends"},
		{"anchor", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 0, max: 5}, anchors: [{from: 6}]}]", "from 6 is off the scale"},
		{"anchor twice", "id: x\ndimensions: [{name: a, weight: 1, scale: {min: 0, max: 5}, anchors: [{from: 1}, {from: 1.0}]}]", "two from 1"},
		{"sum", with("weights_sum: 1"), "the weights add up to 2, not to 1"},
		{"aggregate", with("aggregate: median"), `aggregate: "median" is neither`},
		{"bands on", with("bands_on: luck"), `bands_on: "luck" is neither`},
		{"places", with("places: 5"), "places: 5 is not between 0 and 4"},
		{"floor", with("floors: [{dimension: c, below: 1}]"), `floors[0].dimension: there is no dimension "c"`},
		{"ceiling", with("ceilings: [{dimension: c, below: 1, cap: 1}]"), `ceilings[0].dimension: there is no dimension "c"`},
		{"warning", with("warnings: [{name: w, dimension: c, below: 1}]"), `warnings[0].dimension: there is no dimension "c"`},
		{"tie-break", with("tie_breaks: [c]"), `tie_breaks[0].dimension: there is no dimension "c"`},
		{"tie-break twice", with("tie_breaks: [a, a]"), `tie_breaks[1]: "a" comes twice`},
		{"gate twice", with("gates: [{name: g}, {name: g}]"), `gates[1].name: "g" comes twice`},
		{"bands that rise", with("bands: [{verdict: a, at_least: 1}, {verdict: b, at_least: 2}, {verdict: c}]"), "bands fall from the best"},
		{"band without threshold", with("bands: [{verdict: a}, {verdict: b}]"), "only the last band goes without"},
		{"last band with threshold", with("bands: [{verdict: a, at_least: 1}]"), "the last band takes all the rest"},
		{"better below worse", with("bands: [{verdict: a, at_least: 2}, {verdict: b, at_least: 1, fails: true}, {verdict: c}]"), "a band below one that fails has to fail too"},
		{"nothing can pass", with("bands: [{verdict: a, fails: true}]"), "bands[0]: the best band cannot fail"},
		{"floor without a failing band", with("floors: [{below: 1}]\nbands: [{verdict: a, at_least: 1}, {verdict: b}]"), "the last band has to fail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load([]byte(tt.in))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// Whatever is taken can be written, read again, and scored without a panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(reviewRubric))
	seed, err := os.ReadFile("hypothesis.yaml")
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":5}}]}`))
	f.Add([]byte("id: x\n\tdimensions: []"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Load(data)
		if err != nil {
			return
		}
		def := r.Definition()
		text, err := json.Marshal(def)
		require.NoError(t, err)
		again, err := Load(text)
		require.NoError(t, err)
		back, err := json.Marshal(again.Definition())
		require.NoError(t, err)
		require.Equal(t, string(text), string(back))
		for _, worst := range []bool{false, true} {
			c := Card{Scores: map[string]*Decimal{}}
			for _, d := range def.Dimensions {
				c.Scores[d.Name] = &d.Scale.Max
				if worst {
					c.Scores[d.Name] = &d.Scale.Min
				}
			}
			res, err := r.Score(c)
			require.NoError(t, err)
			r.Shown(res.Composite)
			if !worst {
				require.Zero(t, res.Uncapped.Cmp(res.Max))
			}
		}
	})
}

// docs/rubric.schema.json describes what Load takes: every definition that it takes fits, and what
// does not fit it refuses.
func TestSchemaOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/rubric.schema.json")
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	fits := func(t *testing.T, def string) error {
		data := []byte(def)
		if data[0] != '{' {
			data, err = yamlToJSON(data)
			require.NoError(t, err)
		}
		var value any
		require.NoError(t, json.Unmarshal(data, &value))
		return resolved.Validate(value)
	}
	shipped, err := os.ReadFile("hypothesis.yaml")
	require.NoError(t, err)
	for _, good := range []string{reviewRubric, string(shipped), `{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1}}]}`} {
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
	def := MustLoad([]byte(reviewRubric)).Definition()
	def.Title, def.Description, def.Places = "t", "d", new(3)
	def.Dimensions[0].Title, def.Dimensions[0].Description = "t", "d"
	def.Dimensions[0].Anchors[0].Text, def.Dimensions[0].Anchors[0].Example = "t", "e"
	def.Gates[0].Description = "d"
	full, err := json.Marshal(def)
	require.NoError(t, err)
	assert.NoError(t, fits(t, string(full)))
}
