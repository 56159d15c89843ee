// Package contribution scores the messages of agents in a research session.
//
// A contribution is a message with deltas: JSON objects in fenced blocks, each of which adds, edits or
// kills an item of a research artifact. Data flow:
//
//	text ─▶ Parse ─▶ deltas ─▶ gates ─▶ criteria of the role ─▶ composite ─▶ grade
//	          │                  │            ▲
//	          ▼                  ▼            └ given scores, else rules
//	       dropped            rejected
//
// Nothing is lost silently: an unreadable delta is dropped with a reason, a delta that violates the format is kept with
// its errors. Each role has the three universal criteria and three or four of its own (contribution.yaml); a criterion
// that does not apply is excluded from the maximum.
//
// Rules score the visible text. They return a lower bound and, where a person may find more, the highest possible score
// (upper) with the question to settle (needs_human). A given score overrides the rules.
//
// [Score] scores one message, [ScoreSession] many. Both are pure functions.
package contribution

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/score/rubric"
)

// Scores maps criteria to whole numbers on their scales.
type Scores map[string]int

// UnmarshalJSON refuses null, which would decode as 0, and fractions.
func (s *Scores) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return rubric.Refuse("scores", "an object of whole numbers is wanted")
	}
	if raw == nil {
		*s = nil
		return nil
	}
	out := make(Scores, len(raw))
	for _, name := range sortedKeys(raw) {
		var n int
		if text := string(raw[name]); text == "null" || json.Unmarshal(raw[name], &n) != nil {
			return rubric.Refuse("scores."+excerpt(name, 40), "%s is no whole number; leave the criterion out to have it scored by rule", excerpt(text, 40))
		}
		out[name] = n
	}
	*s = out
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
	ID       string    `json:"id,omitempty"`
	Role     Role      `json:"role"`
	Round    int       `json:"round,omitempty"`
	Deltas   []Scored  `json:"deltas"`
	Gates    []Gate    `json:"gates"`
	Warnings []string  `json:"warnings"` // each a name, a colon and a sentence
	Dropped  []Dropped `json:"dropped"`
}

// A Scored is a delta with its scores, which are null for a rejected delta.
type Scored struct {
	Line          int                  `json:"line"`
	Operation     Operation            `json:"operation"`
	Section       Section              `json:"section"`
	TargetID      *string              `json:"target_id"` // null for ADD
	Valid         bool                 `json:"valid"`
	Errors        []string             `json:"errors"`
	Notes         []string             `json:"notes"` // faults and minor issues
	Criteria      map[string]Criterion `json:"criteria"`
	NotApplicable map[string]string    `json:"not_applicable"` // criterion and why
	Operators     []string             `json:"operators"`      // invoked in the rationale
	Composite     *rubric.Decimal      `json:"composite"`
	Upper         *rubric.Decimal      `json:"composite_upper"` // with the upper score of every criterion
	Max           *rubric.Decimal      `json:"max"`
	Percent       *rubric.Decimal      `json:"percent"`
	Grade         *string              `json:"grade"`
}

// A Criterion is one score.
type Criterion struct {
	Score      int            `json:"score"`
	Max        int            `json:"max"`
	Weight     rubric.Decimal `json:"weight"`
	Source     string         `json:"source"` // given or automatic
	Level      string         `json:"level"`  // meaning of the score
	Saw        string         `json:"saw"`    // finding of the rules; empty for a given score
	Upper      int            `json:"upper"`  // the highest possible score
	NeedsHuman string         `json:"needs_human"`
}

// Sources of a score.
const (
	Given     = "given"
	Automatic = "automatic"
)

// Score scores one message.
func Score(r Request) (Report, error) {
	m, err := open(r, nil)
	if err != nil {
		return Report{}, err
	}
	report, err := m.report()
	if err != nil {
		return Report{}, err
	}
	// Outside of a session the hypotheses of the message are the whole set.
	if g, incomplete := thirdGate(m.after, m.deltas); incomplete {
		report.Gates = append(report.Gates, g)
	}
	report.Warnings = append(report.Warnings, sprawl(count(m.deltas))...)
	return report, nil
}

// A message is a parsed request whose deltas were applied to the artifact.
type message struct {
	Request
	known   *corpus
	deltas  []Delta
	dropped []Dropped
	after   *Artifact // nil if none was sent
	notes   []string  // warnings of reading and trying
}

// Conditional criteria: switches are set by the context, settled ones follow from the delta.
var (
	switches = []string{"paradox", "object_transposition"}
	settled  = []string{"calibration", "kill_justification"}
)

// check validates all fields but the deltas.
func (r *Request) check() error {
	if err := r.Role.check("role"); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(r.Text) == "":
		return rubric.Refuse("text", "is required")
	case r.Round < 0 || r.Round > 1_000_000:
		return rubric.Refuse("round", "%d is not 1 to 1000000", r.Round)
	}
	for _, name := range sortedKeys(r.Context) {
		if !slices.Contains(switches, name) && !slices.Contains(settled, name) {
			return rubric.Refuse("context."+excerpt(name, 40), "there is no such switch; there are %s", strings.Join(switches, ", "))
		}
	}
	return cmp.Or(rubric.CheckText("id", r.ID, 256), r.Scores.check("scores"), r.Anchors.check(), r.Artifact.check())
}

// check validates names and scales for criteria of any role.
func (s Scores) check(place string) error {
	for _, name := range sortedKeys(s) {
		if !slices.Contains(criterionNames, name) {
			return rubric.Refuse(place+"."+excerpt(name, 40), "there is no such criterion; there are %s", strings.Join(criterionNames, ", "))
		}
		for _, role := range Roles {
			if d, ok := rubrics()[role].Dimension(name); ok && !d.Scale.OnScale(whole(s[name])) {
				return rubric.Refuse(place+"."+name, "%d is off the scale of %v", s[name], d.Scale)
			}
		}
	}
	return nil
}

// whole is n as a score; numbers far off any scale stay far off it.
func whole(n int) rubric.Decimal { return rubric.Whole(max(-1_000_000, min(n, 1_000_000))) }

// open checks and parses a request. The messages of a session share an artifact.
func open(r Request, shared *Artifact) (*message, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	m := &message{Request: r, known: r.Anchors.corpus()}
	var err error
	if m.deltas, m.dropped, err = Parse(r.Text); err != nil {
		return nil, err
	}
	if shared == nil && r.Artifact != nil {
		shared = new(cloned(*r.Artifact))
	}
	if shared != nil {
		m.try(shared)
		m.after = shared
	}
	return m, nil
}

// try applies the deltas one after the other. Deltas that the artifact refuses are rejected.
func (m *message) try(to *Artifact) {
	var warnings []string
	for i := range m.deltas {
		d := &m.deltas[i]
		if !d.Valid() {
			continue
		}
		warns, err := to.apply(d)
		var s skip
		switch {
		case errors.As(err, &s):
			m.notes = append(m.notes, fmt.Sprintf("skipped: line %d: %s", d.Line, s))
		case err != nil:
			d.reject("%s", err)
		}
		warnings = append(warnings, warns...)
	}
	m.notes = append(m.notes, warnings...)
}

// report scores the deltas.
func (m *message) report() (Report, error) {
	rep := Report{ID: m.ID, Role: m.Role, Round: m.Round, Deltas: make([]Scored, len(m.deltas)), Gates: []Gate{}, Warnings: []string{}, Dropped: m.dropped}
	for _, d := range m.dropped {
		if d.rejected {
			rep.Gates = append(rep.Gates, gateJSON.fails(0, d.Line, "%s", d.Reason))
		}
	}
	s := &scene{anchors: m.known, artifact: m.after, whole: map[string]finding{}}
	for i := range m.deltas {
		if m.deltas[i].Valid() {
			s.deltas = append(s.deltas, &m.deltas[i])
		}
	}
	if len(m.deltas) == 0 {
		rep.Warnings = append(rep.Warnings, warnNoDelta+": the text has no delta that could be read")
	}
	rep.Warnings = append(rep.Warnings, m.foreign()...)
	for _, name := range settled {
		if _, ok := m.Context[name]; ok {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s: context.%s: not used, since the delta itself says whether it applies", warnContext, name))
		}
	}
	rep.Warnings = append(rep.Warnings, m.notes...)
	var fake []string
	for i := range m.deltas {
		d := &m.deltas[i]
		scored, warnings, err := s.score(m, d)
		if err != nil {
			return Report{}, err
		}
		rep.Deltas[i] = scored
		rep.Warnings = append(rep.Warnings, warnings...)
		for _, g := range d.gates {
			rep.Gates = append(rep.Gates, g.fails(i+1, d.Line, "%s", strings.Join(d.Errors, "; ")))
		}
		if c := cite(d, m.known); len(c.fake) > 0 {
			rep.Gates = append(rep.Gates, gateAnchor.fails(i+1, d.Line, "%s does not exist", listed(c.fake)))
			fake = append(fake, c.fake...)
		}
	}
	// What surrounds the deltas is read by people, and flagged as well.
	around := cite(&Delta{Rationale: m.Text}, m.known).fake
	around = slices.DeleteFunc(around, func(a string) bool { return slices.Contains(fake, a) })
	if len(around) > 0 {
		rep.Gates = append(rep.Gates, gateAnchor.fails(0, 0, "%s, outside of the deltas, does not exist", listed(around)))
	}
	return rep, nil
}

// score scores one delta.
func (s *scene) score(m *message, d *Delta) (Scored, []string, error) {
	out := Scored{
		Line: d.Line, Operation: d.Operation, Section: d.Section, Valid: d.Valid(), Errors: d.Errors, Notes: slices.Concat(d.Faults, d.Notes),
		Criteria: map[string]Criterion{}, NotApplicable: map[string]string{}, Operators: operatorsIn(d.Rationale),
	}
	if out.Notes == nil {
		out.Notes = []string{}
	}
	if d.TargetID != "" {
		out.TargetID = new(d.TargetID)
	}
	if !d.Valid() {
		return out, nil, nil
	}
	card, upper := rubric.Card{Scores: map[string]rubric.Decimal{}}, rubric.Card{Scores: map[string]rubric.Decimal{}}
	for _, c := range criteriaOf(m.Role) {
		score, isGiven := m.Scores[c.Name]
		if why := notApplicable(c.Name, d, m.Context, isGiven); why != "" {
			out.NotApplicable[c.Name] = why
			card.NotApplicable = append(card.NotApplicable, c.Name)
			upper.NotApplicable = append(upper.NotApplicable, c.Name)
			continue
		}
		f, source := finding{score: score, upper: score}, Given
		if !isGiven {
			f, source = s.automatic(c.Name, d), Automatic
		}
		out.Criteria[c.Name] = Criterion{f.score, len(c.Anchors) - 1, c.Weight, source, c.Anchors[f.score].Text, f.saw, f.upper, f.ask}
		card.Scores[c.Name], upper.Scores[c.Name] = rubric.Whole(f.score), rubric.Whole(f.upper)
	}
	r := rubrics()[m.Role]
	res, err := r.Score(card)
	if err != nil {
		return Scored{}, nil, fmt.Errorf("line %d: %w", d.Line, err)
	}
	highest, err := r.Score(upper)
	if err != nil {
		return Scored{}, nil, fmt.Errorf("line %d: %w", d.Line, err)
	}
	out.Composite, out.Upper, out.Max = new(r.Shown(res.Composite)), new(r.Shown(highest.Composite)), new(r.Shown(res.Max))
	out.Percent, out.Grade = new(rubric.RoundHalfUp(res.Percent(), 2)), new(res.Verdict)
	return out, s.warnings(m, d, out, res), nil
}

// notApplicable returns the reason why a criterion does not apply, or "".
func notApplicable(name string, d *Delta, context map[string]bool, given bool) string {
	switch name {
	case "paradox", "object_transposition":
		if !context[name] && !given {
			return "the context does not ask for it and no score was given"
		}
	case "calibration":
		if d.Payload["score"] == nil {
			return "the payload has no score"
		}
	case "kill_justification":
		if d.Operation != Kill {
			return "only a KILL is justified"
		}
	}
	return ""
}
