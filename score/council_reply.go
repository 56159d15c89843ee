package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Reply holds the parts of a reviewer's text that could be parsed. Names are as the reviewer wrote them.
type Reply struct {
	Review   // evaluations, scores and ranking
	Abstains bool
	Problems problems // parts that could not be used
}

// problems are remarks on one review.
type problems []string

func (p *problems) add(format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// ParseReply parses a reviewer's text. It uses the last JSON object that looks like a review, whatever prose and fences
// surround it; without one it looks for a refusal. Numbers may be strings, and names may be in any case. A score that
// is not a number from 1 to 10 stays absent. A refusal in the prose around a review is not an abstention, because "I
// cannot find a fault" is praise.
func ParseReply(raw string) Reply {
	raw = strings.ToValidUTF8(raw, "\uFFFD")
	objects := Objects(raw)
	for _, text := range slices.Backward(objects) {
		outer, _ := decodeObject(text) // Objects returns valid objects only
		for _, o := range envelopes(outer) {
			if r, ok := review(o); ok {
				return r
			}
		}
	}
	switch {
	case refuses(raw):
		return Reply{Abstains: true}
	case len(objects) > 0:
		return Reply{Problems: problems{"the JSON is not a review"}}
	}
	return Reply{Problems: problems{"no JSON review"}}
}

// review reads an object as a review. ok is false if no member of the object has the name of a part of a review.
func review(v object) (r Reply, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		part, isObject := v[name].(object)
		switch fold(name) {
		case "evaluations":
			r.Evaluations = map[string]*Evaluation{}
			for _, label := range slices.Sorted(maps.Keys(part)) {
				r.Evaluations[label] = r.evaluation(label, part[label])
			}
		case "scores":
			r.Scores = map[string]Decimal{}
			for _, label := range slices.Sorted(maps.Keys(part)) {
				if d := r.number(label, "score", part[label]); d != nil {
					r.Scores[label] = *d
				}
			}
		case "ranking":
			var list []any
			list, isObject = v[name].([]any)
			for i, item := range list {
				if label, _ := item.(string); label != "" {
					r.Ranking = append(r.Ranking, label)
				} else {
					r.Problems.add("ranking[%d] is not a label", i)
				}
			}
		case "abstain", "abstained", "abstains":
			r.Abstains, isObject = r.Abstains || isTrue(v[name]), true
		default:
			continue
		}
		if !isObject && v[name] != nil {
			r.Problems.add("%s: neither an object of answers nor a list of labels", name)
		}
		ok = true
	}
	return r, ok
}

func isTrue(v any) bool {
	s, _ := v.(string)
	return v == true || strings.EqualFold(s, "true")
}

// evaluation reads the scores of one answer: an object, null, or one number, which is the overall score.
func (r *Reply) evaluation(label string, v any) *Evaluation {
	e := &Evaluation{}
	o, isObject := v.(object)
	switch {
	case v == nil:
		return nil
	case !isObject:
		o = object{"overall": v}
	}
	for _, d := range append(base.Names(), "overall") {
		if given, err := Member(o, d); err == nil {
			*e.at(d) = r.number(label, d, given)
		}
	}
	refusal, _ := Member(o, "correct_refusal")
	e.CorrectRefusal = isTrue(refusal)
	return e
}

// number reads a score. It returns nil for an invalid score and adds a problem.
func (r *Reply) number(label, part string, v any) *Decimal {
	d, _, err := readScore(v, scale)
	if err != nil {
		r.Problems.add("%s: %s: %v", quoted(label), part, err)
	}
	return d
}
