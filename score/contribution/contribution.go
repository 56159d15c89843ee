// Package contribution scores the messages of agents in a research session.
//
// A contribution is a message with deltas: JSON objects in fenced blocks, each of which adds, edits or kills an item of
// a research artifact. For example, a hypothesis that a person scored 3, 3, 3, 2, 3 and 1 on the six criteria of its
// role has the composite
//
//	3·1 + 3·1 + 3·0.5 + 2·1.5 + 3·2 + 1·0.5 = 17 of 19, which is 89.47 %
//
// Data flow:
//
//	text ─▶ blocks ─▶ deltas ─▶ facts ─▶ rules or given scores ─▶ composite ─▶ grade
//	          │          │
//	          ▼          ▼
//	       dropped    rejected
//
// A delta that cannot be parsed is dropped with a reason. A delta that violates the format stays with its errors and
// has no scores. The package does not see the artifact: it checks only the form of a target id, and it scores an EDIT
// by its own payload.
//
// The criteria are data: contribution.yaml has weights, scales and levels, tables.yaml the rules. A rule returns the
// lowest score that the text proves. If a person may find more, it also returns the upper score and the question to
// settle (needs_human).
//
// [Score] scores one message, [ScoreSession] many. Both are pure functions.
package contribution

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/score"
)

// A Role is the role of a contributor.
type Role string

const (
	HypothesisGenerator Role = "hypothesis_generator"
	testDesigner        Role = "test_designer"
	adversarialCritic   Role = "adversarial_critic"
)

// Roles lists all roles.
var Roles = []Role{HypothesisGenerator, testDesigner, adversarialCritic}

// Scores maps criteria to levels on their scales.
type Scores map[string]score.Decimal

// A Request is one message to score.
type Request struct {
	ID   string `json:"id,omitempty" max:"256"`
	Role Role   `json:"role"`
	Text string `json:"text" is:"required" max:"262144"`
	// Round is the round of the session, from 1.
	Round int `json:"round,omitempty" max:"1000000"`
	// Scores apply to every valid delta of the text and override the rules.
	Scores Scores `json:"scores,omitempty"`
	// Context switches on conditional criteria: paradox, object_transposition.
	Context map[string]bool `json:"context,omitempty"`
	Anchors *Anchors        `json:"anchors,omitempty"`
}

// A Report is the score of a message.
type Report struct {
	Message string   `json:"message,omitempty" doc:"Summary of the answer in one sentence; absent within a session."`
	ID      string   `json:"id,omitempty"`
	Role    Role     `json:"role"`
	Round   int      `json:"round,omitempty"`
	Deltas  []*Delta `json:"deltas"`
	Gates   []Gate   `json:"gates"`
	// Each warning is a name, a colon and a sentence.
	Warnings []string  `json:"warnings"`
	Dropped  []Dropped `json:"dropped"`
}

// A Criterion is one score. Source is "given" or "automatic"; Level is the meaning of the score.
type Criterion struct {
	Finding
	Max    int           `json:"max"`
	Weight score.Decimal `json:"weight"`
	Source string        `json:"source"`
	Level  string        `json:"level"`
}

// A Gate is a failure that no score can compensate.
type Gate struct {
	Gate        string `json:"gate"`
	Consequence string `json:"consequence"`
	// Delta is the number of the delta, from 1; absent for a failure outside of the deltas.
	Delta  int    `json:"delta,omitempty"`
	Line   int    `json:"line,omitempty"`
	Detail string `json:"detail"`
}

func (rep *Report) fail(name string, delta, line int, detail string) {
	rep.Gates = append(rep.Gates, Gate{name, tables().Gates[name], delta, line, detail})
}

func warning(name string, args ...any) string {
	return name + ": " + fmt.Sprintf(tables().Warnings[name], args...)
}

func (rep *Report) warn(name string, args ...any) {
	rep.Warnings = append(rep.Warnings, warning(name, args...))
}

// Score scores one message.
func Score(r Request) (Report, error) {
	rep, err := scoreMessage(r)
	if err != nil {
		return Report{}, err
	}
	// Outside of a session the hypotheses of the message are the whole set.
	valid := rep.valid()
	rep.Gates = append(rep.Gates, valid.incomplete()...)
	rep.Warnings = append(rep.Warnings, valid.sprawl()...)
	rejected := len(rep.Deltas) - len(valid) + len(rep.Dropped)
	rep.Message = fmt.Sprintf("%s valid, %d rejected or dropped.", catalog.Plural(len(valid), "delta"), rejected)
	if len(valid) > 0 {
		d := valid[0]
		const format = " The first scores %v of %v (%s)."
		rep.Message += fmt.Sprintf(format, *d.Composite, *d.Max, *d.Grade)
	}
	return rep, nil
}

func (rep *Report) valid() deltas {
	return deltas(rep.Deltas).where(func(d *Delta) bool { return d.Valid })
}

// check validates all fields but the deltas.
func (r *Request) check() error {
	if !slices.Contains(Roles, r.Role) {
		want := fmt.Sprintf("%s, %s or %s", Roles[0], Roles[1], Roles[2])
		return score.Refuse("role", "unknown role %s: want %s", quoted(string(r.Role)), want)
	}
	for _, name := range sortedKeys(r.Context) {
		if tables().Criteria[name].Applies == "" {
			const detail = "there is no such switch; there are paradox, object_transposition"
			return score.Refuse("context."+name, detail)
		}
	}
	for _, name := range sortedKeys(r.Scores) {
		dim, ok := criteria().Dimension(name)
		if !ok {
			known := strings.Join(criteria().Names(), ", ")
			return score.Refuse("scores."+name, "there is no such criterion; there are %s", known)
		}
		if n := r.Scores[name]; !dim.Scale.OnScale(n) {
			return score.Refuse("scores."+name, "%v is off the scale of %v", n, dim.Scale)
		}
	}
	return score.Check(r)
}

// scoreMessage checks and scores one message, without the gate and the warning that apply to a whole set of messages.
func scoreMessage(r Request) (Report, error) {
	if err := r.check(); err != nil {
		return Report{}, err
	}
	rep := Report{ID: r.ID, Role: r.Role, Round: r.Round}
	for _, b := range blocks(r.Text) {
		found, dropped := b.read()
		rep.Deltas, rep.Dropped = append(rep.Deltas, found...), append(rep.Dropped, dropped...)
	}
	if len(rep.Deltas)+len(rep.Dropped) > maxDeltas {
		return Report{}, score.Refuse("text", "it has more than %d deltas", maxDeltas)
	}
	for _, d := range rep.Dropped {
		if d.rejected {
			rep.fail("invalid_json", 0, d.Line, d.Reason)
		}
	}
	if len(rep.Deltas) == 0 {
		rep.warn("no_delta")
	}
	for _, d := range rep.Deltas {
		d.role, d.round = r.Role, r.Round
		d.findFacts(r.Anchors)
		d.Notes = append(d.faults, d.Notes...)
	}
	var fake []string
	for i, d := range rep.Deltas {
		if d.Valid {
			d.score(&r, &rep)
		}
		for _, name := range d.gates {
			rep.fail(name, i+1, d.Line, strings.Join(d.Errors, "; "))
		}
		if len(d.fake) > 0 {
			rep.fail("fake_anchor", i+1, d.Line, listed(d.fake)+" does not exist")
		}
		fake = append(fake, d.fake...)
	}
	// People read the text around the deltas, so its anchors are checked as well.
	around := r.Anchors.cite(nil, r.Text).fake
	around = slices.DeleteFunc(around, func(a string) bool { return slices.Contains(fake, a) })
	if len(around) > 0 {
		rep.fail("fake_anchor", 0, 0, listed(around)+", outside of the deltas, does not exist")
	}
	return rep, nil
}

// score sets the scores of a valid delta and adds its warnings to the report.
func (d *Delta) score(r *Request, rep *Report) {
	card, upper := score.Card{Scores: map[string]*score.Decimal{}}, score.Decimal(0)
	for _, dim := range criteria().Definition().Dimensions {
		c := tables().Criteria[dim.Name]
		given, isGiven := r.Scores[dim.Name]
		d.facts.set("asked", isGiven || r.Context[dim.Name])
		applies := c.Applies == "" || d.facts[c.Applies] != ""
		if c.isOf(r.Role) && !applies {
			d.NotApplicable[dim.Name] = c.Otherwise
		}
		if !c.isOf(r.Role) || !applies {
			card.Scores[dim.Name] = nil
			continue
		}
		level := int(given / score.Whole(1))
		f, source := Finding{Score: level, Upper: level}, "given"
		if !isGiven {
			f, source = c.find(d, rep.valid()), "automatic"
		}
		d.Criteria[dim.Name] = Criterion{f, len(dim.Anchors) - 1, dim.Weight, source, dim.Anchors[f.Score].Text}
		card.Scores[dim.Name] = new(score.Whole(f.Score))
		upper += dim.Weight * score.Decimal(f.Upper)
	}
	// Given scores were checked, and scores from rules are on the scale, so no error can occur.
	res, err := criteria().Score(card)
	if err != nil {
		panic(err)
	}
	d.Composite, d.Upper, d.Max = rounded(res.Composite), &upper, rounded(res.Max)
	d.percent = res.Percent()
	d.Percent, d.Grade = rounded(d.percent), &res.Verdict

	for _, w := range res.Warnings {
		rep.warn(w.Name, d.Line, *d.Composite, *d.Max)
	}
	scale, ok := d.Criteria["scale_check"]
	if ok && scale.Score == 0 && d.facts["claims_mechanism"] != "" {
		rep.warn("unverified_claim", d.Line)
	}
	potency, ok := d.Criteria["potency"]
	if ok && potency.Score < 2 && d.facts["test"] != "" {
		rep.warn("weak_assay_design", d.Line, potency.Score)
	}
}
