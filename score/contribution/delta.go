package contribution

import (
	"cmp"
	"fmt"
	"strings"

	"waymark/score"
)

// A Delta is one change that a message proposes, with its scores, which are null for a rejected one.
type Delta struct {
	// Line of the message is where its JSON begins.
	Line      int     `json:"line"`
	Operation string  `json:"operation"`
	Section   string  `json:"section"`
	TargetID  *string `json:"target_id"`
	Valid     bool    `json:"valid"`
	// Errors are the reasons of its rejection, Notes the faults of the payload and minor issues.
	Errors []string `json:"errors"`
	Notes  []string `json:"notes"`

	Criteria map[string]Criterion `json:"criteria"`
	// NotApplicable has the reason for each criterion of the role that does not apply.
	NotApplicable map[string]string `json:"not_applicable"`
	// Operators are those invoked in the rationale.
	Operators []string       `json:"operators"`
	Composite *score.Decimal `json:"composite"`
	// Upper is the composite with the upper score of every criterion.
	Upper   *score.Decimal `json:"composite_upper"`
	Max     *score.Decimal `json:"max"`
	Percent *score.Decimal `json:"percent"`
	Grade   *string        `json:"grade"`

	role      Role
	round     int
	payload   item
	rationale string
	// faults make the payload malformed; the delta fails gates by itself; fake are citations.
	faults, gates, fake []string
	facts               facts
}

// Operations of a delta.
const Add, Edit, Kill = "ADD", "EDIT", "KILL"

// Sections of an artifact that the code names; tables.yaml has all of them.
const (
	researchThread      = "research_thread"
	hypothesisSlate     = "hypothesis_slate"
	discriminativeTests = "discriminative_tests"
)

// read checks one object against the format. An error rejects the delta, a fault makes its payload malformed (structural
// correctness 1), a note is a minor issue (2).
func read(object map[string]any) Delta {
	d := Delta{Criteria: map[string]Criterion{}, NotApplicable: map[string]string{}}
	d.Operation = d.oneOf(object, "operation", []string{Add, Edit, Kill})
	d.Section = d.oneOf(object, "section", tables().Order)
	if d.Section == researchThread && (d.Operation == Add || d.Operation == Kill) {
		d.reject("%s does not go with research_thread, which is only edited", d.Operation)
	}
	d.readTarget(object["target_id"])
	d.readPayload(object["payload"])
	d.rationale = item(object).text("rationale")
	switch {
	case d.rationale != "":
	case d.Operation == Kill:
		d.reject("KILL needs a rationale")
		d.gates = append(d.gates, "kill_without_rationale")
	default:
		d.note("rationale is missing")
	}
	_, given := d.payload["potency_check"]
	needed := d.Section == discriminativeTests && (d.Operation == Add || d.Operation == Edit && given)
	if needed && pattern("no_check").MatchString(d.payload.text("potency_check")) {
		d.reject("a test needs a potency_check that distinguishes a failed assay from no effect")
		d.gates = append(d.gates, "missing_potency_check")
	}
	d.Valid = len(d.Errors) == 0
	return d
}

func (d *Delta) reject(format string, args ...any) {
	d.Errors = append(d.Errors, fmt.Sprintf(format, args...))
}

func (d *Delta) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// oneOf reads a field that is one of a few names, whatever its case and spacing.
func (d *Delta) oneOf(object map[string]any, field string, names []string) string {
	if object[field] == nil {
		d.reject("%s is missing", field)
		return ""
	}
	v := fmt.Sprint(object[field])
	spelled := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(v))
	for _, name := range names {
		if strings.EqualFold(name, spelled) {
			if v != name {
				d.note("%s %s was read as %s", field, quoted(v), name)
			}
			return name
		}
	}
	d.reject("unknown %s %s: want one of %s", field, quoted(v), strings.Join(names, ", "))
	return excerpt(v, 60)
}

func (d *Delta) readTarget(v any) {
	s := tables().Sections[d.Section]
	given := fmt.Sprint(cmp.Or(v, any("")))
	id := strings.ToUpper(strings.TrimSpace(given))
	switch {
	case d.Operation == Add && id != "":
		d.reject("ADD takes no target_id, and %s was given: leave it out, or EDIT that item", quoted(given))
	case id == "" && (d.Operation == Kill || d.Operation == Edit && d.Section != researchThread):
		d.reject("%s needs a target_id", d.Operation)
	case id == "" || s.IDs == nil:
	case !s.IDs.MatchString(id):
		d.reject("target_id %s is no id of %s, whose ids begin with %s", quoted(given), d.Section, s.Prefix)
	default:
		d.TargetID = &id
		if id != strings.TrimSpace(given) {
			d.note("target_id %s was read as %s", quoted(given), id)
		}
	}
}

func (d *Delta) readPayload(v any) {
	var ok bool
	d.payload, ok = v.(map[string]any)
	switch {
	case v == nil:
		d.reject("payload is missing")
	case !ok:
		d.reject("payload is not an object")
	case d.Operation == Kill && d.payload.text("reason") == "":
		d.reject("KILL needs payload.reason")
	case d.Operation == Kill:
	case len(d.payload) == 0 && (d.Operation == Add || d.Operation == Edit):
		d.reject("payload is empty")
	default:
		d.readFields()
	}
}

func (d *Delta) readFields() {
	for _, f := range tables().Sections[d.Section].Fields {
		v := d.payload[f.Name]
		absent := v == nil || v == ""
		// A scale check is its own test: the role's template has a calculation in its place.
		tested := f.Name == "test" && d.payload.flag("scale_check") && d.payload.text("calculation") != ""
		switch {
		case !absent && !fits(f.Kind, v):
			kind := tables().Kinds[f.Kind].Description
			d.faults = append(d.faults, "payload."+f.Name+" is not "+kind)
		case !absent || d.Operation != Add || tested:
		case f.Need == "required":
			d.faults = append(d.faults, "payload."+f.Name+" is missing")
		case f.Need == "expected":
			d.note("payload.%s is missing", f.Name)
		}
	}
}

// text is all texts of the payload, and the rationale.
func (d *Delta) text() string {
	return d.payload.words() + "\n" + d.rationale
}
