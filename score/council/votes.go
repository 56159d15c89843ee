package council

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"waymark/score/rubric"
)

// A vote is a review whose words are resolved: by response id, without the reviewer's own answers.
type vote struct {
	at       int // index of the review
	reviewer string
	status   Status

	marks    map[string]mark // what is counted
	declared []string        // order, the best first
	holistic map[string]rubric.Decimal

	own      []string
	problems []string
	totals   []Mismatch
}

// A mark is what one review gives one answer.
type mark struct {
	uncapped, score *big.Rat // score after the ceiling
	ceiling         *rubric.Decimal
	dimensions      map[string]rubric.Decimal // nil in a holistic review
	refusal         bool                      // completeness left out
}

// word is a resolved use of a label or id.
type word struct{ written, id string }

// resolve finds the responses meant by some words and drops the reviewer's own. In what the caller has
// read himself a wrong word is an error; in a reply it is a problem.
func (p *panel) resolve(v *vote, n names, what string, written []string, tolerant bool) ([]word, error) {
	var words []word
	used := map[string]string{}
	for _, w := range written {
		id, ok := n.id(w)
		if !ok {
			if !tolerant {
				return nil, rubric.Refuse(fmt.Sprintf("reviews[%d].%s", v.at, what), "%s is no response", shown(w))
			}
			v.problems = append(v.problems, fmt.Sprintf("%s: %s is no response", what, shown(w)))
			continue
		}
		if other, twice := used[id]; twice {
			if !tolerant {
				return nil, rubric.Refuse(fmt.Sprintf("reviews[%d].%s", v.at, what), "%s and %s are the same response", shown(other), shown(w))
			}
			v.problems = append(v.problems, fmt.Sprintf("%s: %s and %s are the same response", what, shown(other), shown(w)))
			if what != "ranking" { // which of the two scores is meant? In an order the first place is
				words = slices.DeleteFunc(words, func(w word) bool { return w.id == id })
			}
			continue
		}
		used[id] = w
		if p.author[id] == v.reviewer {
			if !slices.Contains(v.own, id) {
				v.own = append(v.own, id)
			}
			continue
		}
		words = append(words, word{w, id})
	}
	return words, nil
}

// read makes a vote of the review at index i.
func (p *panel) read(i int) (*vote, error) {
	rv := &p.in.Reviews[i]
	v := &vote{at: i, reviewer: rv.Reviewer}
	n := names{rv.Labels, p.ids}
	r := Reply{Evaluations: rv.Evaluations, Scores: rv.Scores, Ranking: rv.Ranking}
	tolerant := rv.Evaluations == nil && rv.Ranking == nil && rv.Raw != ""
	if tolerant {
		r = ParseReply(rv.Raw)
		v.problems = slices.Clone(r.Problems)
		if rv.Scores != nil {
			r.Scores = rv.Scores
		}
	}

	ranking, err := p.resolve(v, n, "ranking", r.Ranking, tolerant)
	if err != nil {
		return nil, err
	}
	for _, w := range ranking {
		v.declared = append(v.declared, w.id)
	}
	evaluated, err := p.resolve(v, n, "evaluations", slices.Sorted(maps.Keys(r.Evaluations)), tolerant)
	if err != nil {
		return nil, err
	}
	evaluations := map[string]*Evaluation{}
	for _, w := range evaluated {
		if e := r.Evaluations[w.written]; e != nil {
			evaluations[w.id] = e
		}
	}
	scored, err := p.resolve(v, n, "scores", slices.Sorted(maps.Keys(r.Scores)), tolerant && rv.Scores == nil)
	if err != nil {
		return nil, err
	}
	scores := map[string]rubric.Decimal{}
	for _, w := range scored {
		scores[w.id] = r.Scores[w.written]
	}
	slices.Sort(v.own)
	p.decide(v, &r, evaluations, scores)
	if v.status == Abstained && tolerant {
		empty := r.Evaluations == nil && r.Scores == nil && r.Ranking == nil
		unknown := len(v.problems) > 0 && len(v.own) == 0 && len(evaluated) == 0 // it did judge something, but nothing that is known here
		if !r.Abstains && (empty || unknown) {
			v.status = Unparsable
		}
	}
	return v, nil
}

// decide sets what counts of a vote: by the rubric, else holistic scores, else the order.
func (p *panel) decide(v *vote, r *Reply, evaluations map[string]*Evaluation, scores map[string]rubric.Decimal) {
	if r.Abstains {
		v.status, v.declared = Abstained, nil
		return
	}
	v.holistic = map[string]rubric.Decimal{}
	for id, e := range evaluations {
		if e.Overall != nil {
			v.holistic[id] = *e.Overall
		}
	}
	maps.Copy(v.holistic, scores)
	switch {
	case len(evaluations) > 0:
		p.mark(v, evaluations, scores)
	case len(scores) > 0:
		v.status, v.marks = Holistic, p.bounded(scores, nil)
	case len(v.declared) > 0:
		v.status = rankingOnly
	default:
		v.status = Abstained
	}
}

// mark scores the evaluations by the rubric, or falls back.
func (p *panel) mark(v *vote, evaluations map[string]*Evaluation, scores map[string]rubric.Decimal) {
	v.marks = map[string]mark{}
	missing, overall := "", true
	for _, id := range slices.Sorted(maps.Keys(evaluations)) {
		e := evaluations[id]
		overall = overall && e.Overall != nil
		m, err := p.byRubric(e, p.refusal(id, e))
		if err != nil {
			if missing == "" {
				missing = fmt.Sprintf("%s: %v", shown(id), err)
			}
			continue
		}
		v.marks[id] = m
		p.compare(v, id, e, m)
	}
	if missing == "" {
		v.status = ByRubric
		return
	}
	v.totals = nil
	v.problems = append(v.problems, missing)
	switch {
	case overall:
		totals := map[string]rubric.Decimal{}
		for id, e := range evaluations {
			totals[id] = *e.Overall
		}
		v.status, v.marks = Holistic, p.bounded(totals, evaluations)
	case len(scores) > 0:
		v.status, v.marks = Holistic, p.bounded(scores, evaluations)
	default:
		v.status, v.marks = Unparsable, nil // and so it is never counted
	}
}

// refusal reports whether completeness is left out of an evaluation. It stays where nothing else is weighed.
func (p *panel) refusal(id string, e *Evaluation) bool {
	if !slices.ContainsFunc(p.dimensions, func(d rubric.Dimension) bool { return !d.Conditional && d.Weight > 0 }) {
		return false
	}
	if stated := p.stated[id]; stated != nil {
		return *stated
	}
	return p.declines[id] || e.CorrectRefusal
}

func (p *panel) byRubric(e *Evaluation, refusal bool) (mark, error) {
	m := mark{dimensions: map[string]rubric.Decimal{}}
	card := rubric.Card{Scores: m.dimensions}
	for _, d := range p.dimensions {
		if refusal && d.Conditional {
			card.NotApplicable, m.refusal = []string{d.Name}, true
		} else if s := *e.at(d.Name); s != nil {
			m.dimensions[d.Name] = *s
		}
	}
	res, err := p.rubric.Score(card)
	if err != nil {
		return mark{}, err
	}
	m.uncapped, m.score, m.ceiling = res.Uncapped.Rat(), res.Composite.Rat(), res.Ceiling
	return m, nil
}

// bounded makes marks of holistic numbers. Where an accuracy is given its ceiling holds for them too: a
// reviewer who leaves out a dimension must not lift a falsehood that way.
func (p *panel) bounded(scores map[string]rubric.Decimal, evaluations map[string]*Evaluation) map[string]mark {
	marks := map[string]mark{}
	for id, s := range scores {
		m := mark{uncapped: s.Rat(), score: s.Rat()}
		if e := evaluations[id]; e != nil {
			for _, c := range p.ceilings {
				if given := *e.at(c.Dimension); given != nil && *given < c.Below && (m.ceiling == nil || c.Cap < *m.ceiling) {
					m.ceiling = &c.Cap
				}
			}
		}
		if m.ceiling != nil && *m.ceiling < s {
			m.score = m.ceiling.Rat()
		}
		marks[id] = m
	}
	return marks
}

// compare notes a reported total that the review's own scores do not give.
func (p *panel) compare(v *vote, id string, e *Evaluation, m mark) {
	if e.Overall == nil {
		return
	}
	reported := rubric.DecimalRatio(*e.Overall).Round(2)
	if reported != rubric.RoundHalfUp(m.score, 2) && reported != rubric.RoundHalfUp(m.uncapped, 2) {
		v.totals = append(v.totals, Mismatch{v.reviewer, id, *e.Overall, rubric.RoundHalfUp(m.score, 2)})
	}
}

// contradicts reports whether the declared order puts an answer before one that the same review scores
// higher. Equal scores agree with any order.
func (v *vote) contradicts() bool {
	for i, first := range v.declared {
		for _, second := range v.declared[i+1:] {
			a, b := v.marks[first], v.marks[second]
			if a.score != nil && b.score != nil && a.score.Cmp(b.score) < 0 {
				return true
			}
		}
	}
	return false
}

// borda gives each answer of the vote the share of the others that it beats. The order is that of the
// vote's own scores; equal ones are in the declared order if it names them all, else share their places.
// The only answer of a vote gets 1.
func (v *vote) borda() map[string]*big.Rat {
	points := map[string]*big.Rat{}
	var groups [][]string // of equal answers, the best first
	if len(v.marks) == 0 {
		for _, id := range v.declared {
			groups = append(groups, []string{id})
		}
	} else {
		ids := slices.SortedFunc(maps.Keys(v.marks), func(a, b string) int {
			if c := v.marks[b].score.Cmp(v.marks[a].score); c != 0 {
				return c
			}
			return strings.Compare(a, b)
		})
		for i, id := range ids {
			if i > 0 && v.marks[ids[i-1]].score.Cmp(v.marks[id].score) == 0 {
				groups[len(groups)-1] = append(groups[len(groups)-1], id)
			} else {
				groups = append(groups, []string{id})
			}
		}
		groups = v.untied(groups)
	}
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	place := 0
	for _, g := range groups {
		beaten := big.NewRat(int64(2*(n-1-place)-(len(g)-1)), 2) // by the mean place of the group
		if n > 1 {
			beaten.Quo(beaten, big.NewRat(int64(n-1), 1))
		} else {
			beaten.SetInt64(1)
		}
		for _, id := range g {
			points[id] = beaten
		}
		place += len(g)
	}
	return points
}

func (v *vote) untied(groups [][]string) [][]string {
	var out [][]string
	for _, g := range groups {
		declared := !slices.ContainsFunc(g, func(id string) bool { return !slices.Contains(v.declared, id) })
		if len(g) == 1 || !declared {
			out = append(out, g)
			continue
		}
		for _, id := range v.declared {
			if slices.Contains(g, id) {
				out = append(out, []string{id})
			}
		}
	}
	return out
}
