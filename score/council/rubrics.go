package council

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"waymark/score/rubric"
)

//go:embed council.yaml
var source []byte

var base = rubric.MustLoad(source).Definition()

// A kind of task has weights of its own, and text for dimensions that mean something else there.
type kind struct {
	name, title string
	weights     map[string]rubric.Decimal
	noCeilings  bool
	text        map[string]string
}

// pct is n per cent as a weight.
func pct(n int) rubric.Decimal { return rubric.Hundredths(n) }

// kinds are the rubrics. Updated is what a review by peers made of original; the others are chosen, not measured.
var kinds = []kind{
	{name: "updated", title: "Five dimensions",
		weights: map[string]rubric.Decimal{"accuracy": pct(35), "relevance": pct(10), "completeness": pct(20), "conciseness": pct(15), "clarity": pct(20)}},
	{name: "original", title: "Four dimensions",
		weights: map[string]rubric.Decimal{"accuracy": pct(35), "completeness": pct(25), "conciseness": pct(20), "clarity": pct(20)}},
	{name: "coding", title: "Code and technical tasks",
		weights: map[string]rubric.Decimal{"accuracy": pct(40), "relevance": pct(5), "completeness": pct(20), "conciseness": pct(10), "clarity": pct(15), "instruction_adherence": pct(10)},
		text: map[string]string{
			"accuracy":     "Does the code do what it says, on ordinary and on edge cases, with functions and options that exist?",
			"completeness": "Are all requirements met, with the errors that can occur handled?",
			"clarity":      "Can the code be read and changed by others, and are its choices explained where they surprise?",
		}},
	{name: "creative", title: "Creative writing", noCeilings: true,
		weights: map[string]rubric.Decimal{"relevance": pct(20), "completeness": pct(15), "conciseness": pct(10), "clarity": pct(30), "instruction_adherence": pct(25)},
		text: map[string]string{
			"relevance":    "Does it take up the theme, the mood and the audience asked for?",
			"completeness": "Is it a whole, with everything that was asked for in it?",
			"conciseness":  "Does every line earn its place? Length is judged here and nowhere else.",
			"clarity":      "Is the language sure, and does it have an effect of its own?",
		}},
	{name: "factual", title: "Questions of fact",
		weights: map[string]rubric.Decimal{"accuracy": pct(50), "relevance": pct(10), "completeness": pct(15), "conciseness": pct(10), "clarity": pct(15)},
		text: map[string]string{
			"accuracy": "Is every fact right and checkable, is nothing invented, and is what is not known called unknown?",
		}},
}

// Rubrics are the names that [Options].Rubric takes.
func Rubrics() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Dimensions are the names of all dimensions, whichever of them a rubric weighs.
func Dimensions() []string {
	names := make([]string, len(base.Dimensions))
	for i, d := range base.Dimensions {
		names[i] = d.Name
	}
	return names
}

// Weighed is the rubric that the options ask for, "updated" if they say nothing. Weights, if given, name
// every dimension that counts; instruction adherence takes a tenth from the others.
func (o Options) Weighed() (*rubric.Rubric, error) {
	name := o.Rubric
	if name == "" {
		name = kinds[0].name
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, rubric.Refuse("options.rubric", "there is no %s; there are %s", shown(name), strings.Join(Rubrics(), ", "))
	}
	k := kinds[i]
	weights := maps.Clone(k.weights)
	adherence := o.InstructionAdherence && weights["instruction_adherence"] == 0
	switch {
	case o.Weights != nil:
		weights = o.Weights
		if adherence && weights["instruction_adherence"] == 0 {
			return nil, rubric.Refuse("options.instruction_adherence", "the weights given leave it out")
		}
	case adherence:
		for name, w := range weights {
			weights[name] = w * 9 / 10 // exact: weights are whole per cents
		}
		weights["instruction_adherence"] = pct(10)
	}
	return k.weighed(weights)
}

func (k kind) weighed(weights map[string]rubric.Decimal) (*rubric.Rubric, error) {
	def := base
	def.ID, def.Title = "council:"+k.name, base.Title+", "+k.title
	def.Dimensions = nil
	for _, d := range base.Dimensions {
		w, ok := weights[d.Name]
		if !ok {
			continue
		}
		d.Weight = w
		if text, ok := k.text[d.Name]; ok {
			d.Description = text
		}
		def.Dimensions = append(def.Dimensions, d)
	}
	if len(def.Dimensions) < len(weights) {
		for _, name := range slices.Sorted(maps.Keys(weights)) {
			if !slices.Contains(Dimensions(), name) {
				return nil, rubric.Refuse("options.weights", "there is no dimension %s; there are %s", shown(name), strings.Join(Dimensions(), ", "))
			}
		}
	}
	def.Ceilings = slices.Clone(base.Ceilings)
	if k.noCeilings {
		def.Ceilings = nil
	}
	for _, c := range def.Ceilings {
		if _, ok := weights[c.Dimension]; !ok {
			return nil, rubric.Refuse("options.weights", "%s sets the ceiling and cannot be left out; 0 leaves it no other part", c.Dimension)
		}
	}
	r, err := rubric.New(def)
	if err != nil {
		return nil, rubric.Refuse("options.weights", "%v", err)
	}
	return r, nil
}
