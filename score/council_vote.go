package score

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// A vote is a review whose names are resolved to ids of answers, without the reviewer's own answers. For example, the
// reviewer "ann" wrote the answer x herself:
//
//	labels {A: x, B: y}, evaluations {A: …, "Response B": …}, ranking [A, B]
//	─▶ resolve ─▶ y: …, declared [y], own [x] ─▶ decide ─▶ status rubric, marks {y: 8.25}
type vote struct {
	Review
	status    ReviewStatus
	marks     map[string]mark // the scores that count
	declared  []string        // order, the best first
	own       []string
	problems  problems
	totals    []TotalMismatch
	wrongName error

	borda map[string]*big.Rat // see bordaPoints
	z     map[string]float64  // see zScores
}

// A mark is the score of one answer in one review. A mark from a holistic review has no dimensions.
type mark struct {
	Result
	refusal bool // completeness left out
}

// read converts a review to a vote. A wrong name is an error in the parts that the caller has parsed, and only a
// problem in the text of a reply.
func (p *panel) read(place string, review Review) (*vote, error) {
	v := &vote{Review: review}
	r := Reply{Review: review}
	lenient := review.Evaluations == nil && review.Ranking == nil && review.Raw != ""
	if lenient {
		r = ParseReply(review.Raw)
		v.problems = r.Problems
	}
	if review.Scores != nil {
		r.Scores = review.Scores
	}
	ranking := p.resolve(v, place, "ranking", r.Ranking, lenient)
	v.declared = slices.DeleteFunc(ranking, func(id string) bool { return id == "" })
	evaluations := byID(p, v, place, "evaluations", r.Evaluations, lenient)
	judged := len(evaluations) > 0
	maps.DeleteFunc(evaluations, func(_ string, e *Evaluation) bool { return e == nil })
	scores := byID(p, v, place, "scores", r.Scores, lenient && review.Scores == nil)
	slices.Sort(v.own)
	p.decide(v, &r, evaluations, scores)
	if lenient && v.status == Abstained && !r.Abstains && !judged && len(v.own) == 0 {
		v.status = Unreadable
	}
	return v, v.wrongName
}

// byID returns a part of a review with ids of answers as keys.
func byID[T any](p *panel, v *vote, place, part string, by map[string]T, lenient bool) map[string]T {
	words := slices.Sorted(maps.Keys(by))
	resolved := map[string]T{}
	for i, id := range p.resolve(v, place, part, words, lenient) {
		if id != "" {
			resolved[id] = by[words[i]]
		}
	}
	return resolved
}

// resolve returns the id that each word refers to, or "" for words that do not count: names of no answer, of an answer
// named before, or of the reviewer's own answer. If an answer has two scores, neither counts, since either may be
// meant; in a ranking the first place counts.
func (p *panel) resolve(v *vote, place, part string, words []string, lenient bool) []string {
	ids := make([]string, len(words))
	first, named := map[string]int{}, p.names(v.Labels)
	for i, word := range words {
		id := named(word)
		j, twice := first[id]
		if !twice {
			first[id] = i
		}
		problem := ""
		switch {
		case id == "":
			problem = quoted(word) + " is not a response"
		case twice:
			problem = fmt.Sprintf("%s and %s are the same response", quoted(words[j]), quoted(word))
			if part != "ranking" {
				ids[j] = ""
			}
		case p.answers[id].Author != v.Reviewer:
			ids[i] = id
		case !slices.Contains(v.own, id):
			v.own = append(v.own, id)
		}
		if problem != "" {
			v.problems.add("%s: %s", part, problem)
			if !lenient && v.wrongName == nil {
				v.wrongName = Refuse(place+part, "%s", problem)
			}
		}
	}
	return ids
}

// names returns a function that maps a word to the id of an answer, or to "". The function looks for the exact label,
// then for the exact id, then for a label that is equal without case and without a prefix such as "Response", if that
// identifies one answer. Without labels the ids serve as labels.
func (p *panel) names(labels map[string]string) func(word string) string {
	exact, loose := map[string]string{}, map[string]string{}
	for id := range p.answers {
		exact[id] = id
	}
	if len(labels) == 0 {
		labels = maps.Clone(exact)
	}
	for label, id := range labels {
		exact[label] = id
		if other, ok := loose[bare(label)]; ok && other != id {
			id = ""
		}
		loose[bare(label)] = id
	}
	return func(word string) string {
		if id, ok := exact[word]; ok {
			return id
		}
		return loose[bare(word)]
	}
}

var prefix = regexp.MustCompile(`^(?:response|answer|candidate)[\s_-]+`)

func bare(word string) string {
	return prefix.ReplaceAllString(strings.ToLower(strings.TrimSpace(word)), "")
}

// decide selects the parts of a vote that count: scores by the rubric, else holistic scores, else the order. The
// evaluations are taken as a whole: if one answer lacks a score, the review becomes holistic or unparsable, since
// rubric scores mixed with holistic numbers of the same reviewer would be on two scales.
func (p *panel) decide(v *vote, r *Reply, evaluations map[string]*Evaluation, scores map[string]Decimal) {
	if r.Abstains {
		v.status, v.declared = Abstained, nil
		return
	}
	overall := map[string]Decimal{}
	for id, e := range evaluations {
		if e.Overall != nil {
			overall[id] = *e.Overall
		}
	}
	if len(overall) == len(evaluations) && len(evaluations) > 0 {
		scores = overall
	}
	v.marks = map[string]mark{}
	missing := ""
	for _, id := range slices.Sorted(maps.Keys(evaluations)) {
		if err := p.byRubric(v, id, evaluations[id]); err != nil && missing == "" {
			missing = fmt.Sprintf("%s: %v", quoted(id), err)
		}
	}
	switch {
	case len(evaluations) > 0 && missing == "":
		v.status = ByRubric
		return
	case len(scores) > 0:
		v.status, v.marks = Holistic, p.bounded(scores, evaluations)
	case len(evaluations) > 0:
		v.status, v.marks = Unreadable, nil
	case len(v.declared) > 0:
		v.status = rankingOnly
	default:
		v.status = Abstained
	}
	if v.totals = nil; missing != "" {
		v.problems.add("%s", missing)
	}
}

// byRubric adds the mark of an evaluation, and a mismatch if its reported total differs. The error names a missing
// score.
func (p *panel) byRubric(v *vote, id string, e *Evaluation) error {
	m, card := mark{}, Card{Scores: map[string]*Decimal{}}
	refusal := p.answers[id].declines || e.CorrectRefusal
	if stated := p.answers[id].CorrectRefusal; stated != nil {
		refusal = *stated
	}
	for _, d := range p.rubric.def.Dimensions {
		if d.Conditional && refusal && d.Weight < Whole(1) { // it stays if nothing else has a weight
			card.Scores[d.Name], m.refusal = nil, true
		} else if s := *e.at(d.Name); s != nil {
			card.Scores[d.Name] = s
		}
	}
	var err error
	if m.Result, err = p.rubric.Score(card); err != nil {
		return err
	}
	v.marks[id] = m
	if e.Overall != nil {
		reported, computed := Round(e.Overall.Rat(), 2), Round(m.Composite, 2)
		if reported != computed && reported != Round(m.Uncapped, 2) {
			v.totals = append(v.totals, TotalMismatch{v.Reviewer, id, *e.Overall, computed})
		}
	}
	return nil
}

// bounded converts holistic numbers to marks. If an accuracy is given, its ceiling applies to them too, so that a
// reviewer cannot raise a falsehood by leaving out a dimension.
func (p *panel) bounded(scores map[string]Decimal, evaluations map[string]*Evaluation) map[string]mark {
	marks := map[string]mark{}
	for id, s := range scores {
		res := Result{Uncapped: s.Rat(), Composite: s.Rat(), Dimensions: make([]Scored, len(p.rubric.def.Dimensions))}
		for i, d := range p.rubric.def.Dimensions {
			if e := evaluations[id]; e != nil && *e.at(d.Name) != nil {
				res.Dimensions[i] = Scored{Applies: true, Score: **e.at(d.Name)}
			}
		}
		p.rubric.lower(&res, nil)
		res.Dimensions = nil
		marks[id] = mark{Result: res}
	}
	return marks
}

// contradicts reports whether the declared order ranks an answer before one that the same review scores higher. Equal
// scores agree with any order.
func (v *vote) contradicts() bool {
	scored := slices.DeleteFunc(slices.Clone(v.declared), func(id string) bool { return v.marks[id].Composite == nil })
	return !slices.IsSortedFunc(scored, func(a, b string) int { return v.marks[b].Composite.Cmp(v.marks[a].Composite) })
}
