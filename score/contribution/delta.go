package contribution

import (
	"fmt"
	"slices"
	"strings"
)

// A Delta is one change that a message proposes, as it was read.
type Delta struct {
	Line      int       `json:"line"` // of the message, where its JSON begins
	Operation Operation `json:"operation"`
	Section   Section   `json:"section"`
	TargetID  string    `json:"target_id"` // empty for ADD
	Payload   Item      `json:"payload"`
	Rationale string    `json:"rationale"`

	// Errors say why the delta is rejected. A delta without any is valid.
	Errors []string `json:"errors"`
	// Faults make the payload of a valid delta malformed; Notes are minor issues.
	Faults []string `json:"faults"`
	Notes  []string `json:"notes"`

	gates []gate // that it fails by itself
}

// Valid reports whether the delta can be scored.
func (d *Delta) Valid() bool { return len(d.Errors) == 0 }

// read checks one object against the format.
func read(m map[string]any) Delta {
	d := Delta{Errors: []string{}, Faults: []string{}, Notes: []string{}}
	d.operation(m)
	d.section(m)
	d.target(m)
	d.payload(m)
	if r, ok := m["rationale"].(string); ok {
		d.Rationale = strings.TrimSpace(r)
	} else if m["rationale"] != nil {
		d.Faults = append(d.Faults, "rationale is not a text")
	}
	for _, name := range sortedKeys(m) {
		if !slices.Contains([]string{"operation", "section", "target_id", "payload", "rationale", "delta_id", "timestamp", "agent"}, name) {
			d.Notes = append(d.Notes, quoted(name)+" is no field of a delta")
		}
	}
	if d.Rationale == "" && d.Operation != Kill {
		d.Notes = append(d.Notes, "rationale is missing")
	}
	d.rules()
	return d
}

func (d *Delta) reject(format string, args ...any) {
	d.Errors = append(d.Errors, fmt.Sprintf(format, args...))
}

// named reads a field that is one of a few names, forgiving case and spacing.
func named[N ~string](d *Delta, m map[string]any, field string, names []N) N {
	v, ok := m[field].(string)
	if !ok {
		if m[field] == nil {
			d.reject("%s is missing", field)
		} else {
			d.reject("%s is not a text", field)
		}
		return ""
	}
	plain := strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.TrimSpace(v)))
	for _, n := range names {
		if plain == strings.ToLower(string(n)) {
			if v != string(n) {
				d.Notes = append(d.Notes, fmt.Sprintf("%s %s was read as %s", field, quoted(v), n))
			}
			return n
		}
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	d.reject("unknown %s %s: want one of %s", field, quoted(v), strings.Join(list, ", "))
	return N(excerpt(v, 60))
}

func (d *Delta) operation(m map[string]any) {
	d.Operation = named(d, m, "operation", []Operation{Add, Edit, Kill})
}

func (d *Delta) section(m map[string]any) {
	d.Section = named(d, m, "section", Sections)
	if d.Section == researchThread && (d.Operation == Add || d.Operation == Kill) {
		d.reject("%s does not go with research_thread, which is only edited", d.Operation)
	}
}

func (d *Delta) target(m map[string]any) {
	v, isText := m["target_id"].(string)
	id := strings.TrimSpace(v)
	if m["target_id"] != nil && !isText {
		d.reject("target_id is not a text")
		return
	}
	if upper := strings.ToUpper(id); upper == "NULL" || upper == "NONE" {
		d.Notes = append(d.Notes, "target_id "+quoted(v)+" was read as null")
		id = ""
	}
	l, known := layouts()[d.Section]
	switch {
	case d.Operation == Add && id != "":
		d.reject("ADD takes no target_id, and %s was given: leave it out, or EDIT that item", quoted(id))
	case id == "" && (d.Operation == Kill || d.Operation == Edit && d.Section != researchThread):
		d.reject("%s needs a target_id", d.Operation)
	case id == "" || !known || d.Operation == Add:
	case l.id.MatchString(id):
		d.TargetID = id
	case l.id.MatchString(strings.ToUpper(id)):
		d.TargetID = strings.ToUpper(id)
		d.Notes = append(d.Notes, fmt.Sprintf("target_id %s was read as %s", quoted(v), d.TargetID))
	default:
		d.reject("target_id %s is no id of %s, whose ids begin with %s", quoted(id), d.Section, l.Prefix)
	}
}

func (d *Delta) payload(m map[string]any) {
	p, ok := m["payload"].(map[string]any)
	d.Payload = Item(p)
	switch {
	case m["payload"] == nil:
		d.reject("payload is missing")
	case !ok:
		d.reject("payload is not an object")
	case d.Operation == Kill:
		if d.Payload.text("reason") == "" {
			d.reject("KILL needs payload.reason")
		}
	case len(p) == 0 && (d.Operation == Add || d.Operation == Edit):
		d.reject("payload is empty")
	case layouts()[d.Section].Fields != nil:
		faults, notes := payloadFaults(d.Operation, d.Section, d.Payload)
		d.Faults, d.Notes = append(d.Faults, faults...), append(d.Notes, notes...)
	}
}

// rules are the gates that a delta fails by itself.
func (d *Delta) rules() {
	_, given := d.Payload["potency_check"]
	switch {
	case d.Operation == Kill && d.Rationale == "":
		d.reject("KILL needs a rationale")
		d.gates = append(d.gates, gateKill)
	case d.Section == discriminativeTests && (d.Operation == Add || d.Operation == Edit && given) && noPotency(d.Payload.text("potency_check")):
		d.reject("a test needs a potency_check that distinguishes a failed assay from no effect")
		d.gates = append(d.gates, gatePotency)
	}
}

// noPotency reports whether a potency check says nothing.
func noPotency(s string) bool {
	s = strings.Trim(strings.ToLower(s), " .-–—[]()")
	return slices.Contains([]string{"", "none", "n/a", "na", "tbd", "todo", "missing", "not needed", "not applicable"}, s)
}
