package contribution

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"waymark/score/rubric"
)

// A Form is filled in by a person. It does not show the scores of the rules, which would bias.
type Form struct {
	Role     Role       `json:"role"`
	Protocol []string   `json:"protocol"`
	Deltas   []FormPart `json:"deltas"` // the valid ones
}

// A FormPart is one delta of a form.
type FormPart struct {
	Delta     int       `json:"delta"` // its number in the message, from 1
	Operation Operation `json:"operation"`
	Section   Section   `json:"section"`
	TargetID  string    `json:"target_id"`
	Payload   Item      `json:"payload"`
	Rationale string    `json:"rationale"`
	Criteria  []Ask     `json:"criteria"`
}

// An Ask is one criterion of a form.
type Ask struct {
	Criterion string         `json:"criterion"`
	Title     string         `json:"title"`
	Question  string         `json:"question"`
	Weight    rubric.Decimal `json:"weight"`
	Levels    []string       `json:"levels"` // what 0, 1, 2 … mean
	LookFor   []string       `json:"look_for"`
}

// NewForm prepares the form of a message.
func NewForm(r Request) (Form, error) {
	m, err := open(r, nil)
	if err != nil {
		return Form{}, err
	}
	f := Form{Role: r.Role, Protocol: slices.Clone(tables().Protocol), Deltas: []FormPart{}}
	for i := range m.deltas {
		d := &m.deltas[i]
		if !d.Valid() {
			continue
		}
		part := FormPart{i + 1, d.Operation, d.Section, d.TargetID, d.Payload, d.Rationale, []Ask{}}
		for _, c := range criteriaOf(r.Role) {
			if notApplicable(c.Name, d, r.Context, false) != "" {
				continue
			}
			levels := make([]string, len(c.Anchors))
			for i, a := range c.Anchors {
				levels[i] = a.Text
			}
			part.Criteria = append(part.Criteria, Ask{c.Name, c.Title, c.Description, c.Weight, levels, slices.Clone(tables().LookFor[c.Name])})
		}
		f.Deltas = append(f.Deltas, part)
	}
	return f, nil
}

// An Evaluation is a completed form.
type Evaluation struct {
	Evaluator string     `json:"evaluator"`
	Deltas    []Judgment `json:"deltas"`
}

// A Judgment is the evaluation of one delta.
type Judgment struct {
	Delta  int               `json:"delta"` // its number in the message, from 1
	Scores Scores            `json:"scores"`
	Notes  map[string]string `json:"notes,omitempty"` // by criterion
}

// maxEvaluations is how many evaluations can be compared at a time.
const maxEvaluations = 100

// byDelta checks an evaluation and sorts its scores by delta; deltas it does not speak of are nil.
func (e *Evaluation) byDelta(m *message) ([]Scores, error) {
	each := make([]Scores, len(m.deltas))
	for i, j := range e.Deltas {
		place := fmt.Sprintf("deltas[%d]", i)
		switch {
		case j.Delta < 1 || j.Delta > len(m.deltas):
			return nil, rubric.Refuse(place+".delta", "%d is not 1 to %d", j.Delta, len(m.deltas))
		case !m.deltas[j.Delta-1].Valid():
			return nil, rubric.Refuse(place+".delta", "%d was rejected and has no scores", j.Delta)
		case each[j.Delta-1] != nil:
			return nil, rubric.Refuse(place+".delta", "%d comes twice", j.Delta)
		}
		if err := j.Scores.check(place + ".scores"); err != nil {
			return nil, err
		}
		scores := Scores{}
		for _, name := range sortedKeys(j.Scores) {
			if _, ok := rubrics()[m.Role].Dimension(name); !ok {
				return nil, rubric.Refuse(place+".scores."+name, "it is no criterion of a %s", m.Role)
			}
			scores[name] = j.Scores[name]
		}
		each[j.Delta-1] = scores
	}
	return each, nil
}

// Apply scores a message by an evaluation. Its scores override those of the request, which override the rules.
func Apply(r Request, e Evaluation) (Report, error) {
	m, err := open(r, nil)
	if err != nil {
		return Report{}, err
	}
	each, err := e.byDelta(m)
	if err != nil {
		return Report{}, err
	}
	for i, scores := range each {
		all := Scores{}
		for _, from := range []Scores{m.Scores, scores} {
			for name, n := range from {
				all[name] = n
			}
		}
		each[i] = all
	}
	return m.alone(each)
}

// An Agreement measures the agreement of evaluators. Shares are of all pairs of scores that two evaluators gave to
// the same criterion of the same delta.
type Agreement struct {
	Pairs         int               `json:"pairs"`
	Exact         *rubric.Decimal   `json:"exact"`      // share of equal pairs; null without a pair
	WithinOne     *rubric.Decimal   `json:"within_one"` // share of pairs at most one level apart
	Evaluators    []Offset          `json:"evaluators"`
	Disagreements []Disagreement    `json:"disagreements"` // the weightiest first
	Rules         map[string]Scores `json:"rules"`         // what the rules find, by number of the delta
}

// An Offset is the mean difference of an evaluator to the others, in levels.
type Offset struct {
	Evaluator string          `json:"evaluator"`
	Pairs     int             `json:"pairs"`
	Mean      *rubric.Decimal `json:"mean"` // null without a pair
}

// A Disagreement is a criterion of a delta that evaluators scored differently.
type Disagreement struct {
	Delta     int               `json:"delta"`
	Criterion string            `json:"criterion"`
	Scores    map[string]int    `json:"scores"` // by evaluator
	Notes     map[string]string `json:"notes"`
	Spread    int               `json:"spread"` // levels between the highest and the lowest
	Points    rubric.Decimal    `json:"points"` // what the spread is worth in the composite
	Lowest    int               `json:"lowest"` // what the protocol takes until it is settled
}

// Compare finds where evaluators of one message disagree.
func Compare(r Request, evaluations []Evaluation) (Agreement, error) {
	m, err := open(r, nil)
	if err = cmp.Or(rubric.AtMost("evaluations", len(evaluations), maxEvaluations), err); err != nil {
		return Agreement{}, err
	}
	m.Scores = nil
	rules, err := m.report(nil)
	if err != nil {
		return Agreement{}, err
	}
	out := Agreement{Evaluators: []Offset{}, Disagreements: []Disagreement{}, Rules: map[string]Scores{}}
	given := make([][]Scores, len(evaluations)) // by evaluation and delta
	seen := map[string]bool{}
	for i, e := range evaluations {
		if e.Evaluator == "" || seen[e.Evaluator] {
			return Agreement{}, rubric.Refuse(fmt.Sprintf("evaluations[%d].evaluator", i), "a name is needed that no other has")
		}
		seen[e.Evaluator] = true
		if given[i], err = e.byDelta(m); err != nil {
			return Agreement{}, rubric.Within(fmt.Sprintf("evaluations[%d]", i), err)
		}
	}
	t := agreements{evaluations: evaluations, given: given, offset: make([]int, len(evaluations)), pairs: make([]int, len(evaluations))}
	for d := range m.deltas {
		for _, c := range criteriaOf(m.Role) {
			if x, ok := rules.Deltas[d].Criteria[c.Name]; ok {
				key := fmt.Sprint(d + 1)
				if out.Rules[key] == nil {
					out.Rules[key] = Scores{}
				}
				out.Rules[key][c.Name] = x.Score
			}
			if found, ok := t.count(d, c); ok {
				out.Disagreements = append(out.Disagreements, found)
			}
		}
	}
	slices.SortStableFunc(out.Disagreements, func(a, b Disagreement) int { return cmp.Compare(b.Points, a.Points) })
	out.Pairs, out.Exact, out.WithinOne = t.all, share(t.exact, t.all, 4), share(t.near, t.all, 4)
	for i, e := range evaluations {
		out.Evaluators = append(out.Evaluators, Offset{e.Evaluator, t.pairs[i], share(t.offset[i], t.pairs[i], 2)})
	}
	slices.SortFunc(out.Evaluators, func(a, b Offset) int { return cmp.Compare(a.Evaluator, b.Evaluator) })
	return out, nil
}

// agreements counts pairs of scores.
type agreements struct {
	evaluations      []Evaluation
	given            [][]Scores // by evaluation and delta
	all, exact, near int
	offset, pairs    []int // by evaluation
}

// count counts the pairs of one criterion of a delta, and reports whether the evaluators disagree.
func (t *agreements) count(delta int, c rubric.Dimension) (Disagreement, bool) {
	found := Disagreement{Delta: delta + 1, Criterion: c.Name, Scores: map[string]int{}, Notes: map[string]string{}, Lowest: len(c.Anchors)}
	highest := 0
	for i, e := range t.evaluations {
		a, ok := t.given[i][delta][c.Name]
		if !ok {
			continue
		}
		found.Scores[e.Evaluator] = a
		found.Lowest, highest = min(found.Lowest, a), max(highest, a)
		j := slices.IndexFunc(e.Deltas, func(j Judgment) bool { return j.Delta == delta+1 })
		if note := e.Deltas[j].Notes[c.Name]; note != "" {
			found.Notes[e.Evaluator] = note
		}
		for j := range i {
			if b, ok := t.given[j][delta][c.Name]; ok {
				t.pair(i, j, a-b)
			}
		}
	}
	found.Spread = highest - found.Lowest
	found.Points = c.Weight * rubric.Decimal(found.Spread)
	return found, len(found.Scores) > 1 && found.Spread > 0
}

func (t *agreements) pair(i, j, difference int) {
	t.all++
	t.pairs[i], t.pairs[j] = t.pairs[i]+1, t.pairs[j]+1
	t.offset[i], t.offset[j] = t.offset[i]+difference, t.offset[j]-difference
	if difference == 0 {
		t.exact++
	}
	if max(difference, -difference) <= 1 {
		t.near++
	}
}

func share(part, of, places int) *rubric.Decimal {
	if of == 0 {
		return nil
	}
	return new(rubric.RoundHalfUp(big.NewRat(int64(part), int64(of)), places))
}
