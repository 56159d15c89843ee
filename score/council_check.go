package score

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Limits on a [CouncilInput], in numbers and bytes.
const (
	maxResponses = 64
	maxReviews   = 128
	maxQuestion  = 64 << 10
	maxText      = 256 << 10 // of an answer
	maxTexts     = 2 << 20   // of all answers together
	maxRaw       = 256 << 10 // of a reply
	maxName      = 256       // of an id, a reviewer or a label
	maxProblems  = 20        // reported of one review
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
	if err := cmp.Or(CheckText("question", in.Question, maxQuestion),
		AtMost("responses", len(in.Responses), maxResponses), AtMost("reviews", len(in.Reviews), maxReviews)); err != nil {
		return err
	}
	err := cmp.Or(Distinct("responses", "id", in.Responses, maxName, func(r Response) string { return r.ID }),
		Distinct("reviews", "reviewer", in.Reviews, maxName, func(r Review) string { return r.Reviewer }))
	bytes := 0
	for i, r := range in.Responses {
		bytes += len(r.Text)
		err = cmp.Or(err, CheckText(fmt.Sprintf("responses[%d].text", i), r.Text, maxText))
		if r.Author != "" {
			err = cmp.Or(err, CheckName(fmt.Sprintf("responses[%d].author", i), r.Author, maxName))
		}
	}
	if bytes > maxTexts {
		err = cmp.Or(err, Refuse("responses", "%d bytes are more than %d", bytes, maxTexts))
	}
	for i, r := range in.Reviews {
		err = cmp.Or(err, r.check(fmt.Sprintf("reviews[%d].", i), in.Responses))
	}
	return err
}

// check checks labels and the range of scores. Names of answers are resolved, and checked, when the review
// is read.
func (r *Review) check(place string, responses []Response) error {
	err := CheckText(place+"raw", r.Raw, maxRaw)
	label := map[string]string{} // by id
	for _, l := range slices.Sorted(maps.Keys(r.Labels)) {
		id, field := r.Labels[l], at(place+"labels", l)
		err = cmp.Or(err, CheckName(field, l, maxName))
		if other, ok := label[id]; ok {
			err = cmp.Or(err, Refuse(field, "%s has the label %s already", quoted(id), quoted(other)))
		} else if !slices.ContainsFunc(responses, func(r Response) bool { return r.ID == id }) {
			err = cmp.Or(err, Refuse(field, "%s is no response", quoted(id)))
		}
		label[id] = l
	}
	for _, name := range slices.Sorted(maps.Keys(r.Evaluations)) {
		for _, d := range append(base.Names(), "overall") {
			if e := r.Evaluations[name]; e != nil && *e.at(d) != nil {
				err = cmp.Or(err, onScale(at(place+"evaluations", name)+"."+d, **e.at(d)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Scores)) {
		err = cmp.Or(err, onScale(at(place+"scores", name), r.Scores[name]))
	}
	return err
}

func onScale(field string, s Decimal) error {
	if !scale.OnScale(s) {
		return Refuse(field, "%v is off the scale of %v", s, scale)
	}
	return nil
}

// at is the place of a member: labels["A"].
func at(field, key string) string { return field + "[" + quoted(key) + "]" }
