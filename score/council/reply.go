package council

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
		if r, ok := review(jsontext.Value(object), 0); ok {
			return r
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

// members reads an object whose names differ even when folded.
func members(v jsontext.Value) (map[string]jsontext.Value, bool) {
	var raw map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &raw) != nil {
		return nil, false
	}
	return raw, true
}

// fold is a name without case, spaces, digits and signs: "Instruction Adherence" is instructionadherence.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// review reads an object that has one of the names of a review, or is evaluations without that name around
// them, or holds such an object one level below.
func review(v jsontext.Value, depth int) (Reply, bool) {
	object, ok := members(v)
	if !ok {
		return Reply{}, false
	}
	var r Reply
	known := false
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
		known = true
	}
	if known {
		return r, true
	}
	if evaluationsAlone(object) {
		r.evaluations(v)
		return r, true
	}
	if depth > 0 {
		return Reply{}, false
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if r, ok := review(object[name], depth+1); ok {
			return r, true
		}
	}
	return Reply{}, false
}

func evaluationsAlone(object map[string]jsontext.Value) bool {
	for _, v := range object {
		inner, ok := members(v)
		if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(inner)), func(name string) bool { return dimensionOf(name) != "" }) {
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

func (r *Reply) evaluations(v jsontext.Value) {
	switch v.Kind() {
	case '{':
		object, _ := members(v)
		for _, label := range slices.Sorted(maps.Keys(object)) {
			r.add(label, object[label])
		}
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(v, &list) != nil {
			return
		}
		for i, item := range list {
			object, ok := members(item)
			label := ""
			for _, name := range []string{"response", "id", "label", "answer", "candidate", "name"} {
				if label == "" {
					label = text(object[name])
				}
			}
			if !ok || label == "" {
				r.problem("evaluations[%d] does not say of which answer", i)
				continue
			}
			r.add(label, item)
		}
	case 'n':
	default:
		r.problem("evaluations are no object")
	}
}

func (r *Reply) add(label string, v jsontext.Value) {
	if _, twice := r.Evaluations[label]; twice {
		r.problem("%s is evaluated twice", shown(label))
		r.Evaluations[label] = &Evaluation{}
		return
	}
	if r.Evaluations == nil {
		r.Evaluations = map[string]*Evaluation{}
	}
	r.Evaluations[label] = nil
	switch v.Kind() {
	case 'n':
	case '{':
		e := &Evaluation{}
		r.fill(e, label, v, 0)
		r.Evaluations[label] = e
	default: // one number for the answer
		e := &Evaluation{}
		r.set(&e.Overall, label, "overall", v)
		r.Evaluations[label] = e
	}
}

// fill reads the scores of one answer. Scores may stand in an object of their own.
func (r *Reply) fill(e *Evaluation, label string, v jsontext.Value, depth int) {
	object, _ := members(v)
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		folded := fold(name)
		d := dimensionOf(name)
		if d != "" && seen[d] {
			r.problem("%s: %s comes twice", shown(label), d)
			*e.at(d) = nil
			continue
		}
		switch {
		case d != "":
			seen[d] = true
			r.set(e.at(d), label, d, value)
		case folded == "overall", folded == "overallscore", folded == "score", folded == "total":
			if e.Overall == nil {
				r.set(&e.Overall, label, "overall", value)
			}
		case folded == "correctrefusal":
			e.CorrectRefusal = isTrue(value)
		case folded == "notes":
			e.Notes = text(value)
			if len(e.Notes) > MaxNotes {
				e.Notes = strings.ToValidUTF8(e.Notes[:MaxNotes], "")
			}
		case depth == 0 && (folded == "scores" || folded == "dimensions") && value.Kind() == '{':
			r.fill(e, label, value, depth+1)
		}
	}
}

// set reads a number, a string with one, or an object that has one as its score.
func (r *Reply) set(to **rubric.Decimal, label, what string, v jsontext.Value) {
	if object, ok := members(v); ok {
		for _, name := range []string{"score", "value", "rating"} {
			if inner, ok := object[name]; ok {
				v = inner
				break
			}
		}
	}
	written := ""
	switch v.Kind() {
	case 'n':
		return
	case '0':
		written = string(v)
	case '"':
		written = text(v)
	default:
		r.problem("%s: %s is no number", shown(label), what)
		return
	}
	d, err := parseScore(written)
	if err != nil {
		r.problem("%s: %s: %v", shown(label), what, err)
		return
	}
	*to = &d
}

func (r *Reply) scores(v jsontext.Value) {
	object, ok := members(v)
	if !ok {
		if v.Kind() != 'n' {
			r.problem("scores are no object")
		}
		return
	}
	for _, label := range slices.Sorted(maps.Keys(object)) {
		var d *rubric.Decimal
		if r.set(&d, label, "score", object[label]); d != nil {
			if r.Scores == nil {
				r.Scores = map[string]rubric.Decimal{}
			}
			r.Scores[label] = *d
		}
	}
}

// ranking reads a list of labels, or labels with > between them.
func (r *Reply) ranking(v jsontext.Value) {
	var list []jsontext.Value
	switch {
	case v.Kind() == '"':
		for label := range strings.SplitSeq(text(v), ">") {
			if label = strings.TrimSpace(label); label != "" {
				r.Ranking = append(r.Ranking, label)
			}
		}
		return
	case v.Kind() == 'n':
		return
	case v.Kind() != '[' || json.Unmarshal(v, &list) != nil:
		r.problem("the ranking is no list")
		return
	}
	for i, item := range list {
		label := text(item)
		if object, ok := members(item); ok {
			label = cmp.Or(text(object["response"]), text(object["id"]), text(object["label"]))
		}
		if label == "" {
			r.problem("ranking[%d] is no label", i)
			continue
		}
		r.Ranking = append(r.Ranking, label)
	}
}

// text is a JSON string's value, "" for anything else.
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

func isTrue(v jsontext.Value) bool { return v.Kind() == 't' || strings.EqualFold(text(v), "true") }

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
