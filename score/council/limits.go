package council

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waymark/score/rubric"
)

// Limits on an [Input].
const (
	MaxResponses = 64
	maxReviews   = 128
	MaxQuestion  = 64 << 10  // bytes
	MaxText      = 256 << 10 // bytes of an answer
	MaxTexts     = 2 << 20   // bytes of all answers together
	MaxRaw       = 256 << 10 // bytes of a reply
	maxNotes     = 16 << 10  // bytes
	maxName      = 256       // bytes of an id, a reviewer or a label
)

// scale is what every dimension and total is scored on.
var scale = base.Dimensions[0].Scale

func (in *Input) check() error {
	switch {
	case len(in.Responses) == 0:
		return rubric.Refuse("responses", "is required")
	case len(in.Reviews) == 0:
		return rubric.Refuse("reviews", "is required")
	}
	if err := cmp.Or(rubric.CheckText("question", in.Question, MaxQuestion), rubric.AtMost("responses", len(in.Responses), MaxResponses),
		rubric.AtMost("reviews", len(in.Reviews), maxReviews)); err != nil {
		return err
	}
	first, bytes := map[string]int{}, 0
	for i, r := range in.Responses {
		place := fmt.Sprintf("responses[%d].", i)
		if err := cmp.Or(rubric.CheckName(place+"id", r.ID, maxName), textAtMost(place+"text", len(r.Text), MaxText)); err != nil {
			return err
		}
		if j, twice := first[r.ID]; twice {
			return rubric.Refuse(place+"id", "%s is also the id of responses[%d]", shown(r.ID), j)
		}
		first[r.ID] = i
		bytes += len(r.Text)
		if r.Author != "" {
			if err := rubric.CheckName(place+"author", r.Author, maxName); err != nil {
				return err
			}
		}
	}
	if err := textAtMost("responses", bytes, MaxTexts); err != nil {
		return err
	}
	reviewers := map[string]int{}
	for i := range in.Reviews {
		r := &in.Reviews[i]
		place := fmt.Sprintf("reviews[%d].", i)
		if err := cmp.Or(rubric.CheckName(place+"reviewer", r.Reviewer, maxName), r.check(place, first)); err != nil {
			return err
		}
		if j, twice := reviewers[r.Reviewer]; twice {
			return rubric.Refuse(place+"reviewer", "%s has another review, reviews[%d]", shown(r.Reviewer), j)
		}
		reviewers[r.Reviewer] = i
	}
	return in.Options.check()
}

func (r *Review) check(place string, responses map[string]int) error {
	if err := textAtMost(place+"raw", len(r.Raw), MaxRaw); err != nil {
		return err
	}
	for _, list := range []struct {
		field string
		n     int
	}{{"labels", len(r.Labels)}, {"evaluations", len(r.Evaluations)}, {"scores", len(r.Scores)}, {"ranking", len(r.Ranking)}} {
		if list.n > len(responses) {
			return rubric.Refuse(place+list.field, "%d entries for %d responses", list.n, len(responses))
		}
	}
	labelled := map[string]string{}
	for _, label := range slices.Sorted(maps.Keys(r.Labels)) {
		id, field := r.Labels[label], at(place+"labels", label)
		if err := rubric.CheckName(field, label, maxName); err != nil {
			return err
		}
		if _, ok := responses[id]; !ok {
			return rubric.Refuse(field, "%s is no response", shown(id))
		}
		if other, ok := labelled[id]; ok {
			return rubric.Refuse(field, "%s has the label %s already", shown(id), shown(other))
		}
		labelled[id] = label
	}
	for _, key := range slices.Sorted(maps.Keys(r.Evaluations)) {
		if e := r.Evaluations[key]; e != nil {
			if err := e.check(at(place+"evaluations", key)); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Scores)) {
		if err := onScale(at(place+"scores", key), r.Scores[key]); err != nil {
			return err
		}
	}
	return nil
}

func (e *Evaluation) check(place string) error {
	err := textAtMost(place+".notes", len(e.Notes), maxNotes)
	for _, name := range append(Dimensions(), "overall") {
		if s := *e.at(name); s != nil {
			err = cmp.Or(err, onScale(place+"."+name, *s))
		}
	}
	return err
}

func onScale(field string, s rubric.Decimal) error {
	if !scale.OnScale(s) {
		return rubric.Refuse(field, "%v is off the scale of %v", s, scale)
	}
	return nil
}

// textAtMost refuses a text of more than limit bytes.
func textAtMost(field string, n, limit int) error {
	if n > limit {
		return rubric.Refuse(field, "%d bytes are more than %d", n, limit)
	}
	return nil
}

func (o Options) check() error {
	switch {
	case o.Normalise != "" && o.Normalise != none && o.Normalise != Z:
		return rubric.Refuse("options.normalise", "%s is neither none nor z", shown(string(o.Normalise)))
	case o.SafetyScoreCap < 0 || o.SafetyScoreCap > scale.Max:
		return rubric.Refuse("options.safety_score_cap", "%v is not 0 to %v", o.SafetyScoreCap, scale.Max)
	}
	return nil
}

// gated reports whether the safety gate is on.
func (o Options) gated() bool { return o.SafetyGate == nil || *o.SafetyGate }

// at is the place of a member: labels["A"].
func at(field, key string) string { return field + "[" + shown(key) + "]" }

// shown quotes what came from outside, shortened.
func shown(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

// parseScore reads a score as judges write them: 8, "8", "8.5", "8/10". More than four decimals are
// rounded, since they are somebody's division.
func parseScore(text string) (rubric.Decimal, error) {
	text = strings.TrimSpace(text)
	if whole, of, ok := strings.Cut(text, "/"); ok && strings.TrimSpace(of) == scale.Max.String() {
		text = strings.TrimSpace(whole)
	}
	if i := strings.IndexByte(text, '.'); i >= 0 && len(text) > i+5 && len(text) < 40 && strings.Trim(text, "0123456789.") == "" {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is no number", shown(text))
		}
		text = strconv.FormatFloat(f, 'f', 4, 64)
	}
	d, err := rubric.ParseDecimal(text)
	if err != nil {
		return 0, err
	}
	if !scale.OnScale(d) {
		return 0, fmt.Errorf("%v is off the scale of %v", d, scale)
	}
	return d, nil
}
