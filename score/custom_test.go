package score

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const custom = `
id: review
dimensions:
  - {name: accuracy, weight: 0.5, scale: {min: 0, max: 10}, anchors: [{from: 0, label: C}, {from: 5, label: B, text: mostly right}]}
  - {name: style, weight: 0.5, scale: {min: 0, max: 10}, conditional: true}
weights_sum: 1
ceilings: [{dimension: accuracy, below: 5, cap: 4}]
gates: [{name: unsafe, cap: 0, consequence: withheld}]
bands: [{verdict: good, at_least: 6}, {verdict: bad, fails: true}]
warnings: [{name: dull, dimension: style, below: 3, text: Dull}]
`

func scores(text string) map[string]*Decimal {
	var m map[string]*Decimal
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err)
	}
	return m
}

func TestCustom(t *testing.T) {
	req := CustomRequest{Source: custom, Items: []Item{
		{ID: "a", Scores: scores(`{"accuracy":8,"style":2}`), Rationale: map[string]string{"style": "flat"}},
		{ID: "b", Scores: scores(`{"accuracy":7,"style":null}`)},
		{ID: "c", Scores: scores(`{"accuracy":4,"style":10}`)},
		{ID: "d", Scores: scores(`{"accuracy":10,"style":10}`), FailedGates: []string{"unsafe"}},
	}}
	a, err := new(Scorer).Custom(t.Context(), req)
	require.NoError(t, err)
	text, err := json.Marshal(a.Results)
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"id":"a","dimensions":{"accuracy":{"score":8,"weight":0.5,"label":"B","explanation":"mostly right"},"style":{"score":2,"weight":0.5,"label":"","explanation":"","rationale":"flat"}},
		 "composite":5,"uncapped":5,"ceiling":null,"max":10,"percent":50,"verdict":"bad","caution":false,"fail_reasons":["Composite score 5.00 below threshold of 6.0"],"warnings":["dull: Dull"],"gates":[],"rank":null},
		{"id":"b","dimensions":{"accuracy":{"score":7,"weight":0.5,"label":"B","explanation":"mostly right"}},
		 "composite":7,"uncapped":7,"ceiling":null,"max":10,"percent":70,"verdict":"good","caution":false,"fail_reasons":[],"warnings":[],"gates":[],"rank":1},
		{"id":"c","dimensions":{"accuracy":{"score":4,"weight":0.5,"label":"C","explanation":""},"style":{"score":10,"weight":0.5,"label":"","explanation":""}},
		 "composite":4,"uncapped":7,"ceiling":4,"max":10,"percent":40,"verdict":"bad","caution":false,"fail_reasons":["Composite score 4.00 below threshold of 6.0"],"warnings":[],"gates":[],"rank":null},
		{"id":"d","dimensions":{"accuracy":{"score":10,"weight":0.5,"label":"B","explanation":"mostly right"},"style":{"score":10,"weight":0.5,"label":"","explanation":""}},
		 "composite":0,"uncapped":10,"ceiling":null,"max":10,"percent":0,"verdict":"bad","caution":false,"fail_reasons":["Composite score 0.00 below threshold of 6.0"],"warnings":[],"gates":[{"gate":"unsafe","consequence":"withheld"}],"rank":null}]`, string(text))

	def := MustLoad([]byte(custom)).Definition()
	req.Source, req.Definition = "", &def
	same, err := new(Scorer).Custom(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, a, same)
}

func TestCustomRefuses(t *testing.T) {
	def := MustLoad([]byte(custom)).Definition()
	good := []Item{{ID: "a", Scores: scores(`{"accuracy":8,"style":2}`)}}
	for _, tt := range []struct {
		name string
		req  CustomRequest
		want string
	}{
		{"no definition", CustomRequest{Items: good}, "definition: is required"},
		{"two", CustomRequest{Definition: &def, Source: custom, Items: good}, "only one can be meant"},
		{"broken", CustomRequest{Source: "id: x", Items: good}, "definition: rubric \"x\": dimensions: there is none"},
		{"no items", CustomRequest{Source: custom}, "items: is required"},
		{"no id", CustomRequest{Source: custom, Items: []Item{{}}}, "items[0].id: is required"},
		{"twice", CustomRequest{Source: custom, Items: append(good, good...)}, `items[1].id: "a" is also the id of items[0]`},
		{"missing", CustomRequest{Source: custom, Items: []Item{{ID: "a", Scores: scores(`{"accuracy":8}`)}}}, "items[0].scores.style: the score is missing"},
		{"null where it always applies", CustomRequest{Source: custom, Items: []Item{{ID: "a", Scores: scores(`{"accuracy":null,"style":1}`)}}}, "items[0].scores.accuracy: always applies"},
		{"weights", CustomRequest{Source: custom, Items: good, Weights: map[string]Decimal{"accuracy": 1}}, "weights: "},
		{"judge", CustomRequest{Source: custom, Items: []Item{{ID: "a", Text: "x"}}, Judge: &JudgeOptions{}}, "no judge is configured"},
		{"nothing to show a judge", CustomRequest{Source: custom, Items: []Item{{ID: "a"}}, Judge: &JudgeOptions{}}, "items[0].text: is required"},
	} {
		_, err := new(Scorer).Custom(t.Context(), tt.req)
		assert.ErrorContains(t, err, tt.want, tt.name)
	}
}

func TestCustomByJudge(t *testing.T) {
	m := &model{misdeed: func(string) string {
		return `{"accuracy":{"explanation":"right","score":9},"style":{"explanation":"a table has none","score":null}}`
	}}
	a, err := m.scorer(t).Custom(t.Context(), CustomRequest{Source: custom, Items: []Item{{ID: "a", Text: "2 + 2 = 4"}}, Judge: &JudgeOptions{}})
	require.NoError(t, err)
	assert.Equal(t, "9", a.Results[0].Composite.String())
	assert.Equal(t, "right", a.Results[0].Dimensions["accuracy"].Rationale)
}
