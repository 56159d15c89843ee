package council

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"waymark/score/judge/reply"
	"waymark/score/rubric"
)

// A Reply is what can be read of a reviewer's text. Its names are as the reviewer wrote them.
type Reply struct {
	Evaluations map[string]*Evaluation // nil: abstains on that answer
	Scores      map[string]rubric.Decimal
	Ranking     []string
	Abstains    bool
	Problems    []string // what was there and could not be used
}

// maxProblems bounds what is said of one reply.
const maxProblems = 20

func (r *Reply) problem(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// ParseReply reads a reviewer's text: the last JSON object in it that looks like a review, among whatever
// prose and fences; else the list below the words "final ranking"; else a refusal. Numbers may be strings,
// evaluations may be a list, names of dimensions may be in any case. A score that is no number from 1 to
// 10 stays absent. A refusal in the prose around JSON is no abstention: "I cannot find a fault" is praise.
func ParseReply(raw string) Reply {
	raw = strings.ToValidUTF8(raw, "\uFFFD")
	objects := reply.Objects(raw)
	if fence := strings.LastIndex(raw, "```json"); fence > 0 {
		objects = append(objects, reply.Objects(raw[fence:])...) // formulas before it may have worn out the search
	}
	for _, object := range slices.Backward(objects) {
		dec := json.NewDecoder(bytes.NewReader(object))
		dec.UseNumber()
		var v map[string]any
		if dec.Decode(&v) != nil {
			continue
		}
		if r, ok := review(v); ok {
			return r
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, _ := v[name].(map[string]any)
			if r, ok := review(inner); ok {
				return r
			}
		}
	}
	if ranking := rankingInProse(raw); len(ranking) > 0 {
		return Reply{Ranking: ranking, Problems: []string{"no JSON review; the ranking was read from the text"}}
	}
	switch {
	case refuses(raw), abstention.MatchString(raw):
		return Reply{Abstains: true}
	case len(objects) > 0:
		return Reply{Problems: []string{"the JSON is no review"}}
	}
	return Reply{Problems: []string{"no JSON review"}}
}

var abstention = regexp.MustCompile(`(?i)\bI (?:must |have to |will |choose to )?abstain\b|^\W*abstain|^\W*(?:I'm|I’m|I am) sorry\b|\bprefer not to (?:evaluate|judge|rank|review|score)\b`)

// fold is a name without case, spaces, digits and signs: "Instruction Adherence" is instructionadherence.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// review reads an object that has one of the names of a review, or is evaluations without that name around them.
func review(object map[string]any) (r Reply, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		switch fold(name) {
		case "evaluations":
			r.evaluations(value)
		case "scores":
			r.scores(value)
		case "ranking":
			r.ranking(value)
		case "abstain", "abstained", "abstains":
			r.Abstains = r.Abstains || isTrue(value)
		default:
			continue
		}
		ok = true
	}
	if !ok && evaluationsAlone(object) {
		r.evaluations(object)
		ok = true
	}
	return r, ok
}

func evaluationsAlone(object map[string]any) bool {
	for _, v := range object {
		inner, _ := v.(map[string]any)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(inner)), func(name string) bool { return dimensionOf(name) != "" }) {
			return false
		}
	}
	return len(object) > 0
}

// dimensionOf is the dimension that a name means, or "".
func dimensionOf(name string) string {
	name = fold(name)
	for _, d := range Dimensions() {
		if fold(d) == name {
			return d
		}
	}
	return ""
}

func (r *Reply) evaluations(v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, label := range slices.Sorted(maps.Keys(v)) {
			r.add(label, v[label])
		}
	case []any:
		for i, item := range v {
			if label := firstText(item, "response", "id", "label", "answer", "candidate", "name"); label != "" {
				r.add(label, item)
			} else {
				r.problem("evaluations[%d] does not say of which answer", i)
			}
		}
	default:
		r.problem("evaluations are no object")
	}
}

// firstText is the first member of an object, of those named, that is a text.
func firstText(v any, names ...string) string {
	object, _ := v.(map[string]any)
	for _, name := range names {
		if s, _ := object[name].(string); s != "" {
			return s
		}
	}
	return ""
}

func (r *Reply) add(label string, v any) {
	if _, twice := r.Evaluations[label]; twice {
		r.problem("%s is evaluated twice", shown(label))
		r.Evaluations[label] = &Evaluation{}
		return
	}
	if r.Evaluations == nil {
		r.Evaluations = map[string]*Evaluation{}
	}
	r.Evaluations[label] = nil
	switch object, isObject := v.(map[string]any); {
	case isObject:
		r.Evaluations[label] = &Evaluation{}
		r.fill(r.Evaluations[label], label, object, 0)
	case v != nil: // one number for the answer
		r.Evaluations[label] = &Evaluation{Overall: r.number(label, "overall", v)}
	}
}

// fill reads the scores of one answer. Scores may stand in an object of their own.
func (r *Reply) fill(e *Evaluation, label string, object map[string]any, depth int) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value, folded, d := object[name], fold(name), dimensionOf(name)
		if d != "" && seen[d] {
			r.problem("%s: %s comes twice", shown(label), d)
			*e.at(d) = nil
			continue
		}
		switch folded {
		case "overall", "overallscore", "score", "total":
			if e.Overall == nil {
				e.Overall = r.number(label, "overall", value)
			}
		case "correctrefusal":
			e.CorrectRefusal = isTrue(value)
		case "notes":
			notes, _ := value.(string)
			e.Notes = strings.ToValidUTF8(notes[:min(len(notes), maxNotes)], "")
		case "scores", "dimensions":
			if inner, ok := value.(map[string]any); ok && depth == 0 {
				r.fill(e, label, inner, depth+1)
			}
		default:
			if d != "" {
				seen[d] = true
				*e.at(d) = r.number(label, d, value)
			}
		}
	}
}

// number reads a number, a string with one, or an object that has one as its score.
func (r *Reply) number(label, what string, v any) *rubric.Decimal {
	if object, ok := v.(map[string]any); ok {
		for _, name := range []string{"score", "value", "rating"} {
			if inner, ok := object[name]; ok {
				v = inner
				break
			}
		}
	}
	written := ""
	switch v := v.(type) {
	case nil:
		return nil
	case json.Number:
		written = string(v)
	case string:
		written = v
	default:
		r.problem("%s: %s is no number", shown(label), what)
		return nil
	}
	d, err := parseScore(written)
	if err != nil {
		r.problem("%s: %s: %v", shown(label), what, err)
		return nil
	}
	return &d
}

func (r *Reply) scores(v any) {
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		r.problem("scores are no object")
	}
	for _, label := range slices.Sorted(maps.Keys(object)) {
		if d := r.number(label, "score", object[label]); d != nil {
			if r.Scores == nil {
				r.Scores = map[string]rubric.Decimal{}
			}
			r.Scores[label] = *d
		}
	}
}

// ranking reads a list of labels, or labels with > between them.
func (r *Reply) ranking(v any) {
	switch v := v.(type) {
	case nil:
	case string:
		for label := range strings.SplitSeq(v, ">") {
			if label = strings.TrimSpace(label); label != "" {
				r.Ranking = append(r.Ranking, label)
			}
		}
	case []any:
		for i, item := range v {
			label, _ := item.(string)
			if label = cmp.Or(label, firstText(item, "response", "id", "label")); label == "" {
				r.problem("ranking[%d] is no label", i)
				continue
			}
			r.Ranking = append(r.Ranking, label)
		}
	default:
		r.problem("the ranking is no list")
	}
}

func isTrue(v any) bool {
	s, _ := v.(string)
	return v == true || strings.EqualFold(s, "true")
}

var (
	rankingHead = regexp.MustCompile(`(?im)^[\s#*_]*final ranking[\s*_:]*$`)
	rankingLine = regexp.MustCompile(`(?i)^\s*(?:\d{1,3}[.)]|[-*])?[\s*_]*(?:response|answer|candidate)\s+([A-Z0-9]{1,3})\b`)
)

// rankingInProse reads the lines below the last "final ranking". Any mention of an answer elsewhere is no vote.
func rankingInProse(raw string) []string {
	heads := rankingHead.FindAllStringIndex(raw, -1)
	if len(heads) == 0 {
		return nil
	}
	var ranking []string
	for line := range strings.Lines(raw[heads[len(heads)-1][1]:]) {
		m := rankingLine.FindStringSubmatch(line)
		switch {
		case m != nil && len(ranking) < MaxResponses:
			ranking = append(ranking, m[1])
		case strings.TrimSpace(line) != "":
			return ranking
		}
	}
	return ranking
}
