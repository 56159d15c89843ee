package contribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// transcriptSections is how many sections the transcript has that the format was made for.
const transcriptSections = 236

// How much a violation weighs.
const (
	severityError   = "error" // the artifact is not valid
	severityWarning = "warning"
	severityInfo    = "info"
)

// A Violation is a rule that an artifact breaks. The first letter of its id tells the severity, the second
// the section.
type Violation struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Item     string `json:"item,omitempty"`
	Line     int    `json:"line,omitempty"` // of a Markdown artifact
	Fix      string `json:"fix"`
}

// A LintReport is an artifact checked.
type LintReport struct {
	Artifact string `json:"artifact"` // its session
	Valid    bool   `json:"valid"`    // no error
	Summary  struct {
		Errors   int `json:"errors"`
		Warnings int `json:"warnings"`
		Info     int `json:"info"`
	} `json:"summary"`
	Violations []Violation `json:"violations"`
}

// Lint checks an artifact. Killed items are ignored. Without anchors, citations may refer to the sections 1 to
// [transcriptSections], and records of evidence are not looked up.
func Lint(a Artifact, anchors *Anchors) (LintReport, error) {
	return lint(a, anchors, &document{})
}

// lint adds the violations found while the document was read, and the lines of its items.
func lint(a Artifact, anchors *Anchors, doc *document) (LintReport, error) {
	if err := cmp.Or(anchors.check(), a.checkSize()); err != nil {
		return LintReport{}, err
	}
	l := linter{a: a, known: anchors.corpus(), lines: doc.lines, found: slices.Clone(doc.violations)}
	if l.known.max == 0 {
		l.known.max = transcriptSections
	}
	l.metadata()
	l.ids()
	l.artifact()
	for _, s := range Sections {
		items := []Item{a.Sections.ResearchThread}
		if s != researchThread {
			items = a.active(s)
			if len(items) < fewest[s].n {
				l.add(fewest[s].id, "", "ADD to "+string(s), "%s has %d active items, at least %d are needed", s, len(items), fewest[s].n)
			}
		}
		for _, it := range items {
			l.item(s, it)
		}
	}
	return l.report(), nil
}

type linter struct {
	a     Artifact
	known *corpus
	lines map[string]int
	found []Violation
}

func violation(id, item string, line int, fix, format string, args ...any) Violation {
	severity := map[byte]string{'E': severityError, 'W': severityWarning, 'I': severityInfo}[id[0]]
	return Violation{id, severity, fmt.Sprintf(format, args...), item, line, fix}
}

func (l *linter) add(id, item, fix, format string, args ...any) {
	l.found = append(l.found, violation(id, item, l.lines[item], fix, format, args...))
}

// report sorts by severity, rule and item.
func (l *linter) report() LintReport {
	severities := []string{severityError, severityWarning, severityInfo}
	slices.SortStableFunc(l.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)), strings.Compare(a.ID, b.ID),
			strings.Compare(strings.TrimRight(a.Item, "0123456789."), strings.TrimRight(b.Item, "0123456789.")), cmp.Compare(idNumber(a.Item), idNumber(b.Item)))
	})
	r := LintReport{Artifact: l.a.Metadata.text("session_id"), Violations: append([]Violation{}, l.found...)}
	for _, v := range r.Violations {
		switch v.Severity {
		case severityError:
			r.Summary.Errors++
		case severityWarning:
			r.Summary.Warnings++
		default:
			r.Summary.Info++
		}
	}
	r.Valid = r.Summary.Errors == 0
	return r
}

// A check is the outcome of one rule about the whole artifact.
type check struct {
	broken           bool
	id, message, fix string
}

func (l *linter) addBroken(checks []check) {
	for _, c := range checks {
		if c.broken {
			l.add(c.id, "", c.fix, "%s", c.message)
		}
	}
}

func (l *linter) metadata() {
	m := l.a.Metadata
	created, okCreated := instant(m["created_at"])
	updated, okUpdated := instant(m["updated_at"])
	contributors, _ := m["contributors"].([]any)
	version, isNumber := m["version"].(float64)
	l.addBroken([]check{
		{m.text("session_id") == "", "EM-002", "metadata.session_id is missing", "name the session"},
		{!okCreated, "EM-003", "metadata.created_at is no ISO 8601 time", "write it like 2026-01-31T09:00:00Z"},
		{!okUpdated, "EM-003b", "metadata.updated_at is no ISO 8601 time", "write it like 2026-01-31T09:00:00Z"},
		{!slices.Contains([]string{"draft", "active", "closed"}, m.text("status")), "EM-004",
			"metadata.status " + quoted(m.text("status")) + " is unknown: want draft, active or closed", "set it to draft, active or closed"},
		{len(contributors) == 0, "WM-001", "metadata.contributors is empty", "list who contributed"},
		{okCreated && okUpdated && updated.Before(created), "WM-002", "metadata.updated_at is before created_at", "an artifact is not updated before it is created"},
		{!isNumber || version != math.Trunc(version), "IM-002", "metadata.version is no whole number", "count versions from 1"},
	})
}

// ids checks the form of ids and refuses repeated ones, killed items included.
func (l *linter) ids() {
	for _, s := range Sections[1:] {
		seen := map[string]bool{}
		for i, it := range *l.a.list(s) {
			id := it.id()
			if !layouts()[s].id.MatchString(id) {
				l.add("ES-003", id, "ids are "+layouts()[s].Prefix+"1, "+layouts()[s].Prefix+"2, …", "%s[%d] has the id %s", s, i, quoted(id))
			} else if seen[id] {
				l.add("ES-004", id, "give each item an id of its own", "%s comes twice in %s", id, s)
			}
			seen[id] = true
		}
	}
}

// artifact checks the rules about sections as a whole.
func (l *linter) artifact() {
	hypotheses := len(l.a.active(hypothesisSlate))
	thirds := slices.ContainsFunc(l.a.active(adversarialCritique), func(c Item) bool { return c.flag("real_third_alternative") })
	ranked := slices.IsSortedFunc(l.a.active(discriminativeTests), func(a, b Item) int {
		x, _, _ := a.rating()
		y, _, _ := b.rating()
		return cmp.Compare(y, x)
	})
	l.addBroken([]check{
		{hypotheses > maxHypotheses, "EH-002",
			fmt.Sprintf("hypothesis_slate has %d active items, at most %d are possible", hypotheses, maxHypotheses), "KILL or merge some"},
		{!l.a.hasThirdAlternative(), "EH-003", "no active hypothesis is the third alternative", "mark one hypothesis with third_alternative: true"},
		{!ranked, "WT-002", "the tests are not in the order of their scores", "sort by likelihood_ratio + cost + speed + ambiguity"},
		{!l.a.hasScaleCheck(), "EA-002", "no active assumption is a scale check", "add an assumption with scale_check: true and a calculation"},
		{!thirds, "WC-001", "no active critique is a real third alternative", "mark one with real_third_alternative: true"},
	})
}

// fewest are the least numbers of active items, with the rule that asks for them.
var fewest = map[Section]struct {
	id string
	n  int
}{hypothesisSlate: {"EH-001", 3}, predictionsTable: {"EP-001", 3}, discriminativeTests: {"ET-001", 2}, assumptionLedger: {"EA-001", 3}, adversarialCritique: {"EC-001", 2}}

// An itemRule is a rule that each active item of a section has to keep; %s in its message is the id.
type itemRule struct {
	id      string
	broken  func(*linter, Item) bool
	message string
	fix     string
}

func lacks(name string) func(*linter, Item) bool {
	return func(_ *linter, it Item) bool { return it.text(name) == "" }
}

func withoutAnchors(_ *linter, it Item) bool { return len(it.texts("anchors")) == 0 }

const anchorFix = "cite a section such as §42, or mark it [inference]"

var itemRules = map[Section][]itemRule{
	researchThread: {
		{"ER-001", lacks("statement"), "the research thread has no statement", "EDIT research_thread with a statement"},
		{"ER-002", lacks("context"), "the research thread has no context", "EDIT research_thread with a context"},
		{"WR-001", withoutAnchors, "the research thread has no anchors", anchorFix},
	},
	hypothesisSlate: {
		{"EH-004", lacks("claim"), "%s has no claim", "add claim"},
		{"WH-001", withoutAnchors, "%s has no anchors", anchorFix},
		{"WP-P02", func(_ *linter, it Item) bool { return slices.ContainsFunc(it.texts("anchors"), pureInference) },
			"%s is inferred, but not said from what", "write [inference] from §n"},
	},
	predictionsTable: {
		{"WP-001", (*linter).undecided, "%s tells no active hypotheses apart", "predict different outcomes for two hypotheses at least"},
	},
	discriminativeTests: {
		{"ET-002", lacks("procedure"), "%s has no procedure", "add procedure"},
		{"ET-003", func(_ *linter, it Item) bool { return len(it.perHypothesis("expected_outcomes")) == 0 },
			"%s has no expected outcomes", "add expected_outcomes such as {\"H1\": …, \"H2\": …}"},
		{"WT-001", func(_ *linter, it Item) bool { return noPotency(it.text("potency_check")) }, "%s has no potency check", "say how a failed assay is distinguished from no effect"},
		{"IP-P02", func(l *linter, it Item) bool {
			check := it.text("potency_check")
			return !noPotency(check) && !slices.Contains(cite(&Delta{Rationale: check}, l.known).sections, "§50")
		}, "the potency check of %s does not cite §50", "§50 is where that principle stands"},
		{"WT-003", func(_ *linter, it Item) bool { return it["score"] == nil }, "%s has no score", "add score with likelihood_ratio, cost, speed and ambiguity"},
	},
	assumptionLedger: {
		{"EA-003", lacks("statement"), "%s has no statement", "add statement"},
		{"WA-003", func(_ *linter, it Item) bool { return it.flag("scale_check") && it.text("calculation") == "" },
			"%s is a scale check without a calculation", "calculate, with numbers and units"},
	},
	adversarialCritique: {
		{"EC-002", lacks("attack"), "%s has no attack", "add attack"},
		{"WC-002", lacks("evidence"), "%s has no evidence", "add evidence"},
		{"IC-001", lacks("current_status"), "%s has no current_status", "add current_status"},
	},
}

// item checks one active item: the rules of its section, its citations and its references.
func (l *linter) item(s Section, it Item) {
	id := it.id()
	if s == researchThread {
		id = "RT"
	}
	for _, r := range itemRules[s] {
		if r.broken(l, it) {
			l.add(r.id, id, r.fix, "%s", strings.Replace(r.message, "%s", id, 1))
		}
	}
	if c := cite(&Delta{Payload: it}, l.known); len(c.fake) > 0 {
		l.add("EP-P01", id, "cite what exists: §1 to §"+strconv.Itoa(l.known.max), "%s cites %s, which does not exist", id, listed(c.fake))
	}
	l.references(id, it["references"])
}

// pureInference reports whether an anchor is an inference without a source.
func pureInference(anchor string) bool {
	s := strings.ToLower(anchor)
	return s == "inference" || strings.Contains(s, "[inference]") && !strings.Contains(s, "from")
}

// undecided reports whether a prediction is the same for all active hypotheses.
func (l *linter) undecided(p Item) bool {
	hypotheses, predictions := l.a.active(hypothesisSlate), p.perHypothesis("predictions")
	different := map[string]bool{}
	for _, h := range hypotheses {
		if o := plain(cmp.Or(predictions[h.id()], predictions[strings.ToLower(h.id())])); o != "" {
			different[o] = true
		}
	}
	return len(different) < 2 && len(hypotheses) > 1
}

// relations are the ways in which an item may refer to one of another session.
var relations = []string{"extends", "refines", "refutes", "informed_by", "supersedes", "replicates"}

func (l *linter) references(id string, value any) {
	list, ok := value.([]any)
	if value != nil && !ok {
		l.add("ER-REF-001", id, "references is a list", "the references of %s are no list", id)
	}
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			l.add("ER-REF-002", id, "a reference is an object with session, item and relation", "references[%d] of %s is no object", i, id)
			continue
		}
		ref := Item(m)
		if ref.text("session") == "" {
			l.add("ER-REF-003", id, "name the session", "references[%d] of %s has no session", i, id)
		}
		if ref.text("item") == "" {
			l.add("ER-REF-004", id, "name the item", "references[%d] of %s has no item", i, id)
		}
		if !slices.Contains(relations, ref.text("relation")) {
			l.add("ER-REF-005", id, "one of "+strings.Join(relations, ", "), "references[%d] of %s has the relation %s", i, id, quoted(ref.text("relation")))
		}
	}
}
