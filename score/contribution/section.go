package contribution

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// An Operation is what a delta does.
type Operation string

const (
	Add  Operation = "ADD"
	Edit Operation = "EDIT"
	Kill Operation = "KILL"
)

// A Section is a part of a research artifact.
type Section string

const (
	researchThread      Section = "research_thread"
	hypothesisSlate     Section = "hypothesis_slate"
	predictionsTable    Section = "predictions_table"
	discriminativeTests Section = "discriminative_tests"
	assumptionLedger    Section = "assumption_ledger"
	anomalyRegister     Section = "anomaly_register"
	adversarialCritique Section = "adversarial_critique"
)

// Sections are all of them, in the order of an artifact.
var Sections = []Section{
	researchThread, hypothesisSlate, predictionsTable, discriminativeTests,
	assumptionLedger, anomalyRegister, adversarialCritique,
}

// A kind is the form that a field of a payload has to have.
type kind string

const (
	text          kind = "text"
	texts         kind = "texts"
	flag          kind = "flag"
	perHypothesis kind = "per_hypothesis"
	rating        kind = "rating"
)

// kindNames describe the kinds in faults.
var kindNames = map[kind]string{text: "a text", texts: "a list of texts", flag: "true or false", perHypothesis: "an object with a text for each hypothesis",
	rating: "an object with likelihood_ratio, cost, speed and ambiguity, each 0 to 3"}

// A layout describes the items of a section.
type layout struct {
	Prefix string   `json:"prefix"`
	States []string `json:"states"` // values of the field status
	Fields []struct {
		Name string `json:"name"`
		Kind kind   `json:"kind"`
		Need string `json:"need"` // in an ADD: required, expected or empty
	} `json:"fields"`

	id *regexp.Regexp
}

var layouts = sync.OnceValue(func() map[Section]layout {
	sections := tables().Sections
	for s, l := range sections {
		switch s {
		case researchThread:
			l.id = regexp.MustCompile(`^RT$`)
		case predictionsTable:
			l.id = regexp.MustCompile(`^P[1-9][0-9]{0,8}(\.H[1-9][0-9]{0,8})?$`)
		default:
			l.id = regexp.MustCompile("^" + l.Prefix + `[1-9][0-9]{0,8}$`)
		}
		sections[s] = l
	}
	return sections
})

// system fields are set by the merge; a payload that brings them is not listened to.
var system = []string{"id", "killed", "killed_by", "killed_at", "kill_reason"}

// payloadFaults looks at the fields of an ADD or EDIT: faults make the payload malformed, notes are
// minor issues.
func payloadFaults(op Operation, s Section, p Item) (faults, notes []string) {
	l := layouts()[s]
	for _, f := range l.Fields {
		v, given := p[f.Name]
		if !given || v == nil || v == "" {
			switch {
			case op != Add || f.Need == "" || f.Name == "test" && p.flag("scale_check") && p.text("calculation") != "":
				// A scale check is its own test: the role's template has a calculation in its place.
			case f.Need == "required":
				faults = append(faults, "payload."+f.Name+" is missing")
			case f.Need == "expected":
				notes = append(notes, "payload."+f.Name+" is missing")
			}
			continue
		}
		if !f.Kind.fits(v) {
			faults = append(faults, fmt.Sprintf("payload.%s is not %s", f.Name, kindNames[f.Kind]))
		}
	}
	if status := p.text("status"); status != "" && l.States != nil && !slices.Contains(l.States, status) {
		notes = append(notes, fmt.Sprintf("unknown payload.status %s: want one of %s", quoted(status), strings.Join(l.States, ", ")))
	}
	for _, name := range system {
		if _, given := p[name]; given {
			notes = append(notes, "payload."+name+" is set by the merge and was not used")
		}
	}
	return faults, notes
}

func (k kind) fits(v any) bool {
	switch k {
	case text:
		_, ok := v.(string)
		return ok
	case flag:
		_, ok := v.(bool)
		return ok
	case texts:
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { _, isText := e.(string); return !isText })
	case perHypothesis:
		m, ok := v.(map[string]any)
		for _, e := range m {
			if _, isText := e.(string); !isText {
				return false
			}
		}
		return ok
	case rating:
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for _, e := range m {
			n, isNumber := e.(float64)
			if !isNumber || n < 0 || n > 3 || n != float64(int(n)) {
				return false
			}
		}
		return true
	}
	return false
}

// ratingParts are the dimensions of a test's own score.
var ratingParts = []string{"likelihood_ratio", "cost", "speed", "ambiguity"}

func quoted(s string) string { return fmt.Sprintf("%q", excerpt(s, 60)) }

// excerpt is at most n characters of one line.
func excerpt(s string, n int) string {
	s = strings.ToValidUTF8(s[:min(len(s), 8*n)], "")
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
