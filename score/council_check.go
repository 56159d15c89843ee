package score

import (
	"fmt"
	"maps"
	"slices"
)

// Limits in bytes and counts. The limits of a [CouncilInput] that no code refers to are struct tags.
const (
	maxText     = 256 << 10 // of an answer or a reply
	maxTexts    = 2 << 20   // of all answers together
	maxProblems = 20        // reported of one review
)

// scale is the scale of every dimension and total.
var scale = base.Definition().Dimensions[0].Scale

func (in *CouncilInput) check() error {
	switch {
	case len(in.Responses) == 0:
		return Refuse("responses", "is required")
	case len(in.Reviews) == 0:
		return Refuse("reviews", "is required")
	}
	if err := Check(in); err != nil {
		return err
	}
	bytes := 0
	for _, r := range in.Responses {
		bytes += len(r.Text)
	}
	if bytes > maxTexts {
		return Refuse("responses", "%d bytes are more than %d", bytes, maxTexts)
	}
	for i, r := range in.Reviews {
		label := map[string]string{} // by id
		for _, l := range slices.Sorted(maps.Keys(r.Labels)) {
			id, field := r.Labels[l], at(fmt.Sprintf("reviews[%d].labels", i), l)
			if other, ok := label[id]; ok {
				return Refuse(field, "%s has the label %s already", quoted(id), quoted(other))
			}
			if !slices.ContainsFunc(in.Responses, func(r Response) bool { return r.ID == id }) {
				return Refuse(field, "%s is not a response", quoted(id))
			}
			label[id] = l
		}
	}
	return nil
}
