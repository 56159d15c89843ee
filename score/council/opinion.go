package council

import (
	"waymark/score/rubric"
)

// An Opinion is what a counted review gives the answers, resolved: by response id and dimension, or by
// "overall" in a holistic review. It is what reviewers are shown of each other, and holds numbers alone.
type Opinion struct {
	Reviewer string
	Scores   map[string]map[string]rubric.Decimal
}

// Opinions are those of an input by the names of their reviewers, without reviews that score nothing.
func Opinions(in Input) ([]Opinion, error) {
	p, err := newPanel(in)
	if err != nil {
		return nil, err
	}
	var opinions []Opinion
	for _, v := range p.counted {
		o := Opinion{v.reviewer, map[string]map[string]rubric.Decimal{}}
		for id, m := range v.marks {
			o.Scores[id] = m.dimensions
			if m.dimensions == nil {
				o.Scores[id] = map[string]rubric.Decimal{"overall": v.holistic[id]}
			}
		}
		if len(o.Scores) > 0 {
			opinions = append(opinions, o)
		}
	}
	return opinions, nil
}
