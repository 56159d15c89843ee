package contribution

import (
	"maps"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
	"waymark/score"
)

// encoded is an answer as every surface writes it: nothing is null which is a list or a map.
func encoded(t require.TestingT, v any) string {
	data, err := jsonv2.Marshal(v, jsonv1.DefaultOptionsV1(), jsonv2.FormatNilSliceAsNull(false), jsonv2.FormatNilMapAsNull(false), jsonv2.Deterministic(true))
	require.NoError(t, err)
	return string(data)
}

func scored(t *testing.T, r Request) Report {
	t.Helper()
	rep, err := Score(r)
	require.NoError(t, err)
	return rep
}

// criteriaOf returns the criteria of a role.
func criteriaOf(r Role) []score.Dimension {
	return slices.DeleteFunc(slices.Clone(criteria().Definition().Dimensions), func(d score.Dimension) bool { return !tables().Criteria[d.Name].isOf(r) })
}

// all gives every criterion of every role its share of the maximum.
func all(best bool) Scores {
	s := Scores{}
	for _, r := range Roles {
		for _, c := range criteriaOf(r) {
			if s[c.Name] = 0; best {
				s[c.Name] = score.Whole(len(c.Anchors) - 1)
			}
		}
	}
	return s
}

func without(s Scores, names ...string) Scores {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(name string, _ score.Decimal) bool { return slices.Contains(names, name) })
	return out
}

func names(list []string) []string {
	out := []string{}
	for _, w := range list {
		name, _, _ := strings.Cut(w, ":")
		out = append(out, name)
	}
	return out
}

// The composites of the rubric, “Composite Scoring”, and of its example; those without a conditional
// criterion as brenner_bot's scorecard.ts has them (origins of the seed documents, 3.4), recomputed by hand.
func TestComposites(t *testing.T) {
	example := Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "level_separation": score.Whole(2), "third_alternative": score.Whole(3), "paradox": score.Whole(1)}
	noScore := strings.Replace(test, `"score": {"likelihood_ratio": 3, "cost": 2, "speed": 2, "ambiguity": 2}`, `"status": "planned"`, 1)
	for name, tt := range map[string]struct {
		role                    Role
		text                    string
		scores                  Scores
		composite, max, percent string
		grade                   string
	}{
		"the rubric's example":                          {HypothesisGenerator, third, example, "17", "19", "89.47", "B"},
		"origins 3.4, without paradox":                  {HypothesisGenerator, third, without(example, "paradox"), "16.5", "18", "91.67", "A"},
		"origins 3.4, generator, all":                   {HypothesisGenerator, hypothesis, all(true), "19", "19", "100", "A"},
		"generator, all but paradox":                    {HypothesisGenerator, hypothesis, without(all(true), "paradox"), "18", "18", "100", "A"},
		"origins 3.4, generator, nothing":               {HypothesisGenerator, hypothesis, all(false), "0", "19", "0", "F"},
		"origins 3.4, tester, all":                      {testDesigner, test, all(true), "21.5", "21.5", "100", "A"},
		"tester without transposition":                  {testDesigner, test, without(all(true), "object_transposition"), "20.5", "20.5", "100", "A"},
		"tester without a score in the payload":         {testDesigner, noScore, all(true), "20.5", "20.5", "100", "A"},
		"tester without both":                           {testDesigner, noScore, without(all(true), "object_transposition"), "19.5", "19.5", "100", "A"},
		"tester, nothing":                               {testDesigner, test, all(false), "0", "21.5", "0", "F"},
		"origins 3.4, critic who kills":                 {adversarialCritic, kill, all(true), "25.5", "25.5", "100", "A"},
		"origins 3.4, critic who adds":                  {adversarialCritic, critique, all(true), "21", "21", "100", "A"},
		"critic who kills, nothing":                     {adversarialCritic, kill, all(false), "0", "25.5", "0", "F"},
		"critic who adds, nothing":                      {adversarialCritic, critique, all(false), "0", "21", "0", "F"},
		"a kill that is not justified":                  {adversarialCritic, kill, Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "scale_check": score.Whole(3), "quarantine": score.Whole(3), "real_third_alternative": score.Whole(3), "kill_justification": score.Whole(0)}, "21", "25.5", "82.35", "B"},
		"the same scores for an ADD are the whole":      {adversarialCritic, critique, Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "scale_check": score.Whole(3), "quarantine": score.Whole(3), "real_third_alternative": score.Whole(3), "kill_justification": score.Whole(0)}, "21", "21", "100", "A"},
		"a given kill_justification is of no use there": {adversarialCritic, anomaly, all(true), "21", "21", "100", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			r := scored(t, Request{Role: tt.role, Text: fenced(tt.text), Scores: tt.scores})
			require.Len(t, r.Deltas, 1)
			d := r.Deltas[0]
			require.True(t, d.Valid, "%v", d.Errors)
			assert.Equal(t, tt.composite, d.Composite.String())
			assert.Equal(t, tt.max, d.Max.String())
			assert.Equal(t, tt.percent, d.Percent.String())
			assert.Equal(t, tt.grade, *d.Grade)
			assert.Equal(t, tt.composite, d.Upper.String(), "given scores leave nothing open")
			for name, c := range d.Criteria {
				assert.Equal(t, "given", c.Source, name)
				assert.Empty(t, c.NeedsHuman)
			}
			assert.Equal(t, tt.grade == "F", strings.Contains(strings.Join(r.Warnings, "\n"), "low_quality_contribution"))
		})
	}
}

// The seed's table of conditional criteria says “score 0 if not applicable”, its next paragraph “exclude from
// the denominator”. They contradict each other; excluding is what its maxima, its reason and the scorecard do.
func TestConditionalCriteriaLeaveTheMaximum(t *testing.T) {
	r := Request{Role: HypothesisGenerator, Text: fenced(hypothesis)}
	assert.Equal(t, "18", scored(t, r).Deltas[0].Max.String())
	assert.Contains(t, scored(t, r).Deltas[0].NotApplicable, "paradox")
	r.Context = map[string]bool{"paradox": true}
	assert.Equal(t, "19", scored(t, r).Deltas[0].Max.String())
	assert.Contains(t, scored(t, r).Deltas[0].Criteria, "paradox")
	r.Context = map[string]bool{"paradox": false}
	assert.Equal(t, "18", scored(t, r).Deltas[0].Max.String())
	r.Scores = Scores{"paradox": score.Whole(0)}
	assert.Equal(t, "19", scored(t, r).Deltas[0].Max.String())
	r = Request{Role: testDesigner, Text: fenced(test), Context: map[string]bool{"object_transposition": true}}
	assert.Equal(t, "21.5", scored(t, r).Deltas[0].Max.String())
}

func TestGates(t *testing.T) {
	fake := strings.Replace(hypothesis, "§161", "§237", 1)
	for name, tt := range map[string]struct {
		role    Role
		text    string
		anchors *Anchors
		want    []string // gate, consequence
		valid   []bool
	}{
		"none":                  {HypothesisGenerator, fenced(third), &Anchors{Max: 236}, nil, []bool{true}},
		"invalid JSON":          {testDesigner, fenced(`{"operation"`), nil, []string{"invalid_json", "delta_rejected"}, []bool{}},
		"empty block":           {testDesigner, fenced(``), nil, []string{"invalid_json", "delta_rejected"}, []bool{}},
		"no potency check":      {testDesigner, fenced(strings.Replace(test, "potency_check", "x", 1)), nil, []string{"missing_potency_check", "test_rejected"}, []bool{false}},
		"of any role":           {HypothesisGenerator, fenced(strings.Replace(test, "potency_check", "x", 1)), nil, []string{"missing_potency_check", "test_rejected"}, []bool{false}},
		"fake anchor":           {adversarialCritic, fenced(third) + fenced(fake), &Anchors{Max: 236}, []string{"fake_anchor", "contribution_flagged"}, []bool{true, true}},
		"fake anchor in prose":  {HypothesisGenerator, "as §400 says\n" + fenced(third), &Anchors{Max: 236}, []string{"fake_anchor", "contribution_flagged"}, []bool{true}},
		"no transcript":         {adversarialCritic, fenced(third) + fenced(fake), nil, nil, []bool{true, true}},
		"a section 0":           {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "237", "0", 1)), nil, []string{"fake_anchor", "contribution_flagged"}, []bool{true, true}},
		"a range backwards":     {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "237", "45-42", 1)), nil, []string{"fake_anchor", "contribution_flagged"}, []bool{true, true}},
		"no record":             {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "§237", "EV-002#E1", 1)), &Anchors{Evidence: []string{"EV-001#E1"}}, []string{"fake_anchor", "contribution_flagged"}, []bool{true, true}},
		"a record":              {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "§237", "EV-001#E1", 1)), &Anchors{Evidence: []string{"EV-001#E1"}}, nil, []bool{true, true}},
		"its whole pack":        {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "§237", "EV-001", 1)), &Anchors{Evidence: []string{"EV-001#E1"}}, nil, []bool{true, true}},
		"an empty pack":         {adversarialCritic, fenced(third) + fenced(strings.Replace(fake, "§237", "EV-001", 1)), &Anchors{Evidence: []string{}}, []string{"fake_anchor", "contribution_flagged"}, []bool{true, true}},
		"kill, no rationale":    {adversarialCritic, fenced(strings.Replace(kill, `"rationale"`, `"agent"`, 1)), nil, []string{"kill_without_rationale", "kill_rejected"}, []bool{false}},
		"no third alternative":  {HypothesisGenerator, fenced(hypothesis), nil, []string{"third_alternative_missing", "set_incomplete"}, []bool{true}},
		"named, not marked":     {HypothesisGenerator, fenced(strings.Replace(hypothesis, `"Lineage"`, `"Third Alternative"`, 1)), nil, nil, []bool{true}},
		"only a test":           {testDesigner, fenced(test), nil, nil, []bool{true}},
		"a rejected hypothesis": {HypothesisGenerator, fenced(strings.Replace(hypothesis, `"target_id": null`, `"target_id": "H1"`, 1)), nil, nil, []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			r := scored(t, Request{Role: tt.role, Text: tt.text, Anchors: tt.anchors})
			if tt.want == nil {
				assert.Empty(t, r.Gates)
			} else if assert.Len(t, r.Gates, 1) {
				assert.Equal(t, tt.want, []string{r.Gates[0].Gate, r.Gates[0].Consequence})
				assert.NotEmpty(t, r.Gates[0].Detail)
			}
			valid := []bool{}
			for _, d := range r.Deltas {
				valid = append(valid, d.Valid)
			}
			assert.Equal(t, tt.valid, valid)
		})
	}
}

// A rejected delta stays, with its errors and without scores, also if scores were given.
func TestRejectedDeltasStay(t *testing.T) {
	r := scored(t, Request{Role: adversarialCritic, Text: fenced(strings.Replace(kill, `"rationale"`, `"agent"`, 1)) + fenced(anomaly), Scores: all(true)})
	require.Len(t, r.Deltas, 2)
	data := encoded(t, r.Deltas[0])
	assert.JSONEq(t, `{"line": 2, "operation": "KILL", "section": "hypothesis_slate", "target_id": "H2", "valid": false,
		"errors": ["KILL needs a rationale"], "notes": [], "criteria": {}, "not_applicable": {}, "operators": [],
		"composite": null, "composite_upper": null, "max": null, "percent": null, "grade": null}`, data)
	assert.Equal(t, "21", r.Deltas[1].Composite.String())
	assert.Equal(t, "1 delta valid, 1 rejected or dropped. The first scores 21 of 21 (A).", r.Message)
}

func TestWarnings(t *testing.T) {
	four := strings.Repeat(fenced(hypothesis), 3) + fenced(third)
	weak := strings.Replace(test, "Positive control with a known inducer; sensitivity checked by dose response; time course of 24 h", "we look twice", 1)
	for name, tt := range map[string]struct {
		role   Role
		text   string
		scores Scores
		want   []string
	}{
		"none":                       {HypothesisGenerator, fenced(third), nil, []string{}},
		"four hypotheses":            {HypothesisGenerator, four, all(true), []string{"hypothesis_sprawl"}},
		"three hypotheses":           {HypothesisGenerator, strings.Repeat(fenced(third), 3), nil, []string{}},
		"four hypotheses and a kill": {HypothesisGenerator, four + fenced(kill), without(Scores{"structural": score.Whole(3), "citation": score.Whole(3), "rationale": score.Whole(3), "level_separation": score.Whole(3), "third_alternative": score.Whole(3)}), []string{}},
		"weak assay":                 {testDesigner, fenced(weak), nil, []string{"weak_assay_design"}},
		"weak assay by hand":         {testDesigner, fenced(test), Scores{"potency": score.Whole(1)}, []string{"weak_assay_design"}},
		"adequate by hand":           {testDesigner, fenced(weak), Scores{"potency": score.Whole(2)}, []string{}},
		"mechanism, no scale check":  {adversarialCritic, fenced(critique), Scores{"quarantine": score.Whole(3)}, []string{"unverified_claim"}},
		"mechanism and scale check":  {adversarialCritic, fenced(critique) + fenced(scale), Scores{"quarantine": score.Whole(3)}, []string{}},
		"no mechanism":               {adversarialCritic, fenced(anomaly), Scores{"real_third_alternative": score.Whole(3)}, []string{}},
		"no delta":                   {testDesigner, "I have nothing to add.", nil, []string{"no_delta"}},
		"a score of another role":    {testDesigner, fenced(test), Scores{"paradox": score.Whole(1)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Role: tt.role, Text: tt.text, Scores: tt.scores}
			rep := scored(t, r)
			assert.Equal(t, tt.want, names(rep.Warnings), "%v", rep.Warnings)
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	for want, r := range map[string]Request{
		`text: is required`: {Role: testDesigner, Text: " \n"},
		`role: unknown role "judge": want hypothesis_generator, test_designer or adversarial_critic`:    {Role: "judge"},
		`role: unknown role "": want hypothesis_generator, test_designer or adversarial_critic`:         {},
		`scores.potency: 4 is off the scale of 0 to 3 in whole numbers`:                                 {Role: testDesigner, Scores: Scores{"potency": score.Whole(4)}},
		`scores.structural: 2.5 is off the scale of 0 to 3 in whole numbers`:                            {Role: testDesigner, Scores: Scores{"structural": score.Hundredths(250)}},
		`scores.paradox: 3 is off the scale of 0 to 2 in whole numbers`:                                 {Role: testDesigner, Scores: Scores{"paradox": score.Whole(3)}},
		`scores.structural: -1 is off the scale of 0 to 3 in whole numbers`:                             {Role: testDesigner, Scores: Scores{"structural": score.Whole(-1)}},
		`scores.style: there is no such criterion; there are ` + strings.Join(criteria().Names(), ", "): {Role: testDesigner, Scores: Scores{"style": score.Whole(1)}},
		`context.kill: there is no such switch; there are paradox, object_transposition`:                {Role: testDesigner, Context: map[string]bool{"kill": true}},
		`anchors.max: -1 is not between 0 and 1000000`:                                                  {Role: testDesigner, Anchors: &Anchors{Max: -1}},
		`round: -1 is not between 0 and 1000000`:                                                        {Role: testDesigner, Round: -1},
		`text: 262145 bytes are more than 262144`:                                                       {Role: testDesigner, Text: strings.Repeat("x", 262145)},
		`text: is not valid UTF-8`:                                                                      {Role: testDesigner, Text: "a\xffb"},
		`text: it has more than 1000 deltas`:                                                            {Role: testDesigner, Text: strings.Repeat(fenced(`{}`), maxDeltas+1)},
	} {
		if r.Text == "" && !strings.HasPrefix(want, "text") {
			r.Text = "x"
		}
		_, err := Score(r)
		assert.EqualError(t, err, want)
		var request *score.RequestError
		assert.ErrorAs(t, err, &request)
	}
}

// A score of null would silently be 0, the worst one.
func TestScoresAreNumbers(t *testing.T) {
	for _, in := range []string{`{"structural": null}`, `{"structural": "3"}`} {
		var s Scores
		assert.Error(t, codec.Unmarshal([]byte(in), &s))
	}
	var s Scores
	require.NoError(t, codec.Unmarshal([]byte(`{"structural": 3, "paradox": 0}`), &s))
	assert.Equal(t, Scores{"structural": score.Whole(3), "paradox": score.Whole(0)}, s)
}
