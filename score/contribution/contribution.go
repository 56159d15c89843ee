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
//	text ─▶ parse ─▶ deltas ─▶ artifact ─▶ facts ─▶ rules or given scores ─▶ composite ─▶ grade
//	          │        │          │
//	          ▼        ▼          ▼
//	       dropped   rejected   rejected
//
// A delta that cannot be read is dropped with a reason; one that violates the format, or does not fit the
// artifact, stays with its errors and has no scores. The criteria are data: contribution.yaml has weights,
// scales and levels, tables.yaml the rules. A rule returns the lowest score that the text proves and, where a
// person may find more, the upper score with the question to settle (needs_human).
//
// [Score] scores one message, [ScoreSession] many. Both are pure functions.
package contribution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
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

// Scores maps criteria to whole numbers on their scales.
type Scores map[string]int

// UnmarshalJSON refuses null, which would decode as 0, the worst score.
func (s *Scores) UnmarshalJSON(data []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return score.Refuse("scores", "an object of whole numbers is wanted")
	}
	for _, name := range sortedKeys(given) {
		var n *int
		if err := json.Unmarshal(given[name], &n); err != nil || n == nil {
			return score.Refuse("scores."+excerpt(name, 40),
				"%s is no whole number; leave the criterion out to have it scored by rule", excerpt(string(given[name]), 40))
		}
		if *s == nil {
			*s = Scores{}
		}
		(*s)[name] = *n
	}
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
	// Artifact is the document to which the deltas apply. With it, target ids are checked.
	Artifact *Artifact `json:"artifact,omitempty"`
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

func gate(name string, delta, line int, detail string) Gate {
	return Gate{name, tables().Gates[name], delta, line, detail}
}

// Score scores one message.
func Score(r Request) (Report, error) {
	items := r.Artifact.copied()
	rep, err := scoreMessage(r, items)
	if err != nil {
		return Report{}, err
	}
	// Outside of a session the hypotheses of the message are the whole set.
	rep.Gates = append(rep.Gates, incompleteSet(items, rep.Deltas)...)
	rep.Warnings = append(rep.Warnings, sprawl(rep.Deltas)...)
	valid := where(rep.Deltas, Delta.isValid)
	rejected := len(rep.Deltas) - len(valid) + len(rep.Dropped)
	rep.Message = fmt.Sprintf("%s valid, %d rejected or dropped.", plural.Of(len(valid), "delta"), rejected)
	if len(valid) > 0 {
		rep.Message += fmt.Sprintf(" The first scores %v of %v (%s).", *valid[0].Composite, *valid[0].Max, *valid[0].Grade)
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
			place := "context." + excerpt(name, 40)
			return score.Refuse(place, "there is no such switch; there are paradox, object_transposition")
		}
	}
	for _, name := range sortedKeys(r.Scores) {
		dim, ok := criteria().Dimension(name)
		if !ok {
			known := strings.Join(criteria().Names(), ", ")
			return score.Refuse("scores."+excerpt(name, 40), "there is no such criterion; there are %s", known)
		}
		if n := r.Scores[name]; n < 0 || n >= len(dim.Anchors) {
			return score.Refuse("scores."+name, "%d is off the scale of %v", n, dim.Scale)
		}
	}
	texts := cmp.Or(score.CheckText("id", r.ID, 256), score.CheckText("text", r.Text, maxText))
	return cmp.Or(texts, r.Anchors.check(), r.Artifact.check())
}

// scoreMessage checks and scores a message and applies its deltas to the items, if there are any.
func scoreMessage(r Request, items ledger) (Report, error) {
	if err := r.check(); err != nil {
		return Report{}, err
	}
	deltas, dropped, err := deltasOf(r.Text)
	if err != nil {
		return Report{}, err
	}
	rep := Report{ID: r.ID, Role: r.Role, Round: r.Round, Deltas: deltas, Dropped: dropped}
	rep.Gates, rep.Warnings = []Gate{}, []string{}
	warn := func(format string, args ...any) { rep.Warnings = append(rep.Warnings, fmt.Sprintf(format, args...)) }
	for _, d := range rep.Dropped {
		if d.rejected {
			rep.Gates = append(rep.Gates, gate("invalid_json", 0, d.Line, d.Reason))
		}
	}
	if len(rep.Deltas) == 0 {
		warn("no_delta: the text has no delta that could be read")
	}
	ofRole := func(name string) bool { return tables().Criteria[name].isOf(r.Role) }
	if foreign := slices.DeleteFunc(sortedKeys(r.Scores), ofRole); len(foreign) > 0 {
		warn("score_not_of_role: scores.%s: not used, since it is no criterion of a %s", strings.Join(foreign, ", "), r.Role)
	}
	for _, dim := range criteria().Definition().Dimensions {
		if _, ok := r.Context[dim.Name]; ok && tables().Criteria[dim.Name].Applies != "asked" {
			warn("context_not_used: context.%s: not used, since the delta itself says whether it applies", dim.Name)
		}
	}
	for i := range rep.Deltas {
		rep.Warnings = append(rep.Warnings, items.apply(&rep.Deltas[i])...)
	}
	var valid []*Delta
	for i := range rep.Deltas {
		d := &rep.Deltas[i]
		d.role, d.round = r.Role, r.Round
		d.cites = r.Anchors.cite(d.payload.list("anchors"), d.texts()...)
		if d.Valid = len(d.Errors) == 0; d.Valid {
			d.findFacts(items)
			valid = append(valid, d)
		}
	}
	var fake []string
	for i := range rep.Deltas {
		d := &rep.Deltas[i]
		if d.Valid {
			rep.Warnings = append(rep.Warnings, d.score(&r, valid)...)
		}
		d.Notes = append(d.faults, d.Notes...)
		for _, name := range d.gates {
			rep.Gates = append(rep.Gates, gate(name, i+1, d.Line, strings.Join(d.Errors, "; ")))
		}
		if len(d.cites.fake) > 0 {
			rep.Gates = append(rep.Gates, gate("fake_anchor", i+1, d.Line, listed(d.cites.fake)+" does not exist"))
			fake = append(fake, d.cites.fake...)
		}
	}
	// People read the text around the deltas, so its anchors are checked as well.
	around := slices.DeleteFunc(r.Anchors.cite(nil, r.Text).fake, func(a string) bool { return slices.Contains(fake, a) })
	if len(around) > 0 {
		rep.Gates = append(rep.Gates, gate("fake_anchor", 0, 0, listed(around)+", outside of the deltas, does not exist"))
	}
	return rep, nil
}

// score fills in the scores of a valid delta and returns its warnings.
func (d *Delta) score(r *Request, valid []*Delta) (warnings []string) {
	card, upper := score.Card{Scores: map[string]score.Decimal{}}, score.Decimal(0)
	for _, dim := range criteria().Definition().Dimensions {
		c := tables().Criteria[dim.Name]
		given, isGiven := r.Scores[dim.Name]
		d.facts["asked"] = yes(isGiven || r.Context[dim.Name])
		applies := c.Applies == "" || d.facts[c.Applies] != ""
		if c.isOf(r.Role) && !applies {
			d.NotApplicable[dim.Name] = c.Otherwise
		}
		if !c.isOf(r.Role) || !applies {
			card.NotApplicable = append(card.NotApplicable, dim.Name)
			continue
		}
		f, source := finding{Score: given, Upper: given}, "given"
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
	d.Composite, d.Upper, d.Max = new(criteria().Shown(res.Composite)), &upper, new(criteria().Shown(res.Max))
	d.Percent, d.Grade = new(score.Round(res.Percent(), 2)), new(res.Verdict)

	warn := func(name, format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("%s: line %d: ", name, d.Line)+fmt.Sprintf(format, args...))
	}
	for _, w := range res.Warnings {
		more := ""
		if *d.Upper > *d.Composite {
			more = fmt.Sprintf("; up to %v if a person finds more", *d.Upper)
		}
		warn(w.Name, "%v of %v: %s%s", *d.Composite, *d.Max, w.Text, more)
	}
	unverified := d.facts["claims_mechanism"] != "" && d.facts["scale_in_artifact"] == ""
	if c, ok := d.Criteria["scale_check"]; ok && c.Score == 0 && unverified {
		warn("unverified_claim", "a mechanism is claimed without a scale check")
	}
	if c, ok := d.Criteria["potency"]; ok && c.Score < 2 && d.facts["test"] != "" {
		warn("weak_assay_design", "the potency check of a test scores %d of %d", c.Score, c.Max)
	}
	return warnings
}

// count returns the number of hypotheses that valid deltas add, or kill.
func count(deltas []Delta, operation string) int {
	return len(where(deltas, func(d Delta) bool {
		return d.Valid && d.Section == hypothesisSlate && d.Operation == operation
	}))
}

// sprawl warns of hypotheses that are only added.
func sprawl(deltas []Delta) []string {
	if n := count(deltas, Add); n > 3 && count(deltas, Kill) == 0 {
		return []string{fmt.Sprintf("hypothesis_sprawl: %d hypotheses were added and none was killed", n)}
	}
	return nil
}

// incompleteSet is the gate for a set of hypotheses that was changed and has no third alternative. The set is that of
// the artifact, or else what the deltas add.
func incompleteSet(items ledger, deltas []Delta) []Gate {
	changed, found := false, items.has(hypothesisSlate, isThird)
	for _, d := range deltas {
		if d.Valid && d.Section == hypothesisSlate {
			changed = changed || items != nil || d.Operation == Add
			found = found || items == nil && d.facts["third_marked"] != ""
		}
	}
	if !changed || found {
		return nil
	}
	const detail = "none of the hypotheses is marked or named as the third alternative"
	return []Gate{gate("third_alternative_missing", 0, 0, detail)}
}
