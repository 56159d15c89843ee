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
		{"null where it always applies", CustomRequest{Source: custom, Items: []Item{{ID: "a", Scores: scores(`{"accuracy":null,"style":1}`)}}}, "items[0].scores.accuracy: always applies"},
		{"judge", CustomRequest{Source: custom, Items: []Item{{ID: "a", Text: "x"}}, Judge: &JudgeOptions{}}, "no judge is configured"},
		{"nothing to show a judge", CustomRequest{Source: custom, Items: []Item{{ID: "a"}}, Judge: &JudgeOptions{}}, "items[0].text: is required"},
	} {
		_, err := new(Scorer).Custom(t.Context(), tt.req)
		assert.ErrorContains(t, err, tt.want, tt.name)
	}
}

func TestCustomByJudge(t *testing.T) {
	m := newModel(t)
	m.misdeed = func(user string) string {
		return `{"accuracy":{"explanation":"right","score":9},"style":{"explanation":"a table has none","score":null}}`
	}
	a, err := m.scorer(t).Custom(t.Context(), CustomRequest{Source: custom, Items: []Item{{ID: "a", Text: "2 + 2 = 4"}}, Judge: &JudgeOptions{}})
	require.NoError(t, err)
	assert.Equal(t, "9", a.Results[0].Composite.String())
	assert.Equal(t, "right", a.Results[0].Dimensions["accuracy"].Rationale)
}
