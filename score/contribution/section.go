package contribution

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
	ResearchThread      Section = "research_thread"
	HypothesisSlate     Section = "hypothesis_slate"
	PredictionsTable    Section = "predictions_table"
	DiscriminativeTests Section = "discriminative_tests"
	AssumptionLedger    Section = "assumption_ledger"
	AnomalyRegister     Section = "anomaly_register"
	AdversarialCritique Section = "adversarial_critique"
)

// Sections are all of them, in the order of an artifact.
var Sections = []Section{
	ResearchThread, HypothesisSlate, PredictionsTable, DiscriminativeTests,
	AssumptionLedger, AnomalyRegister, AdversarialCritique,
}

// A kind is the form that a field of a payload has to have.
type kind int

const (
	text          kind = iota // words
	texts                     // a list of words
	flag                      // true or false
	perHypothesis             // an object: words for each hypothesis
	rating                    // an object: likelihood_ratio, cost, speed, ambiguity, each 0 to 3
)

func (k kind) String() string {
	return [...]string{"a text", "a list of texts", "true or false", "an object with a text for each hypothesis",
		"an object with likelihood_ratio, cost, speed and ambiguity, each 0 to 3"}[k]
}

// How much a field is wanted in an ADD.
type need int

const (
	optional need = iota
	expected      // its lack is a minor issue
	required      // without it the payload is malformed
)

type field struct {
	name string
	kind kind
	need need
}

// A layout says how the items of a section are named and what they hold.
type layout struct {
	prefix string
	id     *regexp.Regexp
	fields []field
}

var layouts = map[Section]layout{
	ResearchThread: {"RT", regexp.MustCompile(`^RT$`), []field{
		{"statement", text, optional}, {"context", text, optional}, {"why_it_matters", text, optional}, {"anchors", texts, optional},
	}},
	HypothesisSlate: {"H", regexp.MustCompile(`^H[1-9][0-9]{0,8}$`), []field{
		{"name", text, required}, {"claim", text, required}, {"mechanism", text, required}, {"anchors", texts, required},
		{"third_alternative", flag, optional},
	}},
	PredictionsTable: {"P", regexp.MustCompile(`^P[1-9][0-9]{0,8}(\.H[1-9][0-9]{0,8})?$`), []field{
		{"condition", text, required}, {"predictions", perHypothesis, required},
	}},
	DiscriminativeTests: {"T", regexp.MustCompile(`^T[1-9][0-9]{0,8}$`), []field{
		{"name", text, required}, {"procedure", text, required}, {"discriminates", text, required},
		{"expected_outcomes", perHypothesis, required}, {"potency_check", text, required},
		{"feasibility", text, expected}, {"score", rating, expected},
	}},
	AssumptionLedger: {"A", regexp.MustCompile(`^A[1-9][0-9]{0,8}$`), []field{
		{"name", text, required}, {"statement", text, required}, {"load", text, required}, {"test", text, required},
		{"status", text, expected}, {"scale_check", flag, optional}, {"calculation", text, optional}, {"implication", text, optional},
	}},
	AnomalyRegister: {"X", regexp.MustCompile(`^X[1-9][0-9]{0,8}$`), []field{
		{"name", text, required}, {"observation", text, required}, {"conflicts_with", texts, required},
		{"status", text, expected}, {"resolution_plan", text, expected},
	}},
	AdversarialCritique: {"C", regexp.MustCompile(`^C[1-9][0-9]{0,8}$`), []field{
		{"name", text, required}, {"attack", text, required}, {"evidence", text, required},
		{"current_status", text, expected}, {"real_third_alternative", flag, optional},
	}},
}

// states are the values that a status may have.
var states = map[Section][]string{
	AssumptionLedger: {"unchecked", "verified", "falsified"},
	AnomalyRegister:  {"active", "resolved", "deferred"},
}

// system fields are set by the merge; a payload that brings them is not listened to.
var system = []string{"id", "killed", "killed_by", "killed_at", "kill_reason"}

// payloadFaults looks at the fields of an ADD or EDIT: faults make the payload malformed, notes are
// minor issues.
func payloadFaults(op Operation, s Section, p Item) (faults, notes []string) {
	l := layouts[s]
	for _, f := range l.fields {
		v, given := p[f.name]
		if !given || v == nil || v == "" {
			switch {
			case op != Add || f.need == optional || f.name == "test" && p.flag("scale_check") && p.text("calculation") != "":
				// A scale check is its own test: the role's template has a calculation in its place.
			case f.need == required:
				faults = append(faults, "payload."+f.name+" is missing")
			case f.need == expected:
				notes = append(notes, "payload."+f.name+" is missing")
			}
			continue
		}
		if !f.kind.fits(v) {
			faults = append(faults, fmt.Sprintf("payload.%s is not %v", f.name, f.kind))
		}
	}
	if status := p.text("status"); status != "" && states[s] != nil && !slices.Contains(states[s], status) {
		notes = append(notes, fmt.Sprintf("unknown payload.status %s: want one of %s", quoted(status), strings.Join(states[s], ", ")))
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
