package contribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var panel = Request{Role: HypothesisGenerator, Text: fenced(third) + fenced(`{}`) + fenced(hypothesis)}

func TestForm(t *testing.T) {
	f, err := NewForm(panel)
	require.NoError(t, err)
	require.Len(t, f.Deltas, 2)
	assert.Equal(t, []int{1, 3}, []int{f.Deltas[0].Delta, f.Deltas[1].Delta}, "a rejected delta is not scored")
	assert.Len(t, f.Protocol, 5)
	assert.Len(t, f.Deltas[0].Criteria, 5, "no paradox without context")
	for _, name := range criterionNames {
		assert.NotEmpty(t, tables().LookFor[name], name)
	}
	r := panel
	r.Context = map[string]bool{"paradox": true}
	f, err = NewForm(r)
	require.NoError(t, err)
	require.Len(t, f.Deltas[0].Criteria, 6)
	ask := f.Deltas[0].Criteria[4]
	assert.Equal(t, "third_alternative 2 4", ask.Criterion+" "+ask.Weight.String()+" "+string(rune('0'+len(ask.Levels))))
	_, err = NewForm(Request{})
	assert.Error(t, err)
}

// An evaluation scores delta by delta; what it leaves out is scored by the request, then by rule.
func TestApply(t *testing.T) {
	r := panel
	r.Scores = Scores{"citation": 1}
	rep, err := Apply(r, Evaluation{"ann", []Judgment{{Delta: 1, Scores: Scores{"structural": 3, "citation": 3, "rationale": 3, "level_separation": 2, "third_alternative": 3, "paradox": 1}}}})
	require.NoError(t, err)
	assert.Equal(t, "17/19", rep.Deltas[0].Composite.String()+"/"+rep.Deltas[0].Max.String())
	assert.Equal(t, "18", rep.Deltas[2].Max.String())
	assert.Equal(t, Given, rep.Deltas[2].Criteria["citation"].Source)
	assert.Equal(t, Automatic, rep.Deltas[2].Criteria["rationale"].Source)
}

// Three evaluators on one delta, by hand: structural 3 3 2, third_alternative 3 1 1. Of the six pairs two are
// equal, (3,3) and (1,1), and four are at most one level apart.
func TestCompare(t *testing.T) {
	a, err := Compare(panel, []Evaluation{
		{"cem", []Judgment{{Delta: 1, Scores: Scores{"structural": 2, "third_alternative": 1}, Notes: map[string]string{"third_alternative": "a case of H1"}}}},
		{"ann", []Judgment{{Delta: 1, Scores: Scores{"structural": 3, "third_alternative": 3}}}},
		{"bo", []Judgment{{Delta: 1, Scores: Scores{"structural": 3, "third_alternative": 1}}, {Delta: 3, Scores: Scores{"citation": 3}}}},
	})
	require.NoError(t, err)
	assert.Equal(t, 6, a.Pairs)
	assert.Equal(t, "0.3333", a.Exact.String())
	assert.Equal(t, "0.6667", a.WithinOne.String())
	require.Len(t, a.Disagreements, 2)
	d := a.Disagreements[0]
	assert.Equal(t, Disagreement{1, "third_alternative", map[string]int{"ann": 3, "bo": 1, "cem": 1}, map[string]string{"cem": "a case of H1"}, 2, d.Points, 1}, d)
	assert.Equal(t, "4", d.Points.String(), "two levels of weight 2, the weightiest first")
	assert.Equal(t, "structural 1", a.Disagreements[1].Criterion+" "+a.Disagreements[1].Points.String())
	var offsets []string
	for _, o := range a.Evaluators {
		offsets = append(offsets, o.Evaluator+" "+o.Mean.String())
	}
	// ann: (3-3 + 3-2 + 3-1 + 3-1) / 4; bo: (0 + 1 - 2 + 0) / 4; cem: (-1 - 1 - 2 + 0) / 4.
	assert.Equal(t, []string{"ann 1.25", "bo -0.25", "cem -1"}, offsets)
	assert.Equal(t, 2, a.Rules["1"]["third_alternative"])
	assert.NotContains(t, a.Rules, "2")
}

func TestNobodyToCompare(t *testing.T) {
	a, err := Compare(panel, []Evaluation{{"ann", []Judgment{{Delta: 1, Scores: Scores{"structural": 2}}}}})
	require.NoError(t, err)
	assert.Zero(t, a.Pairs)
	assert.Nil(t, a.Exact)
	assert.Nil(t, a.Evaluators[0].Mean)
	assert.Empty(t, a.Disagreements)
}

func TestEvaluationsThatAreRefused(t *testing.T) {
	for want, list := range map[string][]Evaluation{
		"evaluations[0].evaluator: a name is needed that no other has":                              {{}},
		"evaluations[1].evaluator: a name is needed that no other has":                              {{Evaluator: "a"}, {Evaluator: "a"}},
		"evaluations[0].deltas[0].delta: 4 is not 1 to 3":                                           {{"a", []Judgment{{Delta: 4}}}},
		"evaluations[0].deltas[0].delta: 2 was rejected and has no scores":                          {{"a", []Judgment{{Delta: 2}}}},
		"evaluations[0].deltas[1].delta: 1 comes twice":                                             {{"a", []Judgment{{Delta: 1}, {Delta: 1}}}},
		"evaluations[0].deltas[0].scores.potency: it is no criterion of a hypothesis_generator":     {{"a", []Judgment{{Delta: 1, Scores: Scores{"potency": 1}}}}},
		"evaluations[0].deltas[0].scores.structural: 4 is off the scale of 0 to 3 in whole numbers": {{"a", []Judgment{{Delta: 1, Scores: Scores{"structural": 4}}}}},
		"evaluations: 101 are more than 100":                                                        make([]Evaluation, 101),
	} {
		_, err := Compare(panel, list)
		assert.EqualError(t, err, want)
	}
}
