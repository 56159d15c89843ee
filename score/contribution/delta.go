package contribution

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/score"
)

// A Delta is one change that a message proposes, with its scores, which are null for a rejected one.
type Delta struct {
	Line          int                  `json:"line"` // of the message, where its JSON begins
	Operation     string               `json:"operation"`
	Section       string               `json:"section"`
	TargetID      *string              `json:"target_id"` // null for ADD
	Valid         bool                 `json:"valid"`
	Errors        []string             `json:"errors"` // why it is rejected
	Notes         []string             `json:"notes"`  // faults of the payload and minor issues
	Criteria      map[string]Criterion `json:"criteria"`
	NotApplicable map[string]string    `json:"not_applicable"` // criterion and why
	Operators     []string             `json:"operators"`      // invoked in the rationale
	Composite     *score.Decimal       `json:"composite"`
	Upper         *score.Decimal       `json:"composite_upper"` // with the upper score of every criterion
	Max           *score.Decimal       `json:"max"`
	Percent       *score.Decimal       `json:"percent"`
	Grade         *string              `json:"grade"`

	role      Role
	round     int // of its message
	payload   Item
	rationale string
	faults    []string // that make the payload malformed
	gates     []string // that the delta fails by itself
	cites     citations
	facts     map[string]string // words that show each fact; empty if it does not hold
}

// Operations of a delta.
const (
	Add  = "ADD"
	Edit = "EDIT"
	Kill = "KILL"
)

// Sections of an artifact that rules name; tables.yaml has all of them.
const (
	researchThread      = "research_thread"
	hypothesisSlate     = "hypothesis_slate"
	predictionsTable    = "predictions_table"
	discriminativeTests = "discriminative_tests"
	assumptionLedger    = "assumption_ledger"
	anomalyRegister     = "anomaly_register"
)

// fields are those that a delta has and may have.
var fields = []string{"operation", "section", "target_id", "payload", "rationale", "delta_id", "timestamp", "agent"}

// read checks one object against the format. An error rejects the delta, a fault makes its payload malformed (structural
// correctness 1), a note is a minor issue (2).
func read(object map[string]any) Delta {
	d := Delta{Errors: []string{}, faults: []string{}, Operators: []string{}}
	d.Criteria, d.NotApplicable = map[string]Criterion{}, map[string]string{}
	d.Operation = d.oneOf(object, "operation", []string{Add, Edit, Kill})
	d.Section = d.oneOf(object, "section", tables().Order)
	if d.Section == researchThread && (d.Operation == Add || d.Operation == Kill) {
		d.reject("%s does not go with research_thread, which is only edited", d.Operation)
	}
	s := tables().Sections[d.Section]
	d.readTarget(object["target_id"], s)
	d.readPayload(object["payload"], s)
	r, ok := object["rationale"].(string)
	d.rationale = strings.TrimSpace(r)
	if !ok && object["rationale"] != nil {
		d.faults = append(d.faults, "rationale is not a text")
	}
	for _, name := range sortedKeys(object) {
		if !slices.Contains(fields, name) {
			d.note("%s is no field of a delta", quoted(name))
		}
	}
	if d.rationale == "" && d.Operation != Kill {
		d.note("rationale is missing")
	}
	if d.rationale == "" && d.Operation == Kill {
		d.reject("KILL needs a rationale")
		d.gates = append(d.gates, "kill_without_rationale")
	}
	check, given := d.payload["potency_check"]
	needed := d.Operation == Add || d.Operation == Edit && given
	if d.Section == discriminativeTests && needed && pattern("no_check").MatchString(Item{"it": check}.text("it")) {
		d.reject("a test needs a potency_check that distinguishes a failed assay from no effect")
		d.gates = append(d.gates, "missing_potency_check")
	}
	for _, o := range tables().Operators {
		if o.isIn(d.rationale) {
			d.Operators = append(d.Operators, o.Name)
		}
	}
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
	v, ok := object[field].(string)
	if !ok {
		fault := "is not a text"
		if object[field] == nil {
			fault = "is missing"
		}
		d.reject("%s %s", field, fault)
		return ""
	}
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

func (d *Delta) readTarget(v any, s section) {
	given, isText := v.(string)
	id := strings.ToUpper(strings.TrimSpace(given))
	if id == "NULL" || id == "NONE" {
		d.note("target_id %s was read as null", quoted(given))
		id = ""
	}
	switch {
	case v != nil && !isText:
		d.reject("target_id is not a text")
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

func (d *Delta) readPayload(v any, s section) {
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
		d.readFields(s)
	}
}

func (d *Delta) readFields(s section) {
	for _, f := range s.Fields {
		v := d.payload[f.Name]
		kind, absent := tables().Kinds[f.Kind], v == nil || v == ""
		// A scale check is its own test: the role's template has a calculation in its place.
		tested := f.Name == "test" && isScaleCheck(d.payload) && d.payload.text("calculation") != ""
		switch {
		case !absent && !kind.fits(v):
			d.faults = append(d.faults, fmt.Sprintf("payload.%s is not %s", f.Name, kind.Is))
		case !absent || d.Operation != Add || tested:
		case f.Need == "required":
			d.faults = append(d.faults, "payload."+f.Name+" is missing")
		case f.Need == "expected":
			d.note("payload.%s is missing", f.Name)
		}
	}
	if status := d.payload.text("status"); status != "" && s.States != nil && !slices.Contains(s.States, status) {
		d.note("unknown payload.status %s: want one of %s", quoted(status), strings.Join(s.States, ", "))
	}
	for _, name := range reserved {
		if _, given := d.payload[name]; given && s.Prefix != "" {
			d.note("payload.%s is set by the merge and was not used", name)
		}
	}
}

// texts are all texts of the payload, and the rationale.
func (d *Delta) texts() []string { return append(collect(nil, map[string]any(d.payload)), d.rationale) }

// An item is an object of an artifact or a payload, with whatever fields it brings. Numbers are float64.
type Item map[string]any

// reserved fields of an item are not set by a payload.
var reserved = []string{"id", "killed", "killed_by", "killed_at", "kill_reason"}

// text is a field of words, trimmed; empty if it is missing or something else.
func (it Item) text(name string) string {
	s, _ := it[name].(string)
	return strings.TrimSpace(s)
}

func (it Item) flag(name string) bool {
	b, _ := it[name].(bool)
	return b
}

// list is the texts of a list or object without blank ones; a single text counts as a list of one.
func (it Item) list(name string) (list []string) {
	for _, s := range collect(nil, it[name]) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// rating is a test's own score: those of its parts that are 0 to 3, and their sum. Parts that are missing or impossible
// are left out, so that a complete score has four.
func (it Item) rating() (parts map[string]int, sum int) {
	m, _ := it["score"].(map[string]any)
	parts = map[string]int{}
	for _, name := range []string{"likelihood_ratio", "cost", "speed", "ambiguity"} {
		if n, ok := m[name].(float64); ok && slices.Contains([]float64{0, 1, 2, 3}, n) {
			parts[name] = int(n)
			sum += int(n)
		}
	}
	return parts, sum
}

// isThird reports whether an item is marked or named as the third alternative.
func isThird(it Item) bool {
	return it.flag("third_alternative") || pattern("third_alternative_words").MatchString(it.text("name"))
}

func isScaleCheck(it Item) bool { return it.flag("scale_check") }

// collect appends all texts of a value, in the order of its keys.
func collect(to []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(to, v)
	case []any:
		for _, e := range v {
			to = collect(to, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			to = collect(to, v[k])
		}
	}
	return to
}
