package rubric

import (
	"fmt"
	"maps"
	"slices"
)

// Reweight is the rubric with other weights for the dimensions named, and a line for each change, in the
// order of the definition: "novelty: weight 0.2 became 0.3". The rest keep theirs, and what the weights
// have to add up to is checked anew.
func (r *Rubric) Reweight(weights map[string]Decimal) (*Rubric, []string, error) {
	def := r.def
	def.Dimensions = slices.Clone(def.Dimensions)
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, ok := r.at[name]; !ok {
			return nil, nil, Refuse(shownName(name), "there is no such dimension to weigh")
		}
	}
	var changes []string
	for i := range def.Dimensions {
		d := &def.Dimensions[i]
		w, given := weights[d.Name]
		if !given || w == d.Weight {
			continue
		}
		changes = append(changes, fmt.Sprintf("%s: weight %v became %v", d.Name, d.Weight, w))
		d.Weight = w
	}
	if len(changes) == 0 {
		return r, nil, nil
	}
	reweighted, err := New(def)
	return reweighted, changes, err
}
