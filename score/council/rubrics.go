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

//go:embed kinds.yaml
var kindsSource []byte

// kinds are the rubrics; the first one is the default.
var kinds = rubric.MustDecode[[]kind](kindsSource)

// A kind of task has weights of its own, and text for dimensions that mean something else there.
type kind struct {
	Name       string                    `json:"name"`
	Title      string                    `json:"title"`
	Weights    map[string]rubric.Decimal `json:"weights"`
	NoCeilings bool                      `json:"no_ceilings"`
	Text       map[string]string         `json:"text"`
}

// Rubrics are the names that [Options].Rubric takes.
func Rubrics() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
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
		name = kinds[0].Name
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.Name == name })
	if i < 0 {
		return nil, rubric.Refuse("options.rubric", "there is no %s; there are %s", shown(name), strings.Join(Rubrics(), ", "))
	}
	k := kinds[i]
	weights := maps.Clone(k.Weights)
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
		weights["instruction_adherence"] = rubric.Hundredths(10)
	}
	return k.weighed(weights)
}

func (k kind) weighed(weights map[string]rubric.Decimal) (*rubric.Rubric, error) {
	def := base
	def.ID, def.Title = "council:"+k.Name, base.Title+", "+k.Title
	def.Dimensions = nil
	for _, d := range base.Dimensions {
		w, ok := weights[d.Name]
		if !ok {
			continue
		}
		d.Weight = w
		if text, ok := k.Text[d.Name]; ok {
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
	if k.NoCeilings {
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
