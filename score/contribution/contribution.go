// Package contribution scores the messages of agents in a research session.
//
// A contribution is a message with deltas: JSON objects in fenced blocks, each of which adds, edits or
// kills an item of a research artifact. The example of the rubric, a hypothesis that a person scored
// 3, 3, 3, 2, 3 and 1 on the six criteria of its role, has the composite
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
// A delta that cannot be read is dropped with a reason. One that violates the format stays with its errors and has no
// scores. The artifact itself is not known: the form of a target id is checked, and an EDIT is scored by its own payload.
//
// The criteria are data: contribution.yaml has weights, scales and levels, tables.yaml the rules. A rule returns the
// lowest score that the text proves and, where a person may find more, the upper score with the question to settle
// (needs_human).
//
// [Score] scores one message, [ScoreSession] many. Both are pure functions.
package contribution

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/internal/plural"
	"waymark/score"
)

// A Role is who contributes.
type Role string

const (
	HypothesisGenerator Role = "hypothesis_generator"
	testDesigner        Role = "test_designer"
	adversarialCritic   Role = "adversarial_critic"
)

// Roles are all of them.
var Roles = []Role{HypothesisGenerator, testDesigner, adversarialCritic}

// Scores maps criteria to levels on their scales.
type Scores map[string]Level

// A Level is a whole number.
type Level int

// UnmarshalJSON refuses null, which would decode as 0, the worst score.
func (l *Level) UnmarshalJSON(data []byte) error {
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return &score.DecimalError{Detail: excerpt(string(data), 40) + " is not a whole number"}
	}
	*l = Level(n)
	return nil
}

// A Request is one message to score.
type Request struct {
	ID    string `json:"id,omitempty"` // a name of the caller's choice
	Role  Role   `json:"role"`
	Text  string `json:"text"`
	Round int    `json:"round,omitempty"` // of a session, from 1

	// Scores apply to every valid delta of the text and override the rules.
	Scores Scores `json:"scores,omitempty"`
	// Context switches on conditional criteria: paradox, object_transposition.
	Context map[string]bool `json:"context,omitempty"`
	Anchors *Anchors        `json:"anchors,omitempty"`
}

// A Report is the score of a message.
type Report struct {
	Message  string    `json:"message,omitempty" doc:"Summary of the answer in one sentence; absent within a session."`
	ID       string    `json:"id,omitempty"`
	Role     Role      `json:"role"`
	Round    int       `json:"round,omitempty"`
	Deltas   []Delta   `json:"deltas"`
	Gates    []Gate    `json:"gates"`
	Warnings []string  `json:"warnings"` // each a name, a colon and a sentence
	Dropped  []Dropped `json:"dropped"`
}

// A Criterion is one score.
type Criterion struct {
	Score      int           `json:"score"`
	Max        int           `json:"max"`
	Weight     score.Decimal `json:"weight"`
	Source     string        `json:"source"` // given or automatic
	Level      string        `json:"level"`  // meaning of the score
	Saw        string        `json:"saw"`    // finding of the rules; empty for a given score
	Upper      int           `json:"upper"`  // the highest possible score
	NeedsHuman string        `json:"needs_human"`
}

// A Gate is a failure that no score makes up for.
type Gate struct {
	Gate        string `json:"gate"`
	Consequence string `json:"consequence"`
	Delta       int    `json:"delta,omitempty"` // its number in deltas, from 1; absent for others
	Line        int    `json:"line,omitempty"`  // of the text
	Detail      string `json:"detail"`
}

// Score scores one message.
func Score(r Request) (Report, error) {
	rep, err := scoreMessage(r)
	if err != nil {
		return Report{}, err
	}
	// Outside of a session the hypotheses of the message are the whole set.
	valid := where(rep.Deltas, Delta.isValid)
	rep.Gates = append(rep.Gates, incompleteSet(valid)...)
	rep.Warnings = append(rep.Warnings, sprawl(valid)...)
	rejected := len(rep.Deltas) - len(valid) + len(rep.Dropped)
	rep.Message = plural.Of(len(valid), "delta") + fmt.Sprintf(" valid, %d rejected or dropped.", rejected)
	if len(valid) > 0 {
		d := valid[0]
		rep.Message += fmt.Sprintf(" The first scores %v of %v (%s).", *d.Composite, *d.Max, *d.Grade)
	}
	return rep, nil
}

// check validates all fields but the deltas.
func (r *Request) check() error {
	switch {
	case !slices.Contains(Roles, r.Role):
		want := fmt.Sprintf("%s, %s or %s", Roles[0], Roles[1], Roles[2])
		return score.Refuse("role", "unknown role %s: want %s", quoted(string(r.Role)), want)
	case strings.TrimSpace(r.Text) == "":
		return score.Refuse("text", "is required")
	case r.Round < 0 || r.Round > 1_000_000:
		return score.Refuse("round", "%d is not 1 to 1000000", r.Round)
	}
	for _, name := range sortedKeys(r.Context) {
		if tables().Criteria[name].Applies == "" {
			const detail = "there is no such switch; there are paradox, object_transposition"
			return score.Refuse("context."+excerpt(name, 40), detail)
		}
	}
	for _, name := range sortedKeys(r.Scores) {
		dim, ok := criteria().Dimension(name)
		if !ok {
			known := strings.Join(criteria().Names(), ", ")
			return score.Refuse("scores."+excerpt(name, 40), "there is no such criterion; there are %s", known)
		}
		if n := r.Scores[name]; n < 0 || int(n) >= len(dim.Anchors) {
			return score.Refuse("scores."+name, "%d is off the scale of %v", n, dim.Scale)
		}
	}
	return cmp.Or(score.CheckText("id", r.ID, 256), score.CheckText("text", r.Text, maxText), r.Anchors.check())
}

// scoreMessage checks and scores a message alone, without the gate and the warning of a whole set.
func scoreMessage(r Request) (Report, error) {
	if err := r.check(); err != nil {
		return Report{}, err
	}
	deltas, dropped, err := deltasOf(r.Text)
	if err != nil {
		return Report{}, err
	}
	rep := Report{ID: r.ID, Role: r.Role, Round: r.Round, Deltas: deltas, Dropped: dropped}
	rep.Gates, rep.Warnings = []Gate{}, []string{}
	fail := func(name string, delta, line int, detail string) {
		rep.Gates = append(rep.Gates, Gate{name, tables().Gates[name], delta, line, detail})
	}
	for _, d := range dropped {
		if d.rejected {
			fail("invalid_json", 0, d.Line, d.Reason)
		}
	}
	if len(deltas) == 0 {
		rep.Warnings = append(rep.Warnings, "no_delta: the text has no delta that could be read")
	}
	rep.Warnings = append(rep.Warnings, r.unused()...)
	var valid []*Delta
	for i := range deltas {
		d := &deltas[i]
		d.role, d.round = r.Role, r.Round
		d.cites = r.Anchors.cite(d.payload.list("anchors"), strings.Join(d.texts(), "\n\n"))
		if d.Valid {
			d.findFacts()
			valid = append(valid, d)
		}
		d.Notes = append(d.faults, d.Notes...)
	}
	var fake []string
	for i := range deltas {
		d := &deltas[i]
		if d.Valid {
			rep.Warnings = append(rep.Warnings, d.score(&r, valid)...)
		}
		for _, name := range d.gates {
			fail(name, i+1, d.Line, strings.Join(d.Errors, "; "))
		}
		if len(d.cites.fake) > 0 {
			fail("fake_anchor", i+1, d.Line, listed(d.cites.fake)+" does not exist")
		}
		fake = append(fake, d.cites.fake...)
	}
	// People read the text around the deltas, so its anchors are checked as well.
	around := slices.DeleteFunc(r.Anchors.cite(nil, r.Text).fake, func(a string) bool {
		return slices.Contains(fake, a)
	})
	if len(around) > 0 {
		fail("fake_anchor", 0, 0, listed(around)+", outside of the deltas, does not exist")
	}
	return rep, nil
}

// unused warns of scores and switches that have no effect.
func (r *Request) unused() (warnings []string) {
	foreign := slices.DeleteFunc(sortedKeys(r.Scores), func(name string) bool {
		return tables().Criteria[name].isOf(r.Role)
	})
	if len(foreign) > 0 {
		const text = "score_not_of_role: scores.%s: not used, since it is no criterion of a %s"
		warnings = append(warnings, fmt.Sprintf(text, strings.Join(foreign, ", "), r.Role))
	}
	for _, name := range criteria().Names() {
		if _, ok := r.Context[name]; ok && tables().Criteria[name].Applies != "asked" {
			const text = "context_not_used: context.%s: not used, since the delta itself says whether it applies"
			warnings = append(warnings, fmt.Sprintf(text, name))
		}
	}
	return warnings
}

// score sets the scores of a valid delta and returns its warnings.
func (d *Delta) score(r *Request, valid []*Delta) (warnings []string) {
	card, upper := score.Card{Scores: map[string]score.Decimal{}}, score.Decimal(0)
	for _, dim := range criteria().Definition().Dimensions {
		c := tables().Criteria[dim.Name]
		given, isGiven := r.Scores[dim.Name]
		d.facts.set("asked", isGiven || r.Context[dim.Name])
		applies := c.Applies == "" || d.facts[c.Applies] != ""
		if c.isOf(r.Role) && !applies {
			d.NotApplicable[dim.Name] = c.Otherwise
		}
		if !c.isOf(r.Role) || !applies {
			card.NotApplicable = append(card.NotApplicable, dim.Name)
			continue
		}
		f, source := finding{Score: int(given), Upper: int(given)}, "given"
		if !isGiven {
			f, source = c.find(d, valid), "automatic"
		}
		highest, level := len(dim.Anchors)-1, dim.Anchors[f.Score].Text
		d.Criteria[dim.Name] = Criterion{f.Score, highest, dim.Weight, source, level, f.Saw, f.Upper, f.Ask}
		card.Scores[dim.Name] = score.Whole(f.Score)
		upper += dim.Weight * score.Decimal(f.Upper)
	}
	res, err := criteria().Score(card)
	if err != nil {
		panic(err) // given scores are checked, found ones are on the scale
	}
	composite, most := criteria().Shown(res.Composite), criteria().Shown(res.Max)
	d.Composite, d.Upper, d.Max = &composite, &upper, &most
	d.Percent, d.Grade = rounded(res.Percent()), &res.Verdict

	warn := func(name, detail string) {
		warnings = append(warnings, fmt.Sprintf("%s: line %d: %s", name, d.Line, detail))
	}
	for _, w := range res.Warnings {
		detail := fmt.Sprintf("%v of %v: %s", composite, most, w.Text)
		if upper > composite {
			detail += fmt.Sprintf("; up to %v if a person finds more", upper)
		}
		warn(w.Name, detail)
	}
	scale, ok := d.Criteria["scale_check"]
	if ok && scale.Score == 0 && d.facts["claims_mechanism"] != "" {
		warn("unverified_claim", "a mechanism is claimed without a scale check")
	}
	potency, ok := d.Criteria["potency"]
	if ok && potency.Score < 2 && d.facts["test"] != "" {
		warn("weak_assay_design", fmt.Sprintf("the potency check of a test scores %d of 3", potency.Score))
	}
	return warnings
}

// count returns the number of hypotheses that valid deltas add, or kill.
func count(valid []Delta, operation string) int {
	return len(where(valid, func(d Delta) bool {
		return d.Section == hypothesisSlate && d.Operation == operation
	}))
}

// sprawl warns of hypotheses that are only added.
func sprawl(valid []Delta) []string {
	if n := count(valid, Add); n > 3 && count(valid, Kill) == 0 {
		return []string{fmt.Sprintf("hypothesis_sprawl: %d hypotheses were added and none was killed", n)}
	}
	return nil
}

// incompleteSet is the gate for valid deltas that add hypotheses and no third alternative.
func incompleteSet(valid []Delta) []Gate {
	if count(valid, Add) == 0 || anyHas(valid, "third_marked") {
		return nil
	}
	const name = "third_alternative_missing"
	const detail = "none of the hypotheses is marked or named as the third alternative"
	return []Gate{{name, tables().Gates[name], 0, 0, detail}}
}
