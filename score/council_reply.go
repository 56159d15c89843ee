package score

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Reply is what can be read of a reviewer's text. Its names are as the reviewer wrote them.
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

type object = map[string]any

// ParseReply reads a reviewer's text: the last JSON object in it that looks like a review, among whatever
// prose and fences; else the list below the words "final ranking"; else a refusal. Numbers may be strings,
// evaluations may be a list, names may be in any case. A score that is no number from 1 to 10 stays absent.
// A refusal in the prose around JSON is no abstention: "I cannot find a fault" is praise.
func ParseReply(raw string) Reply {
	raw = strings.ToValidUTF8(raw, "\uFFFD")
	objects := Objects(raw)
	for _, text := range slices.Backward(objects) {
		outer, _ := decodeObject(text) // it is an object
		if r, ok := review(outer); ok {
			return r
		}
		for _, name := range slices.Sorted(maps.Keys(outer)) {
			inner, _ := outer[name].(object)
			if r, ok := review(inner); ok {
				return r
			}
		}
	}
	ranking := rankingInProse(raw)
	switch {
	case len(ranking) > 0:
		return Reply{Review: Review{Ranking: ranking}, Problems: problems{"no JSON review; the ranking was read from the text"}}
	case refuses(raw), abstention.MatchString(raw):
		return Reply{Abstains: true}
	case len(objects) > 0:
		return Reply{Problems: problems{"the JSON is no review"}}
	}
	return Reply{Problems: problems{"no JSON review"}}
}

var abstention = regexp.MustCompile(`(?i)\bI (?:must |have to |will |choose to )?abstain\b|^\W*abstain|^\W*(?:I'm|I’m|I am) sorry\b|` +
	`\bprefer not to (?:evaluate|judge|rank|review|score)\b`)

// review reads an object that has one of the names of a review.
func review(v object) (r Reply, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch Fold(name) {
		case "evaluations":
			r.readEvaluations(v[name])
		case "scores":
			r.readScores(v[name])
		case "ranking":
			r.readRanking(v[name])
		case "abstain", "abstained", "abstains":
			r.Abstains = r.Abstains || isTrue(v[name])
		default:
			continue
		}
		ok = true
	}
	return r, ok
}

func isTrue(v any) bool {
	s, _ := v.(string)
	return v == true || strings.EqualFold(s, "true")
}

func (r *Reply) readEvaluations(v any) {
	list, isList := v.([]any)
	by, isObject := v.(object)
	if !isList && !isObject && v != nil {
		r.Problems.add("evaluations are no object")
	}
	for _, label := range slices.Sorted(maps.Keys(by)) {
		r.evaluation(label, by[label])
	}
	for i, item := range list {
		o, _ := item.(object)
		label := ""
		for _, name := range []string{"name", "candidate", "answer", "label", "id", "response"} {
			if text, _ := o[name].(string); text != "" {
				label = text
			}
		}
		if label == "" {
			r.Problems.add("evaluations[%d] does not say of which answer", i)
			continue
		}
		r.evaluation(label, item)
	}
}

// evaluation reads the scores of one answer, null or one number.
func (r *Reply) evaluation(label string, v any) {
	if r.Evaluations == nil {
		r.Evaluations = map[string]*Evaluation{}
	}
	_, twice := r.Evaluations[label]
	o, isObject := v.(object)
	e := &Evaluation{}
	r.Evaluations[label] = e
	switch {
	case twice:
		r.Problems.add("%s is evaluated twice", quoted(label))
		return
	case v == nil:
		r.Evaluations[label] = nil
	case !isObject:
		e.Overall = r.number(label, "overall", v)
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		for _, d := range append(base.Names(), "overall") {
			switch slot := e.at(d); {
			case Fold(name) != Fold(d):
			case *slot != nil:
				r.Problems.add("%s: %s comes twice", quoted(label), d)
				*slot = nil
			default:
				*slot = r.number(label, d, o[name])
			}
		}
		e.CorrectRefusal = e.CorrectRefusal || Fold(name) == "correctrefusal" && isTrue(o[name])
	}
}

// number reads a number, a string with one, or an object that has one as its score; see [ParseScore].
func (r *Reply) number(label, part string, v any) *Decimal {
	o, _ := v.(object)
	for _, name := range []string{"rating", "value", "score"} {
		if inner, ok := o[name]; ok {
			v = inner
		}
	}
	d, err := ParseScore(v, scale)
	if err != nil {
		r.Problems.add("%s: %s: %v", quoted(label), part, err)
	}
	return d
}

func (r *Reply) readScores(v any) {
	o, ok := v.(object)
	if !ok && v != nil {
		r.Problems.add("scores are no object")
	}
	for _, label := range slices.Sorted(maps.Keys(o)) {
		if d := r.number(label, "score", o[label]); d != nil {
			if r.Scores == nil {
				r.Scores = map[string]Decimal{}
			}
			r.Scores[label] = *d
		}
	}
}

func (r *Reply) readRanking(v any) {
	list, ok := v.([]any)
	if !ok && v != nil {
		r.Problems.add("the ranking is no list")
	}
	for i, item := range list {
		if label, _ := item.(string); label != "" {
			r.Ranking = append(r.Ranking, label)
		} else {
			r.Problems.add("ranking[%d] is no label", i)
		}
	}
}

var (
	rankingHead = regexp.MustCompile(`(?im)^[\s#*_]*final ranking[\s*_:]*$`)
	rankingLine = regexp.MustCompile(`(?i)^\s*(?:\d{1,3}[.)]|[-*])?[\s*_]*(?:response|answer|candidate)\s+([A-Z0-9]{1,3})\b`)
)

// rankingInProse reads the lines below the last "final ranking". Any mention of an answer elsewhere is no vote.
func rankingInProse(raw string) (ranking []string) {
	heads := rankingHead.FindAllStringIndex(raw, -1)
	if len(heads) == 0 {
		return nil
	}
	for line := range strings.Lines(raw[heads[len(heads)-1][1]:]) {
		if m := rankingLine.FindStringSubmatch(line); m != nil {
			ranking = append(ranking, m[1])
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	return ranking
}
