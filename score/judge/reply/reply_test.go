package reply

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rating = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["score","why"],
	"properties":{"score":{"type":"integer","minimum":1,"maximum":5},"why":{"type":"string"},"note":{"type":["number","null"]}}}`)

func TestRead(t *testing.T) {
	for _, tt := range []struct{ name, in, want, fault string }{
		{name: "bare", in: `{"score":4,"why":"clear"}`, want: `{"score":4,"why":"clear"}`},
		{name: "fenced", in: "```json\n{\"score\": 4, \"why\": \"clear\"}\n```", want: `{"score":4,"why":"clear"}`},
		{name: "prose around", in: "Sure! Here it is: {\"score\":4,\"why\":\"clear\"} Hope that helps {smile}", want: `{"score":4,"why":"clear"}`},
		{name: "string for a number", in: `{"score":" 4 ","why":"clear","note":"2.5"}`, want: `{"note":2.5,"score":4,"why":"clear"}`},
		{name: "trailing commas and comments", in: "{\"score\":4, // good\n \"why\":\"a, }\", /* done */ }", want: `{"score":4,"why":"a, }"}`},
		{name: "braces and quotes in strings", in: `{"score":4,"why":"a } \" { b"}`, want: `{"score":4,"why":"a } \" { b"}`},
		{name: "thinking aloud first", in: `<think>maybe {"score":2,"why":"draft"}</think>{"score":4,"why":"clear"}`, want: `{"score":4,"why":"clear"}`},
		{name: "an outer object is not its first inner one", in: `{"findings":[{"score":1,"why":"x"}],"score":4,"why":"clear"}`, fault: "does not fit"},
		{name: "the last that fits", in: `{"score":4,"why":"clear"} and {"done":true}`, want: `{"score":4,"why":"clear"}`},
		{name: "a brace that leads nowhere", in: `{ oh {"score":4,"why":"clear"}`, want: `{"score":4,"why":"clear"}`},
		{name: "missing", in: `{"score":4}`, fault: "why"},
		{name: "null", in: `{"score":null,"why":"x"}`, fault: "does not fit"},
		{name: "word for a number", in: `{"score":"four","why":"x"}`, fault: "does not fit"},
		{name: "off the scale", in: `{"score":9,"why":"x"}`, fault: "does not fit"},
		{name: "no integer", in: `{"score":4.5,"why":"x"}`, fault: "does not fit"},
		{name: "unknown member", in: `{"score":4,"why":"x","composite":5}`, fault: "does not fit"},
		{name: "repeated name", in: `{"score":1,"score":5,"why":"x"}`, fault: "no JSON object"},
		{name: "array", in: `[4]`, fault: "no JSON object"},
		{name: "cut off", in: `{"score":4,"why":"cle`, fault: "no JSON object"},
		{name: "prose", in: "I would give it a four.", fault: "no JSON object"},
		{name: "nothing", in: "", fault: "no JSON object"},
		{name: "evaluations that are text", in: `{"score":{"value":4},"why":"x"}`, fault: "does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(tt.in, rating, nil)
			if tt.fault != "" {
				assert.ErrorContains(t, err, tt.fault)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

func TestReadRefusesABrokenSchema(t *testing.T) {
	_, err := Read(`{}`, json.RawMessage(`{"type":5}`), nil)
	assert.ErrorContains(t, err, "schema of the answer")
}

func TestObjects(t *testing.T) {
	got := Objects("a {\"x\":1} b ```\n{\"y\": [1, 2,]}\n``` {\"z\":{\"deep\":1}} {broken")
	var text []string
	for _, o := range got {
		text = append(text, string(o))
	}
	assert.Equal(t, []string{`{"x":1}`, `{"y":[1,2]}`, `{"z":{"deep":1}}`}, text)
	assert.Empty(t, Objects(strings.Repeat("{", 1<<20)), "and quickly")
	assert.Empty(t, Objects(strings.Repeat("{ ", 1<<19)+strings.Repeat(" ", 1<<20)), "and quickly")
	for name, before := range map[string]string{"formulas": `\frac{a}{b} `, "open braces": "{x ", "templates": "{{name}} ", "sets": "{1, 2} "} {
		got := Objects(strings.Repeat(before, 1000) + `{"score":4}`)
		if name != "open braces" { // these never close: the object is inside of each
			assert.Equal(t, []json.RawMessage{json.RawMessage(`{"score":4}`)}, got, name)
		}
	}
	assert.Empty(t, Objects(strings.Repeat(`{"a":`, 1<<18)), "and quickly")
}

func TestIsRefusal(t *testing.T) {
	for text, want := range map[string]bool{
		"I'm sorry, but I can't help with that.":              true,
		"I can’t rate this.":                                  true,
		"As a model I must decline.":                          true,
		"The claim is weak.":                                  false,
		strings.Repeat("Well. ", 100) + "I can't see a flaw.": false,
	} {
		assert.Equal(t, want, IsRefusal(text), text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"score":4,"why":"clear"}`)
	f.Add("```json\n{\"score\": \"4\",}\n```")
	f.Add(`{"a":{"b":[1,2,{"c":"}"}]}} // {`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range Objects(text) {
			require.True(t, json.Valid(o), "%q", o)
		}
		got, err := Read(text, rating, nil)
		if err == nil {
			again, err := Read(string(got), rating, nil)
			require.NoError(t, err)
			require.Equal(t, string(got), string(again))
		}
	})
}

func TestMend(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                      `{"a": 1}`,
		"{\"a\": \"x,\ny\",}":           `{"a": "x, y" }`,
		"{\"a\": /* , */ [1, ], //}\n}": "{\"a\":         [1  ]     \n}",
		"{\"a\": \"// \\\" ,}\"}":       "{\"a\": \"// \\\" ,}\"}",
		"\u00a0{}":                      "  {}",
		`{"a`:                           `{"a`,
	} {
		got, repairs := Mend(text)
		assert.Equal(t, want, got)
		assert.Equal(t, text != want, len(repairs) > 0, "%q", text)
	}
}
