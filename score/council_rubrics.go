package score

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
)

//go:embed council.yaml
var source []byte

// base has every dimension a council can score; a rubric weighs some of them.
var base = MustLoad(source)

//go:embed kinds.yaml
var kindsSource []byte

// kinds are the rubrics; the first one is the default.
var kinds = MustDecode[[]kind](kindsSource)

// A kind of task has its own weights, and its own text for dimensions that have another meaning there.
type kind struct {
	Name       string             `json:"name"`
	Title      string             `json:"title"`
	Weights    map[string]Decimal `json:"weights"`
	NoCeilings bool               `json:"no_ceilings"`
	Text       map[string]string  `json:"text"`
}

// Rubrics returns the names that [CouncilOptions].Rubric accepts.
func Rubrics() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// Weighed returns the rubric that the options select. Weights, if given, name every dimension that counts.
func (o CouncilOptions) Weighed() (*Rubric, error) {
	i := slices.Index(Rubrics(), cmp.Or(o.Rubric, kinds[0].Name))
	switch {
	case i < 0:
		return nil, Refuse("options.rubric", "there is no %s; there are %s", quoted(o.Rubric), strings.Join(Rubrics(), ", "))
	case !slices.Contains([]string{"", "none", "z"}, o.Normalise):
		return nil, Refuse("options.normalise", "%s is neither none nor z", quoted(o.Normalise))
	}
	def, weights := base.Definition(), kinds[i].Weights
	if o.Weights != nil {
		weights = o.Weights
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, ok := base.Dimension(name); !ok {
			return nil, Refuse("options.weights", "there is no dimension %s; there are %s", quoted(name), strings.Join(base.Names(), ", "))
		}
	}
	def.ID, def.Title, def.Dimensions = "council:"+kinds[i].Name, def.Title+", "+kinds[i].Title, nil
	for _, d := range base.Definition().Dimensions {
		if w, ok := weights[d.Name]; ok {
			d.Weight, d.Description = w, cmp.Or(kinds[i].Text[d.Name], d.Description)
			def.Dimensions = append(def.Dimensions, d)
		}
	}
	if kinds[i].NoCeilings {
		def.Ceilings = []Ceiling{}
	}
	for _, c := range def.Ceilings {
		if _, ok := weights[c.Dimension]; !ok {
			return nil, Refuse("options.weights", "%s sets the ceiling and cannot be left out; give it the weight 0 to use it for the ceiling only", c.Dimension)
		}
	}
	r, err := New(def)
	if err != nil {
		return nil, Refuse("options.weights", "%v", err)
	}
	return r, nil
}
